// Moves constants out of the address space that the backend cannot leave.
#include <llvm/IR/Constants.h>

#include "metal/pass/nvptx/nvptx_kernel.h"

namespace assay::metal::pass::nvptx {
namespace {

constexpr unsigned kConstantSpace = 4;

}  // namespace

// Clang places some constants of its own, such as the contents of an initialiser list, in constant memory, and casts their address to where
// they are used. The backend has no cast of a constant address between these spaces.
void NvptxKernel::move_constants() {
  llvm::SmallVector<llvm::GlobalVariable*> constants;
  for (auto& variable : module_.globals()) {
    if (variable.getAddressSpace() == kConstantSpace && variable.hasInitializer()) constants.push_back(&variable);
  }
  for (auto* constant : constants) {
    auto* moved = new llvm::GlobalVariable(module_, constant->getValueType(), /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                           constant->getInitializer(), constant->getName() + ".moved", nullptr,
                                           llvm::GlobalValue::NotThreadLocal, kGlobalSpace);
    moved->setAlignment(constant->getAlign());
    llvm::SmallVector<llvm::ConstantExpr*> casts;
    for (auto* user : constant->users()) {
      auto* cast = llvm::dyn_cast<llvm::ConstantExpr>(user);
      if (cast != nullptr && cast->getOpcode() == llvm::Instruction::AddrSpaceCast && cast->getType() == moved->getType())
        casts.push_back(cast);
    }
    for (auto* cast : casts) cast->replaceAllUsesWith(moved);
  }
}

}  // namespace assay::metal::pass::nvptx

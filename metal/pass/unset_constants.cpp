// Records where a kernel uses constants that have no value, and rejects those that are still used after optimisation.
#include "metal/pass/unset_constants.h"

#include <llvm/IR/InstIterator.h>

#include <map>
#include <string>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

constexpr llvm::StringLiteral kUnsetConstant = "__assay_unset_function_constant.";

// The places where the kernel uses constants without a value, by the variable's name. Recorded before the optimiser loses places.
std::map<std::string, Place>& places_of_unset() {
  static std::map<std::string, Place> places;
  return places;
}

// Whether an instruction reads the value, possibly through the address of a component.
bool is_read(const llvm::Constant& value) {
  return llvm::any_of(value.users(), [](const llvm::User* user) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(user);
    return llvm::isa<llvm::Instruction>(user) || (constant != nullptr && is_read(*constant));
  });
}

}  // namespace

// A namespace-scope variable computed from a constant without a value would be initialised from an unset value at load time.
void WholeKernel::report_derived_from_unset() {
  for (auto& function : module_) {
    if (&function == entry_) continue;
    const llvm::GlobalVariable* unset = nullptr;
    for (auto& instruction : llvm::instructions(function)) {
      for (auto& operand : instruction.operands()) {
        const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(operand->stripPointerCasts());
        if (variable != nullptr && variable->getName().starts_with(kUnsetConstant)) unset = variable;
      }
    }
    if (unset == nullptr) continue;
    for (auto& instruction : llvm::instructions(function)) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      auto* target = store == nullptr ? nullptr : llvm::dyn_cast<llvm::GlobalVariable>(store->getPointerOperand()->stripPointerCasts());
      if (target == nullptr) continue;
      target->setInitializer(nullptr);
      target->setLinkage(llvm::GlobalValue::ExternalLinkage);
      target->setName(unset->getName());
      store->eraseFromParent();
      break;
    }
  }
}

void WholeKernel::note_unset_uses() {
  for (auto& instruction : llvm::instructions(*entry_)) {
    for (auto& operand : instruction.operands()) {
      const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(operand->stripPointerCasts());
      if (variable != nullptr && variable->getName().starts_with(kUnsetConstant))
        places_of_unset().try_emplace(variable->getName().str(), place_of(instruction));
    }
  }
}

void refuse_unset_constants(llvm::Module& module) {
  // Reports all of them: a user who sets one also needs to know the others.
  bool is_refused = false;
  for (auto& variable : module.globals()) {
    if (!variable.getName().starts_with(kUnsetConstant)) continue;
    if (!is_read(variable)) continue;
    const auto [index, rest] = variable.getName().drop_front(kUnsetConstant.size()).split('.');
    complain(places_of_unset()[variable.getName().str()], "function constant '" + rest.take_until([](char c) { return c == '.'; }) +
                                                              "' (index " + index + ") is used by the kernel but has no value");
    is_refused = true;
  }
  if (is_refused) std::exit(1);
}

}  // namespace assay::metal::pass

// Passes the values of SIMD-group functions and atomic operations in registers: the headers give them in a lane's memory.
#include <llvm/IR/InstIterator.h>

#include "metal/pass/nvptx/nvptx_kernel.h"
#include "metal/pass/places.h"

namespace assay::metal::pass::nvptx {
namespace {

// Scalar codes of metal/shader/runtime.h: two each of 1, 2, 4 and 8 bytes, then half, bfloat and float.
constexpr std::uint64_t kCodeHalf = 8;
constexpr std::uint64_t kCodeBfloat = 9;
constexpr std::uint64_t kCodeFloat = 10;
unsigned bytes_of(std::uint64_t code) {
  if (code == kCodeHalf || code == kCodeBfloat) return 2;
  return code == kCodeFloat ? 4 : 1u << (code / 2);
}

constexpr unsigned kWordBytes = 4;

}  // namespace

llvm::CallInst* NvptxKernel::call_by_name(llvm::IRBuilder<>& builder, const llvm::Twine& name, llvm::Type* result,
                                          llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*> types;
  for (auto* argument : arguments) types.push_back(argument->getType());
  llvm::SmallString<64> text;
  const auto callee = module_.getOrInsertFunction(name.toStringRef(text), llvm::FunctionType::get(result, types, false));
  auto* call = builder.CreateCall(callee, arguments);
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

// __assay_simd_reduce(op, type, count, width, value): one site per component.
void NvptxKernel::pass_reduction(llvm::CallInst& call) {
  llvm::IRBuilder<> builder(&call);
  const std::uint64_t count = constant_argument(call, 2);
  const unsigned bytes = bytes_of(constant_argument(call, 1));
  auto* type = builder.getIntNTy(8 * bytes);
  for (std::uint64_t component = 0; component < count; ++component) {
    auto* place = builder.CreateConstInBoundsGEP1_64(type, call.getArgOperand(4), component);
    auto* word = builder.CreateZExt(builder.CreateAlignedLoad(type, place, llvm::Align(bytes)), builder.getInt64Ty());
    auto* result = call_by_name(builder, kSite + "reduce", builder.getInt64Ty(),
                                {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(3), word});
    builder.CreateAlignedStore(builder.CreateTrunc(result, type), place, llvm::Align(bytes));
  }
}

// __assay_simd_shuffle(mode, bytes, width, value, fill, argument, modulo): one site per word.
void NvptxKernel::pass_shuffle(llvm::CallInst& call) {
  llvm::IRBuilder<> builder(&call);
  const std::uint64_t bytes = constant_argument(call, 1);
  const bool has_fill = !llvm::isa<llvm::ConstantPointerNull>(call.getArgOperand(4));
  for (std::uint64_t offset = 0; offset < bytes;) {
    unsigned part = kWordBytes;
    while (part > bytes - offset) part /= 2;
    auto* type = builder.getIntNTy(8 * part);
    const auto load = [&](llvm::Value* from) -> llvm::Value* {
      auto* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), from, offset);
      return builder.CreateZExt(builder.CreateAlignedLoad(type, place, llvm::Align(1)), builder.getInt32Ty());
    };
    auto* word = load(call.getArgOperand(3));
    auto* fill = has_fill ? load(call.getArgOperand(4)) : builder.getInt32(0);
    auto* result = call_by_name(builder, kSite + "shuffle", builder.getInt32Ty(),
                                {call.getArgOperand(0), call.getArgOperand(2), word, fill, call.getArgOperand(5), call.getArgOperand(6)});
    auto* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), call.getArgOperand(3), offset);
    builder.CreateAlignedStore(builder.CreateTrunc(result, type), place, llvm::Align(1));
    offset += part;
  }
}

// __assay_atomic(op, type, object, operand, desired): `operand` receives the old value.
void NvptxKernel::pass_atomic(llvm::CallInst& call) {
  llvm::IRBuilder<> builder(&call);
  const unsigned bytes = bytes_of(constant_argument(call, 1));
  auto* type = builder.getIntNTy(8 * bytes);
  const auto load = [&](llvm::Value* from) {
    return builder.CreateZExt(builder.CreateAlignedLoad(type, from, llvm::Align(bytes)), builder.getInt64Ty());
  };
  auto* operand = load(call.getArgOperand(3));
  const bool has_desired = !llvm::isa<llvm::ConstantPointerNull>(call.getArgOperand(4));
  auto* desired = has_desired ? load(call.getArgOperand(4)) : builder.getInt64(0);
  auto* old = call_by_name(builder, kOnDevice + "atomic", builder.getInt64Ty(),
                           {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2), operand, desired});
  builder.CreateAlignedStore(builder.CreateTrunc(old, type), call.getArgOperand(3), llvm::Align(bytes));
}

void NvptxKernel::pass_values_in_words() {
  for (auto* each : calls_of_runtime()) {
    auto* call = llvm::cast<llvm::CallInst>(each);
    llvm::StringRef name = callee_of(*call);
    llvm::IRBuilder<> builder(call);
    if (name == "__assay_simd_reduce") {
      pass_reduction(*call);
    } else if (name == "__assay_simd_shuffle") {
      pass_shuffle(*call);
    } else if (name == "__assay_atomic") {
      pass_atomic(*call);
    } else if (name == "__assay_simd_ballot" || name == "__assay_simd_active" || name == "__assay_barrier" ||
               name == "__assay_matrix_multiply") {
      if (!name.consume_front("__assay_simd_")) name.consume_front("__assay_");
      call->replaceAllUsesWith(call_by_name(builder, kSite + name, call->getType(), llvm::SmallVector<llvm::Value*>(call->args())));
    } else {
      continue;
    }
    call->eraseFromParent();
  }
}

}  // namespace assay::metal::pass::nvptx

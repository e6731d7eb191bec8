// Counts floating-point operations, and reports to the runtime those that produce a NaN or an infinity.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

#include "metal/pass/checks.h"
#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// Size of the slot for one operand or for the result.
constexpr std::uint64_t kSlotBytes = 64;

std::optional<abi::FloatType> float_type(const llvm::Type* type) {
  const auto* scalar = type->getScalarType();
  if (scalar->isFloatTy()) return abi::kFloat;
  if (scalar->isHalfTy()) return abi::kHalf;
  if (scalar->isBFloatTy()) return abi::kBfloat;
  if (scalar->isDoubleTy()) return abi::kDouble;
  return std::nullopt;
}

std::optional<abi::Arithmetic> arithmetic_of(unsigned opcode) {
  switch (opcode) {
    case llvm::Instruction::FAdd:
      return abi::kAdd;
    case llvm::Instruction::FSub:
      return abi::kSubtract;
    case llvm::Instruction::FMul:
      return abi::kMultiply;
    case llvm::Instruction::FDiv:
      return abi::kDivide;
    case llvm::Instruction::FRem:
      return abi::kRemainder;
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return abi::kConvert;
    default:
      return std::nullopt;
  }
}

// Maps functions of the C library and similar ones to operations. Functions that select or round are left out: they create no
// NaN or infinity.
std::optional<abi::Arithmetic> function_of(const llvm::CallBase& call) {
  const auto* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration() || call.arg_empty() || callee->getName().starts_with("__assay_")) return std::nullopt;
  if (llvm::any_of(call.args(), [](const llvm::Use& argument) { return !argument->getType()->isFPOrFPVectorTy(); })) return std::nullopt;
  const auto is_one_of = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::any_of(names, [&](llvm::StringRef name) { return callee->getName().contains(name); });
  };
  if (is_one_of({"fabs", "copysign", "min", "max", "floor", "ceil", "trunc", "rint", "nearbyint", "round"})) return std::nullopt;
  return callee->getName().contains("fma") || callee->getName().contains("fmuladd") ? abi::kFusedMultiplyAdd : abi::kLibraryFunction;
}

bool calls_runtime(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && (call->getCalledFunction() == nullptr || is_call_of(*call, kCheckAccess));
}

}  // namespace

abi::FloatType Lockstep::float_type_of(const llvm::Type& type) { return float_type(&type).value_or(abi::kFloat); }

std::optional<abi::Operation> Lockstep::operation_of(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const auto what = call == nullptr ? arithmetic_of(instruction.getOpcode()) : function_of(*call);
  const auto type = float_type(instruction.getType());
  if (!what || !type) return std::nullopt;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  abi::Operation operation{};
  operation.what = *what;
  operation.type = *type;
  operation.operands = call == nullptr ? instruction.getNumOperands() : call->arg_size();
  operation.count = vector == nullptr ? 1 : vector->getNumElements();
  if (operation.operands > abi::kMaxOperands) return std::nullopt;
  const auto from = float_type(instruction.getOperand(0)->getType());
  if (!from) {
    // Only integers too large for half become infinite.
    if (*type != abi::kHalf) return std::nullopt;
    operation.operands = 0;
    return operation;
  }
  operation.from = *from;
  // Metal has no double. Library functions use it internally; only their final rounding is counted.
  if (*what == abi::kConvert) {
    operation.flops = *from == abi::kDouble ? 1 : 0;
  } else if (*type != abi::kDouble) {
    operation.flops = *what == abi::kFusedMultiplyAdd ? 2 : 1;
  }
  return operation;
}

std::vector<Lockstep::Stretch> Lockstep::find_stretches(llvm::SmallVectorImpl<llvm::BasicBlock*>& counted) {
  std::vector<Stretch> stretches;
  for (auto& block : *entry_) {
    bool is_counted = false;
    Stretch stretch{};
    for (auto& instruction : block) {
      if ((instruction.isTerminator() || calls_runtime(instruction)) && !stretch.all.empty()) {
        stretch.end = &instruction;
        stretches.push_back(std::move(stretch));
        stretch = {};
      }
      auto operation = operation_of(instruction);
      if (!operation) continue;
      operation->block = static_cast<std::uint32_t>(counted.size());
      is_counted = true;
      stretch.all.push_back({&instruction, static_cast<std::uint32_t>(arithmetic_.size())});
      arithmetic_.push_back({*operation, place_of(instruction)});
    }
    if (is_counted) counted.push_back(&block);
  }
  return stretches;
}

void Lockstep::watch_arithmetic() {
  llvm::SmallVector<llvm::BasicBlock*> counted;
  const auto stretches = find_stretches(counted);
  block_count_ = counted.size();
  for (std::size_t number = 0; number < counted.size(); ++number) {
    llvm::IRBuilder<> builder(counted[number]->getTerminator());
    stand_for_check(builder, kCountBlock, builder.getVoidTy(), {builder.getInt32(static_cast<std::uint32_t>(number))});
  }
  for (const auto& stretch : stretches) {
    llvm::IRBuilder<> builder(stretch.end);
    for (const auto& watched : stretch.all) {
      llvm::SmallVector<llvm::Value*> arguments{builder.getInt32(watched.number), watched.instruction};
      for (unsigned operand = 0; operand < arithmetic_[watched.number].first.operands; ++operand)
        arguments.push_back(watched.instruction->getOperand(operand));
      stand_for_check(builder, kCheckArithmetic, builder.getVoidTy(), arguments);
    }
  }
}

// The code of a lane for the counts and the checks of arithmetic.
void Lockstep::lower_arithmetic_checks() {
  if (block_count_ == 0) return;
  llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
  auto* slots = top.CreateAlloca(llvm::ArrayType::get(top.getInt8Ty(), kSlotBytes * (abi::kMaxOperands + 1)), nullptr, "assay.operands");
  slots->setAlignment(llvm::Align(kSlotBytes));
  auto* counts = top.CreateLoad(top.getPtrTy(), lane_member(top, offsetof(abi::Lane, block_counts)));
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(*entry_))) {
    if (!is_call_of(instruction, kCountBlock)) continue;
    llvm::IRBuilder<> builder(&instruction);
    auto* count =
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), counts, number_of_check(llvm::cast<llvm::CallInst>(instruction)));
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), count), builder.getInt64(1)), count);
    instruction.eraseFromParent();
  }
  auto* unlikely = llvm::MDBuilder(context_).createUnlikelyBranchWeights();
  for (const ChecksTogether& checks : arithmetic_checks_of(*entry_)) {
    auto* end = checks.back()->getNextNode();
    llvm::IRBuilder<> builder(end);
    auto* any = any_not_finite(builder, checks);
    llvm::IRBuilder<> rare(llvm::SplitBlockAndInsertIfThen(any, end, false, unlikely));
    for (auto* check : checks) {
      for (unsigned slot = 0; slot + 1 < check->arg_size(); ++slot)
        rare.CreateStore(check->getArgOperand(slot + 1), rare.CreateConstInBoundsGEP1_64(rare.getInt8Ty(), slots, slot * kSlotBytes));
      auto* call = call_service(rare, abi::kArithmetic, number_of_check(*check), {slots}, rare.getVoidTy());
      call->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
      check->eraseFromParent();
    }
  }
}

}  // namespace assay::metal::pass

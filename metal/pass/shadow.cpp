// Computes the shadows of operations, and of values carried around a loop.
#include "metal/pass/shadow.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace assay::metal::pass {

bool is_number(llvm::Type* type) {
  auto* scalar = type->getScalarType();
  return scalar->isFloatTy() || scalar->isHalfTy() || scalar->isBFloatTy() || scalar->isDoubleTy();
}

llvm::Instruction* behind(llvm::Instruction& value) {
  if (llvm::isa<llvm::PHINode>(value)) return &*value.getParent()->getFirstInsertionPt();
  return value.getNextNode();
}

Shadow::Shadow(Lockstep& kernel, bool explains)
    : kernel_(kernel), explains_(explains), context_(kernel.context_), layout_(kernel.module_.getDataLayout()) {}

void Shadow::run() {
  auto& entry = *kernel_.entry_;
  llvm::EliminateUnreachableBlocks(entry);
  kernel_.services();
  Builder top(&entry.getEntryBlock(), entry.getEntryBlock().getFirstInsertionPt());
  cells_ = top.CreateLoad(top.getPtrTy(), kernel_.lane_member(top, offsetof(abi::Lane, cells)));
  shadowed_buffers_ = top.CreateLoad(top.getInt32Ty(), kernel_.lane_member(top, offsetof(abi::Lane, shadowed_buffers)));
  if (explains_) {
    weights_ = top.CreateLoad(top.getPtrTy(), kernel_.lane_member(top, offsetof(abi::Lane, weights)));
    is_watched_ = top.CreateLoad(top.getInt32Ty(), kernel_.lane_member(top, offsetof(abi::Lane, is_watched)));
    constexpr std::uint64_t kRows = abi::kFirstOperandRow + 2 * abi::kMaxOperands;
    rows_ = top.CreateAlloca(llvm::ArrayType::get(top.getDoubleTy(), kRows * abi::kRowLength), nullptr, "assay.rows");
  }
  find_arrays();
  find_accounted();
  // Operands come before their uses. Values from a loop's previous iteration are filled in at the end.
  std::vector<llvm::Instruction*> all;
  for (auto* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&entry)) {
    for (auto& instruction : *block) all.push_back(&instruction);
  }
  for (auto* instruction : all) {
    if (auto* store_to = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      store(*store_to);
    } else if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(instruction)) {
      copy(*transfer);
    } else if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(instruction)) {
      fill(*set);
    } else if (llvm::is_contained(kernel_.shadowed_products_, instruction)) {
      multiply(llvm::cast<llvm::CallInst>(*instruction));
    } else if (is_number(instruction->getType())) {
      auto* shadow = make(*instruction);
      shadows_[instruction] = explains_ ? explained(*instruction, shadow) : shadow;
    }
  }
  fill_merges();
}

llvm::Type* Shadow::doubles_for(llvm::Type* type) const {
  auto* number = llvm::Type::getDoubleTy(context_);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? static_cast<llvm::Type*>(number) : llvm::FixedVectorType::get(number, vector->getNumElements());
}

// The value converted to doubles, which is exact.
llvm::Value* Shadow::widened(Builder& builder, llvm::Value* value) const {
  return value->getType()->getScalarType()->isDoubleTy() ? value : builder.CreateFPExt(value, doubles_for(value->getType()));
}

llvm::Value* Shadow::of(llvm::Value* value) {
  if (const auto found = shadows_.find(value); found != shadows_.end()) return found->second;
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  auto& entry = kernel_.entry_->getEntryBlock();
  Builder builder(instruction == nullptr ? &*entry.getFirstInsertionPt() : behind(*instruction));
  return shadows_[value] = widened(builder, value);
}

llvm::Value* Shadow::same_operation(Builder& builder, llvm::Instruction& value, llvm::ArrayRef<llvm::Value*> operands) {
  if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&value))
    return builder.CreateBinOp(binary->getOpcode(), operands[0], operands[1]);
  return builder.CreateFNeg(operands[0]);
}

llvm::Value* Shadow::make(llvm::Instruction& value) {
  if (auto* merge = llvm::dyn_cast<llvm::PHINode>(&value)) {
    auto* shadows = llvm::PHINode::Create(doubles_for(value.getType()), merge->getNumIncomingValues(), "", merge->getIterator());
    merges_.push_back({merge, shadows, std::nullopt});
    return shadows;
  }
  Builder builder(behind(value));
  const auto operand = [&](unsigned index) { return of(value.getOperand(index)); };
  switch (value.getOpcode()) {
    case llvm::Instruction::FNeg:
      return same_operation(builder, value, {operand(0)});
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return same_operation(builder, value, {operand(0), operand(1)});
    case llvm::Instruction::FRem:
      return make_remainder(value, builder);
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt:
    case llvm::Instruction::Freeze:
      return operand(0);
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return builder.CreateCast(llvm::cast<llvm::CastInst>(value).getOpcode(), value.getOperand(0), doubles_for(value.getType()));
    case llvm::Instruction::Select:
      return builder.CreateSelect(value.getOperand(0), operand(1), operand(2));
    case llvm::Instruction::ExtractElement:
      return builder.CreateExtractElement(operand(0), value.getOperand(1));
    case llvm::Instruction::InsertElement:
      return builder.CreateInsertElement(operand(0), operand(1), value.getOperand(2));
    case llvm::Instruction::ShuffleVector:
      return builder.CreateShuffleVector(operand(0), operand(1), llvm::cast<llvm::ShuffleVectorInst>(value).getShuffleMask());
    case llvm::Instruction::Load:
      return load(llvm::cast<llvm::LoadInst>(value));
    case llvm::Instruction::BitCast:
      return of_reinterpreted(llvm::cast<llvm::BitCastInst>(value));
    case llvm::Instruction::ExtractValue:
      return make_member(llvm::cast<llvm::ExtractValueInst>(value), builder);
    case llvm::Instruction::Call:
      return make_call(llvm::cast<llvm::CallBase>(value), builder);
    default:
      return widened(builder, &value);
  }
}

// The shadow of a struct's member, from the value that was inserted or from memory.
llvm::Value* Shadow::make_member(llvm::ExtractValueInst& member, Builder& builder) {
  auto* inserted = llvm::FindInsertedValue(member.getAggregateOperand(), member.getIndices());
  if (inserted != nullptr && inserted->getType() == member.getType()) return of(inserted);
  auto* load = llvm::dyn_cast<llvm::LoadInst>(member.getAggregateOperand());
  if (load == nullptr || member.getType()->getScalarType()->isDoubleTy()) return widened(builder, &member);
  llvm::SmallVector<llvm::Value*> indices;
  for (const unsigned index : member.indices()) indices.push_back(builder.getInt32(index));
  const auto offset = static_cast<std::uint64_t>(layout_.getIndexedOffsetInType(load->getType(), indices));
  Builder behind_load(behind(*load));
  auto* number = behind_load.CreateExtractValue(load, member.getIndices());
  return from_cells(behind_load, behind_load.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), load->getPointerOperand(), offset), number);
}

// a - k b in double, with the integer k of the quotient of the values.
llvm::Value* Shadow::make_remainder(llvm::Instruction& value, Builder& builder) {
  auto* divisor = widened(builder, value.getOperand(1));
  auto* quotient = builder.CreateFDiv(builder.CreateFSub(widened(builder, value.getOperand(0)), widened(builder, &value)), divisor);
  auto* whole = builder.CreateUnaryIntrinsic(llvm::Intrinsic::rint, quotient);
  return builder.CreateFSub(of(value.getOperand(0)), builder.CreateFMul(whole, of(value.getOperand(1))));
}

llvm::Value* Shadow::make_call(llvm::CallBase& call, Builder& builder) {
  auto* callee = call.getCalledFunction();
  if (callee == nullptr) return widened(builder, &call);
  const auto argument = [&](unsigned index) { return of(call.getArgOperand(index)); };
  auto* type = doubles_for(call.getType());
  if (callee->getName().starts_with(kWithoutRounding)) return argument(1);
  switch (callee->getIntrinsicID()) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
      return builder.CreateIntrinsic(type, llvm::Intrinsic::fma, {argument(0), argument(1), argument(2)});
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos:
      return builder.CreateUnaryIntrinsic(callee->getIntrinsicID(), argument(0));
    case llvm::Intrinsic::pow:
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::pow, argument(0), argument(1));
    case llvm::Intrinsic::copysign:
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, argument(0), widened(builder, call.getArgOperand(1)));
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
      return builder.CreateSelect(builder.CreateFCmpOEQ(&call, call.getArgOperand(0)), argument(0), argument(1));
    default:
      break;
  }
  if (callee->isIntrinsic() || !callee->isDeclaration() || !call.getType()->isDoubleTy()) return widened(builder, &call);
  // Calls the C library's function for double. A function that rounds to integers keeps the value's result.
  if (callee->getName() == "fmod") return make_remainder(call, builder);
  llvm::SmallVector<llvm::Value*> arguments;
  for (auto& one : call.args()) arguments.push_back(one->getType()->isDoubleTy() ? of(one) : one.get());
  return nearest_double(builder, call, arguments);
}

// Calls the double variant of a function of math/kernel_functions.h.
llvm::CallInst* Shadow::nearest_double(Builder& builder, llvm::CallBase& call, llvm::ArrayRef<llvm::Value*> arguments) {
  constexpr llvm::StringLiteral kForKernels = "assay_math_", kExact = "assay_math_exact_";
  auto* type = call.getFunctionType();
  llvm::FunctionCallee function(type, call.getCalledFunction());
  const auto name = call.getCalledFunction()->getName();
  if (name.starts_with(kForKernels) && !name.starts_with(kExact))
    function = call.getModule()->getOrInsertFunction((kExact + name.drop_front(kForKernels.size())).str(), type);
  auto* result = builder.CreateCall(function, arguments);
  result->setAttributes(call.getAttributes());
  return result;
}

// The last argument points to the shadows of the lane's elements. The runtime reads them there and writes those of the result to
// the same place.
void Shadow::multiply(llvm::CallInst& product) {
  auto* number = llvm::Type::getFloatTy(context_);
  auto* room = product.getArgOperand(product.arg_size() - 1);
  constexpr unsigned kFirstMatrix = 2, kMatrices = 3, kElements = 2, kElementBits = 32;
  Builder before(&product);
  const auto place = [&](Builder& builder, unsigned index) {
    return builder.CreateConstInBoundsGEP1_64(builder.getDoubleTy(), room, index);
  };
  for (unsigned index = 0; index < kMatrices * kElements; ++index) {
    auto* shadow = of_bits(product.getArgOperand(kFirstMatrix + index / kElements), index % kElements * kElementBits, number);
    before.CreateStore(shadow, place(before, index));
  }
  Builder after(product.getNextNode());
  for (unsigned index = 0; index < kElements; ++index)
    bits_[{&product, index * kElementBits, number}] = after.CreateLoad(after.getDoubleTy(), place(after, index));
}

void Shadow::fill_merges() {
  for (; !merges_.empty(); merges_.pop_front()) {
    const Merge merge = merges_.front();
    for (unsigned index = 0; index < merge.values->getNumIncomingValues(); ++index) {
      auto* value = merge.values->getIncomingValue(index);
      merge.shadows->addIncoming(merge.bits ? of_bits(value, merge.bits->first, merge.bits->second) : of(value),
                                 merge.values->getIncomingBlock(index));
    }
  }
}

}  // namespace assay::metal::pass

// Operations of a SIMD-group on vectors, and lane by lane where there is no vector operation.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/Path.h>

#include <optional>

#include "metal/pass/places.h"
#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {
namespace {

bool is_small_float(const llvm::Type* type) { return type->isHalfTy() || type->isBFloatTy(); }

// Intrinsics without effect on values.
bool is_remark(const llvm::IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::invariant_start:
    case llvm::Intrinsic::invariant_end:
    case llvm::Intrinsic::prefetch:
    case llvm::Intrinsic::sideeffect:
      return true;
    default:
      return llvm::isa<llvm::DbgInfoIntrinsic>(call);
  }
}

// Exact in binary32 and then exact in the smaller type, or rounded there as if at once.
bool is_right_in_single(llvm::Intrinsic::ID which) {
  switch (which) {
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Widener::widen(llvm::Instruction& instruction) {
  if (!refusal_.empty()) return;
  widen_one(instruction);
  if (refusal_.empty()) return;
  if (const std::optional<Place> place = kept_place_of(instruction)) {
    refusal_ += (" (" + llvm::sys::path::filename(place->file) + ":" + llvm::Twine(place->line) + ")").str();
  }
}

void Widener::widen_one(llvm::Instruction& instruction) {
  const Shape& shape = shapes_.of(&instruction);
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    const auto& from = incoming_.find(phi)->second;
    Parts values;
    for (auto* slot : from) values.push_back(builder_.CreateLoad(slot->getAllocatedType(), slot));
    if (shape.is_uniform()) return set_scalar(instruction, values.front());
    if (!shape.is_spaced()) return set_wide(instruction, std::move(values));
    (is_local_ ? local_bases_ : scalars_)[phi] = values.front();
    if (const auto slot = slots_.find(phi); is_local_ && slot != slots_.end()) builder_.CreateStore(values.front(), slot->second.front());
    return;
  }
  if (llvm::isa<llvm::AllocaInst>(instruction)) return;
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    // The iterations, which only lanes that run separately need.
    if (shapes_.member(store->getPointerOperand()) || (!is_checked_ && is_for_request(*store))) return;
    return widen_store(*store);
  }
  if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    if (requested_service(instruction)) {
      if (!widen_service(*call)) refuse("a request that vectors do not know");
      return;
    }
    if (widen_check(*call)) return;
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
    if (intrinsic != nullptr && is_remark(*intrinsic)) return;
    if (intrinsic != nullptr &&
        (intrinsic->getIntrinsicID() == llvm::Intrinsic::trap || intrinsic->getIntrinsicID() == llvm::Intrinsic::ubsantrap))
      return give_up(0);
    if (auto* fill = llvm::dyn_cast<llvm::MemSetInst>(call)) return widen_fill(*fill);
    if (call->isInlineAsm() || call->getCalledFunction() == nullptr) return refuse("a call that is not known");
  }
  if (instruction.getType()->isVoidTy()) return lane_by_lane(instruction);
  if (shape.is_uniform()) {
    if (shape.is_absolute)
      return set_scalar(instruction, llvm::ConstantInt::get(instruction.getType(), static_cast<std::uint64_t>(shape.first), true));
    auto* copy = instruction.clone();
    for (auto& operand : copy->operands()) {
      // What differs between lanes in the operands cancels, so lane 0's are as good as any.
      if (!llvm::isa<llvm::Function>(operand.get()) && !operand->getType()->isMetadataTy()) operand.set(base(operand.get()));
    }
    copy->dropPoisonGeneratingFlags();
    copy->setDebugLoc({});
    return set_scalar(instruction, builder_.Insert(copy));
  }
  // Computed where it is used.
  if (shape.is_spaced() && !shape.is_assumed) return;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return widen_load(*load);
  if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    if (step->getType()->isVectorTy()) return refuse("a vector of addresses");
    return set_wide(instruction,
                    {stepped(*step, pointers(step->getPointerOperand()), [this](Value* index) { return wide_one(index); }, true)});
  }
  if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) return widen_shuffle(*shuffle);
  if (auto* insertion = llvm::dyn_cast<llvm::InsertElementInst>(&instruction)) return widen_insertion(*insertion);
  if (auto* extraction = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) return widen_extraction(*extraction);
  if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    if (!widen_intrinsic(*call) && !widen_library_function(*call)) lane_by_lane(instruction);
    return;
  }
  if (!widen_simple(instruction)) lane_by_lane(instruction);
}

// Operations without memory whose components do not depend on each other.
bool Widener::widen_simple(llvm::Instruction& instruction) {
  if (auto* element = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    if (element->getNumIndices() != 1 || !element->getAggregateOperand()->getType()->isStructTy()) return false;
    std::size_t first = 0;
    for (unsigned index = 0; index < element->getIndices().front(); ++index)
      first += components(element->getAggregateOperand()->getType()->getStructElementType(index)).size();
    const Parts all = wide(element->getAggregateOperand());
    const std::size_t count = components(element->getType()).size();
    set_wide(instruction,
             Parts(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)));
    return true;
  }
  if (instruction.getType()->isAggregateType()) return false;
  if (llvm::isa<llvm::BitCastInst>(instruction)) {
    set_wide(instruction, reinterpreted(wide(instruction.getOperand(0)), instruction.getType()));
    return true;
  }
  const bool is_known =
      llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst, llvm::CastInst, llvm::SelectInst, llvm::FreezeInst>(instruction);
  if (!is_known) return false;
  llvm::SmallVector<Parts> operands;
  for (auto& operand : instruction.operands()) operands.push_back(wide(operand.get()));
  Parts result;
  for (std::size_t part = 0; part < components(instruction.getType()).size(); ++part) {
    llvm::SmallVector<Value*> of_part;
    for (const Parts& parts : operands) of_part.push_back(parts.size() == 1 ? parts.front() : parts[part]);
    result.push_back(operate(instruction, of_part));
    if (result.back() == nullptr) return false;
  }
  set_wide(instruction, std::move(result));
  return true;
}

// The bits of a bfloat, rounded to nearest even; a NaN becomes a quiet NaN (__truncsfbf2 of metal/shader/entry.h).
llvm::Value* Widener::rounded_to_bfloat(Value* single) {
  auto* words = vector_of(builder_.getInt32Ty());
  const auto word = [&](std::uint32_t value) { return llvm::ConstantInt::get(words, value); };
  auto* bits = builder_.CreateBitCast(single, words);
  auto* upper = builder_.CreateLShr(bits, word(16));
  auto* nan = builder_.CreateOr(upper, word(0x40));
  auto* rounded =
      builder_.CreateLShr(builder_.CreateAdd(builder_.CreateAdd(bits, word(0x7fff)), builder_.CreateAnd(upper, word(1))), word(16));
  return builder_.CreateTrunc(builder_.CreateSelect(builder_.CreateFCmpUNO(single, single), nan, rounded),
                              vector_of(builder_.getInt16Ty()));
}

// The numbers whose bits are stored, as float; and back.
llvm::Value* Widener::as_single(Value* stored, llvm::Type* type) {
  auto* single = vector_of(builder_.getFloatTy());
  if (type->isHalfTy()) return builder_.CreateFPExt(builder_.CreateBitCast(stored, vector_of(type)), single);
  return builder_.CreateBitCast(builder_.CreateShl(builder_.CreateZExt(stored, vector_of(builder_.getInt32Ty())), 16), single);
}
llvm::Value* Widener::from_single(Value* single, llvm::Type* type) {
  if (type->isBFloatTy()) return rounded_to_bfloat(single);
  return builder_.CreateBitCast(builder_.CreateFPTrunc(single, vector_of(type)), vector_of(builder_.getInt16Ty()));
}

// Null if there is no vector operation with the same result.
// Changes what lanes divide that do not run the block, so that it does not trap. No lane that runs it divides by 0. The divisor is not
// chosen by the lanes that run: LLVM 19 would drop a choice of constants one of which is 0, also for the others.
void Widener::keep_from_trapping(llvm::MutableArrayRef<Value*> operands) {
  auto* type = operands[1]->getType();
  auto* is_zero = builder_.CreateICmpEQ(operands[1], llvm::Constant::getNullValue(type));
  operands[1] = builder_.CreateSelect(is_zero, llvm::ConstantInt::get(type, 1), operands[1]);
  operands[0] = builder_.CreateSelect(lanes_, operands[0], llvm::Constant::getNullValue(type));
}

llvm::Value* Widener::operate(llvm::Instruction& instruction, llvm::ArrayRef<Value*> operands) {
  auto* to = instruction.getType()->getScalarType();
  auto* from = instruction.getOperand(0)->getType()->getScalarType();
  auto* single = vector_of(builder_.getFloatTy());
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    Value* value = operands[0];
    if (is_small_float(from)) {
      value = as_single(value, from);
      if (to->isFloatTy()) return value;
    }
    if (is_small_float(to)) {
      if (from->isDoubleTy()) return nullptr;
      if (from->isIntegerTy()) value = builder_.CreateCast(cast->getOpcode(), value, single);
      return from_single(value, to);
    }
    return builder_.CreateCast(cast->getOpcode(), value, vector_of(to));
  }
  if (llvm::isa<llvm::SelectInst>(instruction)) return builder_.CreateSelect(operands[0], operands[1], operands[2]);
  if (llvm::isa<llvm::FreezeInst>(instruction)) return builder_.CreateFreeze(operands[0]);
  if (instruction.getOpcode() == llvm::Instruction::FNeg) {
    auto* number = vector_of(from);
    return builder_.CreateBitCast(builder_.CreateFNeg(builder_.CreateBitCast(operands[0], number)), vector_of(stored_type(to)));
  }
  llvm::SmallVector<Value*, 2> values(operands);
  if (is_small_float(from)) {
    for (auto*& value : values) value = as_single(value, from);
  }
  if (const auto* comparison = llvm::dyn_cast<llvm::CmpInst>(&instruction))
    return builder_.CreateCmp(comparison->getPredicate(), values[0], values[1]);
  if (lanes_ != nullptr && llvm::cast<llvm::BinaryOperator>(instruction).isIntDivRem()) keep_from_trapping(values);
  auto* result = builder_.CreateBinOp(llvm::cast<llvm::BinaryOperator>(instruction).getOpcode(), values[0], values[1]);
  return is_small_float(to) ? from_single(result, to) : result;
}

// The same bytes as another type.
Widener::Parts Widener::reinterpreted(const Parts& parts, llvm::Type* to) {
  const auto wanted = components(to);
  if (wanted.size() == parts.size()) {
    Parts result;
    for (auto* part : parts) result.push_back(builder_.CreateBitCast(part, vector_of(wanted.front())));
    return result;
  }
  if (!llvm::isPowerOf2_64(parts.size()) || !llvm::isPowerOf2_64(wanted.size())) {
    refuse("a vector of " + llvm::Twine(std::max(parts.size(), wanted.size())) + " components as one of " +
           llvm::Twine(std::min(parts.size(), wanted.size())));
    Parts result;
    for (auto* type : wanted) result.push_back(llvm::PoisonValue::get(vector_of(type)));
    return result;
  }
  auto* all = interleaved(parts);
  auto* type = llvm::FixedVectorType::get(wanted.front(), static_cast<unsigned>(abi::kLanes * wanted.size()));
  return deinterleaved(builder_.CreateBitCast(all, type), wanted.size());
}

void Widener::widen_shuffle(llvm::ShuffleVectorInst& shuffle) {
  Parts all = wide(shuffle.getOperand(0));
  all.append(wide(shuffle.getOperand(1)));
  Parts result;
  for (const int index : shuffle.getShuffleMask()) {
    result.push_back(index < 0 ? llvm::PoisonValue::get(all.front()->getType()) : all[static_cast<std::size_t>(index)]);
  }
  set_wide(shuffle, std::move(result));
}

void Widener::widen_insertion(llvm::InsertElementInst& insertion) {
  Parts parts = wide(insertion.getOperand(0));
  auto* value = wide_one(insertion.getOperand(1));
  if (const auto* index = llvm::dyn_cast<llvm::ConstantInt>(insertion.getOperand(2))) {
    if (index->getZExtValue() < parts.size()) parts[index->getZExtValue()] = value;
  } else {
    auto* place = wide_one(insertion.getOperand(2));
    for (std::size_t part = 0; part < parts.size(); ++part)
      parts[part] = builder_.CreateSelect(builder_.CreateICmpEQ(place, llvm::ConstantInt::get(place->getType(), part)), value, parts[part]);
  }
  set_wide(insertion, std::move(parts));
}

void Widener::widen_extraction(llvm::ExtractElementInst& extraction) {
  const Parts parts = wide(extraction.getVectorOperand());
  if (const auto* index = llvm::dyn_cast<llvm::ConstantInt>(extraction.getIndexOperand())) {
    return set_wide(extraction, {index->getZExtValue() < parts.size() ? parts[index->getZExtValue()]
                                                                      : llvm::PoisonValue::get(parts.front()->getType())});
  }
  auto* place = wide_one(extraction.getIndexOperand());
  Value* result = parts.front();
  for (std::size_t part = 1; part < parts.size(); ++part)
    result = builder_.CreateSelect(builder_.CreateICmpEQ(place, llvm::ConstantInt::get(place->getType(), part)), parts[part], result);
  set_wide(extraction, {result});
}

// A function of math/kernel_functions.h, of all lanes at once.
bool Widener::widen_library_function(llvm::CallBase& call) {
  constexpr llvm::StringLiteral kPrefix = "assay_math_";
  llvm::StringRef name = call.getCalledFunction()->getName();
  if (!name.consume_front(kPrefix) || name.starts_with("exact_") || !call.getType()->isDoubleTy()) return false;
  llvm::SmallVector<Value*> arguments;
  for (auto& argument : call.args()) {
    // The other lanes get a number that takes no longer than any.
    auto* values = wide_one(argument.get());
    if (lanes_ != nullptr) values = builder_.CreateSelect(lanes_, values, llvm::ConstantFP::get(values->getType(), 1.0));
    arguments.push_back(array_of(builder_.getDoubleTy()));
    builder_.CreateStore(values, arguments.back());
  }
  auto* results = array_of(builder_.getDoubleTy());
  arguments.push_back(results);
  const llvm::SmallVector<llvm::Type*> types(arguments.size(), builder_.getPtrTy());
  auto function = into_.getParent()->getOrInsertFunction((kPrefix + "batch_" + name).str(),
                                                         llvm::FunctionType::get(builder_.getVoidTy(), types, false));
  auto* batch = builder_.CreateCall(function, arguments);
  batch->addFnAttr(llvm::Attribute::NoUnwind);
  batch->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  for (unsigned index = 0; index < arguments.size(); ++index) batch->addParamAttr(index, llvm::Attribute::NoCapture);
  set_wide(call, {builder_.CreateLoad(vector_of(builder_.getDoubleTy()), results)});
  release_arrays();
  return true;
}

bool Widener::widen_intrinsic(llvm::CallBase& call) {
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (intrinsic == nullptr || call.getType()->isAggregateType()) return false;
  const auto which = intrinsic->getIntrinsicID();
  const bool is_bits = which == llvm::Intrinsic::fabs || which == llvm::Intrinsic::copysign;
  auto* element = call.getType()->getScalarType();
  const bool is_small =
      is_small_float(element) || (call.arg_size() > 0 && is_small_float(call.getArgOperand(0)->getType()->getScalarType()));
  if (!llvm::isTriviallyVectorizable(which)) return false;
  if (is_small && !is_bits && !(is_right_in_single(which) && is_small_float(element))) return false;
  if (element->isBFloatTy() && is_bits) return false;
  const std::size_t count = components(call.getType()).size();
  llvm::SmallVector<Parts> operands;
  for (unsigned index = 0; index < call.arg_size(); ++index) {
    if (llvm::isVectorIntrinsicWithScalarOpAtArg(which, index)) {
      if (!shapes_.is_uniform(call.getArgOperand(index))) return false;
      operands.push_back({scalar(call.getArgOperand(index))});
    } else {
      operands.push_back(wide(call.getArgOperand(index)));
    }
  }
  const bool in_single = is_small && !is_bits;
  auto* type = vector_of(in_single ? builder_.getFloatTy() : element);
  Parts result;
  for (std::size_t part = 0; part < count; ++part) {
    llvm::SmallVector<Value*> arguments;
    for (unsigned index = 0; index < operands.size(); ++index) {
      const Parts& parts = operands[index];
      auto* value = parts.size() == 1 ? parts.front() : parts[part];
      auto* from = call.getArgOperand(index)->getType()->getScalarType();
      if (in_single) {
        value = as_single(value, from);
      } else if (is_small_float(from)) {
        value = builder_.CreateBitCast(value, vector_of(from));
      }
      arguments.push_back(value);
    }
    llvm::SmallVector<llvm::Type*> types;
    if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(which, -1)) types.push_back(type);
    for (unsigned index = 0; index < arguments.size(); ++index) {
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(which, static_cast<int>(index))) types.push_back(arguments[index]->getType());
    }
    auto* declared = llvm::Intrinsic::getDeclaration(into_.getParent(), which, types);
    Value* value = builder_.CreateCall(declared, arguments);
    result.push_back(in_single ? from_single(value, element) : builder_.CreateBitCast(value, vector_of(stored_type(element))));
  }
  set_wide(call, std::move(result));
  return true;
}

}  // namespace assay::metal::pass

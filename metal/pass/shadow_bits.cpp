// Shadows of numbers that travel as integers: through casts that keep the bits, and packed into wider words.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/KnownBits.h>

#include "metal/pass/shadow.h"

namespace assay::metal::pass {
namespace {

unsigned bits_of(const llvm::Type* type) { return static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue()); }

std::optional<unsigned> shift_of(const llvm::Instruction& shift) {
  const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(shift.getOperand(1));
  if (distance == nullptr) return std::nullopt;
  return static_cast<unsigned>(distance->getZExtValue());
}

bool is_zero_there(const llvm::KnownBits& known, unsigned first, unsigned count) {
  return known.Zero.extractBits(count, first).isAllOnes();
}
bool is_one_there(const llvm::KnownBits& known, unsigned first, unsigned count) { return known.One.extractBits(count, first).isAllOnes(); }

// Numbers whose bits go into the word by more than moving them.
bool computes_with_bits(const llvm::Value* word, llvm::SmallPtrSetImpl<const llvm::Value*>& seen) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(word);
  if (instruction == nullptr || !seen.insert(word).second) return false;
  if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(instruction); cast != nullptr && is_number(cast->getSrcTy()))
    return !llvm::isa<llvm::Constant>(cast->getOperand(0));
  // What was decided by comparing, or read from elsewhere, is no number's bits any more.
  if (!llvm::isa<llvm::BinaryOperator>(instruction) && !llvm::isa<llvm::CastInst>(instruction) && !llvm::isa<llvm::PHINode>(instruction) &&
      !llvm::isa<llvm::SelectInst>(instruction) && !llvm::isa<llvm::FreezeInst>(instruction) &&
      !llvm::isa<llvm::ShuffleVectorInst>(instruction) && !llvm::isa<llvm::ExtractElementInst>(instruction) &&
      !llvm::isa<llvm::InsertElementInst>(instruction))
    return false;
  if (is_number(instruction->getType())) return false;
  const unsigned first = llvm::isa<llvm::SelectInst>(instruction) ? 1 : 0;
  for (unsigned index = first; index < instruction->getNumOperands(); ++index) {
    if (computes_with_bits(instruction->getOperand(index), seen)) return true;
  }
  return false;
}

}  // namespace

llvm::Value* Shadow::of_reinterpreted(llvm::BitCastInst& cast) {
  auto* element = cast.getType()->getScalarType();
  const unsigned width = bits_of(element);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(cast.getType());
  if (vector == nullptr) return of_bits(cast.getOperand(0), 0, element);
  llvm::Value* shadow = llvm::PoisonValue::get(doubles_for(cast.getType()));
  Builder builder(behind(cast));
  for (unsigned index = 0; index < vector->getNumElements(); ++index)
    shadow = builder.CreateInsertElement(shadow, of_bits(cast.getOperand(0), index * width, element), index);
  return shadow;
}

// The shadow of the number of type `element` that lies in a word, or in a vector, from `first_bit` on.
llvm::Value* Shadow::of_bits(llvm::Value* carrier, unsigned first_bit, llvm::Type* element) {
  const std::tuple key{carrier, first_bit, element};
  if (const auto found = bits_.find(key); found != bits_.end()) return found->second;
  auto* shadow = find_bits(carrier, first_bit, element);
  if (shadow == nullptr) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(carrier);
    if (instruction != nullptr) note_lost(*instruction, carrier);
    Builder builder(instruction == nullptr ? &*kernel_.entry_->getEntryBlock().getFirstInsertionPt() : behind(*instruction));
    shadow = widened(builder, number_in(builder, carrier, first_bit, element));
  }
  return bits_[key] = shadow;
}

// Nothing if the bits are not simply somebody's.
llvm::Value* Shadow::find_bits(llvm::Value* carrier, unsigned first_bit, llvm::Type* element) {
  const unsigned width = bits_of(element);
  if (is_number(carrier->getType()) && carrier->getType()->getScalarType() == element) {
    auto* shadow = of(carrier);
    if (!carrier->getType()->isVectorTy()) return shadow;
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(shadow);
    auto& entry = kernel_.entry_->getEntryBlock();
    Builder builder(instruction == nullptr ? &*entry.getFirstInsertionPt() : behind(*instruction));
    return builder.CreateExtractElement(shadow, first_bit / width);
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(carrier);
  if (instruction == nullptr) return nullptr;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(carrier->getType());
  const unsigned part = vector == nullptr ? bits_of(carrier->getType()) : bits_of(vector->getElementType());
  switch (instruction->getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::Freeze:
      return of_bits(instruction->getOperand(0), first_bit, element);
    case llvm::Instruction::Trunc:
      return vector != nullptr ? nullptr : of_bits(instruction->getOperand(0), first_bit, element);
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
      if (vector != nullptr || first_bit + width > bits_of(instruction->getOperand(0)->getType())) return nullptr;
      return of_bits(instruction->getOperand(0), first_bit, element);
    case llvm::Instruction::Shl: {
      const auto distance = shift_of(*instruction);
      if (vector != nullptr || !distance || *distance > first_bit) return nullptr;
      return of_bits(instruction->getOperand(0), first_bit - *distance, element);
    }
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr: {
      const auto distance = shift_of(*instruction);
      if (vector != nullptr || !distance || *distance + first_bit + width > part) return nullptr;
      return of_bits(instruction->getOperand(0), first_bit + *distance, element);
    }
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
    case llvm::Instruction::And:
      return vector != nullptr ? nullptr : masked_bits(*instruction, first_bit, element);
    case llvm::Instruction::ExtractElement: {
      const auto* index = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
      if (index == nullptr) return nullptr;
      return of_bits(instruction->getOperand(0), static_cast<unsigned>(index->getZExtValue()) * part + first_bit, element);
    }
    case llvm::Instruction::InsertElement: {
      const auto* index = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(2));
      if (index == nullptr || width > part) return nullptr;
      if (first_bit / part == index->getZExtValue()) return of_bits(instruction->getOperand(1), first_bit % part, element);
      return of_bits(instruction->getOperand(0), first_bit, element);
    }
    case llvm::Instruction::ExtractValue: {
      const auto* member = llvm::cast<llvm::ExtractValueInst>(instruction);
      auto* inserted = llvm::FindInsertedValue(instruction->getOperand(0), member->getIndices());
      return inserted == nullptr || inserted->getType() != instruction->getType() ? nullptr : of_bits(inserted, first_bit, element);
    }
    case llvm::Instruction::ShuffleVector: {
      const auto* shuffle = llvm::cast<llvm::ShuffleVectorInst>(instruction);
      const int source = width > part ? -1 : shuffle->getMaskValue(first_bit / part);
      if (source < 0) return nullptr;
      const auto* first = llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType());
      const auto position = static_cast<unsigned>(source);
      const unsigned operand = position < first->getNumElements() ? 0 : 1;
      return of_bits(instruction->getOperand(operand), position % first->getNumElements() * part + first_bit % part, element);
    }
    case llvm::Instruction::PHI:
    case llvm::Instruction::Select:
      return merged_bits(*instruction, first_bit, element);
    case llvm::Instruction::Load: {
      auto* load = llvm::cast<llvm::LoadInst>(instruction);
      Builder builder(behind(*instruction));
      if (kernel_.is_runtime_state(*load->getPointerOperand())) return nullptr;
      const auto kind = kernel_.origin_of(load->getPointerOperand()).kind;
      if (kind == Origin::Kind::program_constant || arrays_.contains(llvm::getUnderlyingObject(load->getPointerOperand(), 0)))
        return nullptr;
      auto* number = number_in(builder, carrier, first_bit, element);
      return from_cells(builder, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), load->getPointerOperand(), first_bit / 8), number);
    }
    default:
      return nullptr;
  }
}

// Another word's bits beside the number, or one that changes nothing of it but its sign.
llvm::Value* Shadow::masked_bits(llvm::Instruction& word, unsigned first_bit, llvm::Type* element) {
  const unsigned width = bits_of(element);
  for (const unsigned mask : {0U, 1U}) {
    const auto known = llvm::computeKnownBits(word.getOperand(mask), layout_);
    const bool is_and = word.getOpcode() == llvm::Instruction::And;
    const auto is_neutral = [&](unsigned count) {
      return is_and ? is_one_there(known, first_bit, count) : is_zero_there(known, first_bit, count);
    };
    auto* source = word.getOperand(1 - mask);
    if (is_neutral(width)) return of_bits(source, first_bit, element);
    if (!is_neutral(width - 1)) continue;
    auto* shadow = of_bits(source, first_bit, element);
    Builder builder(behind(word));
    auto* bits = builder.getIntNTy(width);
    const auto number_bits = [&](llvm::Value* from) { return builder.CreateTrunc(builder.CreateLShr(from, first_bit), bits); };
    auto* is_turned = builder.CreateICmpSLT(builder.CreateXor(number_bits(source), number_bits(&word)), llvm::Constant::getNullValue(bits));
    return builder.CreateSelect(is_turned, builder.CreateFNeg(shadow), shadow);
  }
  return nullptr;
}

llvm::Value* Shadow::merged_bits(llvm::Instruction& merge, unsigned first_bit, llvm::Type* element) {
  const std::tuple<llvm::Value*, unsigned, llvm::Type*> key{&merge, first_bit, element};
  if (auto* values = llvm::dyn_cast<llvm::PHINode>(&merge)) {
    auto* shadows = llvm::PHINode::Create(llvm::Type::getDoubleTy(context_), values->getNumIncomingValues(), "", values->getIterator());
    merges_.push_back({values, shadows, std::pair{first_bit, element}});
    return bits_[key] = shadows;
  }
  if (merge.getOperand(0)->getType()->isVectorTy()) return nullptr;
  auto* one = of_bits(merge.getOperand(1), first_bit, element);
  auto* other = of_bits(merge.getOperand(2), first_bit, element);
  return Builder(behind(merge)).CreateSelect(merge.getOperand(0), one, other);
}

llvm::Value* Shadow::number_in(Builder& builder, llvm::Value* carrier, unsigned first_bit, llvm::Type* element) {
  auto* word = builder.CreateBitCast(carrier, builder.getIntNTy(bits_of(carrier->getType())));
  return builder.CreateBitCast(builder.CreateTrunc(builder.CreateLShr(word, first_bit), builder.getIntNTy(bits_of(element))), element);
}

// The type of the numbers whose bits are moved into the word, if there are any.
llvm::Type* Shadow::element_inside(llvm::Value* carrier) {
  llvm::SmallVector<llvm::Value*> rest{carrier};
  llvm::SmallPtrSet<llvm::Value*, 8> seen;
  while (!rest.empty()) {
    auto* value = rest.pop_back_val();
    if (!seen.insert(value).second) continue;
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr) continue;
    // A double carries two floats where a call handed on a vector of them.
    if (is_number(value->getType()) && !value->getType()->isDoubleTy()) return value->getType()->getScalarType();
    switch (instruction->getOpcode()) {
      case llvm::Instruction::BitCast:
      case llvm::Instruction::Freeze:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Shl:
      case llvm::Instruction::LShr:
      case llvm::Instruction::Or:
      case llvm::Instruction::ExtractElement:
      case llvm::Instruction::InsertElement:
      case llvm::Instruction::ShuffleVector:
      case llvm::Instruction::PHI:
      case llvm::Instruction::Select:
        for (auto& operand : instruction->operands()) rest.push_back(operand.get());
        break;
      default:
        break;
    }
  }
  return nullptr;
}

// Values whose exact counterpart our headers name themselves.
void Shadow::find_accounted() {
  llvm::SmallVector<llvm::Value*> rest;
  for (auto& instruction : llvm::instructions(*kernel_.entry_)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName().starts_with(kWithoutRounding))
      rest.push_back(call->getArgOperand(0));
  }
  while (!rest.empty()) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(rest.pop_back_val());
    if (instruction == nullptr || !accounted_.insert(instruction).second) continue;
    if (llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::SelectInst>(instruction) || llvm::isa<llvm::BitCastInst>(instruction))
      rest.append(instruction->op_begin(), instruction->op_end());
  }
}

void Shadow::note_lost(llvm::Instruction& instruction, llvm::Value* carrier) {
  if (accounted_.contains(&instruction)) return;
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  if (computes_with_bits(carrier, seen)) kernel_.lost_shadows_.push_back(place_of(instruction));
}

}  // namespace assay::metal::pass

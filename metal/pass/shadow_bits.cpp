// Shadows of numbers that are moved as integers: through casts that keep the bits, and packed into wider words.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/KnownBits.h>

#include "metal/pass/shadow.h"

namespace assay::metal::pass {
namespace {

constexpr unsigned kBfloatBits = 16;

unsigned primitive_bits(const llvm::Type* type) { return static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue()); }

std::optional<unsigned> shift_of(const llvm::Instruction& shift) {
  const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(shift.getOperand(1));
  if (distance == nullptr) return std::nullopt;
  return static_cast<unsigned>(distance->getZExtValue());
}

bool is_zero_there(const llvm::KnownBits& known, unsigned first, unsigned count) {
  return known.Zero.extractBits(count, first).isAllOnes();
}
bool is_one_there(const llvm::KnownBits& known, unsigned first, unsigned count) { return known.One.extractBits(count, first).isAllOnes(); }

// The later of a number and its shadow. A shadow is computed after its number, unless it existed before.
llvm::Instruction* later_of(llvm::Value* number, llvm::Value* shadow) {
  auto* first = llvm::dyn_cast<llvm::Instruction>(number);
  auto* second = llvm::dyn_cast<llvm::Instruction>(shadow);
  if (first == nullptr || second == nullptr) return first == nullptr ? second : first;
  if (first->getParent() == second->getParent()) return first->comesBefore(second) ? second : first;
  return llvm::DominatorTree(*first->getFunction()).dominates(first->getParent(), second->getParent()) ? second : first;
}

// Whether code computes with the bits of numbers, instead of only moving them, on their way into the word.
bool computes_with_bits(const llvm::Value* word, llvm::SmallPtrSetImpl<const llvm::Value*>& seen) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(word);
  if (instruction == nullptr || !seen.insert(word).second) return false;
  if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(instruction); cast != nullptr && is_number(cast->getSrcTy()))
    return !llvm::isa<llvm::Constant>(cast->getOperand(0));
  // The result of a comparison, or of a read from other memory, is not the bits of a number.
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
  const unsigned width = primitive_bits(element);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(cast.getType());
  if (vector == nullptr) return of_bits(cast.getOperand(0), 0, element);
  llvm::Value* shadow = llvm::PoisonValue::get(doubles_for(cast.getType()));
  Builder builder(behind(cast));
  for (unsigned index = 0; index < vector->getNumElements(); ++index)
    shadow = builder.CreateInsertElement(shadow, of_bits(cast.getOperand(0), index * width, element), index);
  return shadow;
}

// The shadow of the number of type `element` that begins at `first_bit` of a word or a vector. For a granule (Shadow::granule()): the
// cell that it would have in memory, with any content.
llvm::Value* Shadow::of_bits(llvm::Value* carrier, unsigned first_bit, llvm::Type* element) {
  const std::tuple key{carrier, first_bit, element};
  if (const auto found = bits_.find(key); found != bits_.end()) return found->second;
  auto* shadow = find_bits(carrier, first_bit, element);
  if (shadow == nullptr) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(carrier);
    if (instruction != nullptr) note_lost(*instruction, carrier);
    if (element == granule()) return bits_[key] = llvm::Constant::getNullValue(cell_type());
    Builder builder(instruction == nullptr ? &*kernel_.entry_->getEntryBlock().getFirstInsertionPt() : behind(*instruction));
    shadow = widened(builder, number_in(builder, carrier, first_bit, element));
  }
  return bits_[key] = shadow;
}

// For a number itself: its shadow in the requested type. The upper half of a float counts as a bfloat.
llvm::Value* Shadow::bits_of_number(llvm::Value* number, unsigned first_bit, llvm::Type* element) {
  auto* own = number->getType()->getScalarType();
  if (own->isDoubleTy()) return nullptr;  // not a type of Metal; it only carries other numbers
  const unsigned width = primitive_bits(own);
  const bool is_cell = element == granule();
  const unsigned offset = first_bit % width;
  const bool is_upper_half = own->isFloatTy() && offset == kBfloatBits && (element->isBFloatTy() || is_cell);
  // A number's shadow is in the first of the cells that it covers.
  if (is_cell && offset != 0 && !is_upper_half) return llvm::Constant::getNullValue(cell_type());
  if (own != element && !is_upper_half && !is_cell) return nullptr;
  auto* shadow = of(number);
  auto* instruction = later_of(number, shadow);
  Builder builder(instruction == nullptr ? &*kernel_.entry_->getEntryBlock().getFirstInsertionPt() : behind(*instruction));
  const auto part = [&](llvm::Value* whole) {
    return number->getType()->isVectorTy() ? builder.CreateExtractElement(whole, first_bit / width) : whole;
  };
  if (!is_cell) return part(shadow);
  auto* holder = is_upper_half ? number_in(builder, part(number), offset, llvm::Type::getBFloatTy(context_)) : part(number);
  auto* cell = builder.CreateInsertValue(llvm::PoisonValue::get(cell_type()), part(shadow), 0);
  return builder.CreateInsertValue(cell, tag(builder, holder), 1);
}

// Returns null if the bits are not those of one number. Long because it has one case per opcode.
llvm::Value* Shadow::find_bits(llvm::Value* carrier, unsigned first_bit, llvm::Type* element) {
  const unsigned width = primitive_bits(element);
  if (is_number(carrier->getType())) {
    if (auto* shadow = bits_of_number(carrier, first_bit, element)) return shadow;
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(carrier);
  if (instruction == nullptr) return nullptr;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(carrier->getType());
  const unsigned part = vector == nullptr ? primitive_bits(carrier->getType()) : primitive_bits(vector->getElementType());
  switch (instruction->getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::Freeze:
      return of_bits(instruction->getOperand(0), first_bit, element);
    case llvm::Instruction::Trunc:
      return vector != nullptr ? nullptr : of_bits(instruction->getOperand(0), first_bit, element);
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
      if (vector != nullptr || first_bit + width > primitive_bits(instruction->getOperand(0)->getType())) return nullptr;
      return of_bits(instruction->getOperand(0), first_bit, element);
    case llvm::Instruction::Shl: {
      const auto distance = shift_of(*instruction);
      if (vector != nullptr || !distance) return nullptr;
      // A bfloat followed by zero bits is the same number as a float.
      if (element->isFloatTy() && *distance == first_bit + kBfloatBits)
        return of_bits(instruction->getOperand(0), 0, llvm::Type::getBFloatTy(context_));
      if (*distance > first_bit) return nullptr;
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
      auto* object = llvm::getUnderlyingObject(load->getPointerOperand(), 0);
      if (kind == Origin::Kind::program_constant || arrays_.contains(object) || holds_only_words(object)) return nullptr;
      // Read here and not where the word is used, because memory may change in between.
      if (element == granule())
        return builder.CreateAlignedLoad(cell_type(), cell(builder, load->getPointerOperand(), first_bit / 8), llvm::Align(8));
      auto* number = number_in(builder, carrier, first_bit, element);
      return from_cells(builder, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), load->getPointerOperand(), first_bit / 8), number);
    }
    default:
      return nullptr;
  }
}

// Handles masks that add the bits of another word next to the number, or that change only its sign.
llvm::Value* Shadow::masked_bits(llvm::Instruction& word, unsigned first_bit, llvm::Type* element) {
  const unsigned width = primitive_bits(element);
  for (const unsigned mask : {0U, 1U}) {
    const auto known = llvm::computeKnownBits(word.getOperand(mask), layout_);
    const bool is_and = word.getOpcode() == llvm::Instruction::And;
    const auto is_neutral = [&](unsigned count) {
      return is_and ? is_one_there(known, first_bit, count) : is_zero_there(known, first_bit, count);
    };
    auto* source = word.getOperand(1 - mask);
    if (is_neutral(width)) return of_bits(source, first_bit, element);
    if (element == granule()) continue;
    if (is_and && element->isFloatTy() && is_zero_there(known, first_bit, kBfloatBits) &&
        is_one_there(known, first_bit + kBfloatBits, kBfloatBits))
      return of_bits(source, first_bit + kBfloatBits, llvm::Type::getBFloatTy(context_));
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
    auto* type = element == granule() ? cell_type() : llvm::Type::getDoubleTy(context_);
    auto* shadows = llvm::PHINode::Create(type, values->getNumIncomingValues(), "", values->getIterator());
    merges_.push_back({values, shadows, std::pair{first_bit, element}});
    return bits_[key] = shadows;
  }
  if (merge.getOperand(0)->getType()->isVectorTy()) return nullptr;
  auto* one = of_bits(merge.getOperand(1), first_bit, element);
  auto* other = of_bits(merge.getOperand(2), first_bit, element);
  return Builder(behind(merge)).CreateSelect(merge.getOperand(0), one, other);
}

llvm::Value* Shadow::number_in(Builder& builder, llvm::Value* carrier, unsigned first_bit, llvm::Type* element) {
  auto* word = builder.CreateBitCast(carrier, builder.getIntNTy(primitive_bits(carrier->getType())));
  return builder.CreateBitCast(builder.CreateTrunc(builder.CreateLShr(word, first_bit), builder.getIntNTy(primitive_bits(element))),
                               element);
}

// Whether a stored word may contain numbers, because it was read from memory or combined from such words.
bool Shadow::may_carry(llvm::Value* word) {
  llvm::SmallVector<llvm::Value*> rest{word};
  llvm::SmallPtrSet<llvm::Value*, 8> seen;
  while (!rest.empty()) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(rest.pop_back_val());
    if (instruction == nullptr || !seen.insert(instruction).second) continue;
    if (is_number(instruction->getType()) || llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::CallBase>(instruction)) return true;
    if (llvm::isa<llvm::CmpInst>(instruction) || llvm::isa<llvm::FPToSIInst>(instruction) || llvm::isa<llvm::FPToUIInst>(instruction))
      continue;
    rest.append(instruction->op_begin(), instruction->op_end());
  }
  return false;
}

// Finds the values for which our headers supply the exact counterpart.
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

// Stores shadows to memory and loads them from there: cells, and arrays that do not escape their lane.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/pass/shadow.h"

namespace assay::metal::pass {
namespace {

bool has_cells(const llvm::Type* element) { return element->isFloatTy() || element->isHalfTy() || element->isBFloatTy(); }

std::uint64_t kind_of(const llvm::Type* element) {
  return element->isFloatTy() ? abi::kFloat : element->isHalfTy() ? abi::kHalf : abi::kBfloat;
}

unsigned components(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : vector->getNumElements();
}

bool says_nothing(const llvm::User* user) {
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  return intrinsic != nullptr && (intrinsic->isLifetimeStartOrEnd() || llvm::isa<llvm::DbgInfoIntrinsic>(intrinsic));
}

}  // namespace

// ---- arrays that only their lane can reach

void Shadow::find_arrays() {
  llvm::SmallVector<llvm::AllocaInst*> variables;
  for (auto& instruction : llvm::instructions(*kernel_.entry_)) {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
  }
  for (auto* variable : variables) {
    auto* element = only_element(*variable);
    const auto size = variable->getAllocationSize(layout_);
    if (element == nullptr || !size) continue;
    Builder builder(variable);
    const auto factor = static_cast<unsigned>(sizeof(double) / layout_.getTypeStoreSize(element).getFixedValue());
    auto* doubles =
        builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), size->getFixedValue() * factor), nullptr, "assay.shadow");
    doubles->setAlignment(llvm::Align(64));
    arrays_[variable] = {doubles, factor};
  }
}

// Whether an object is a variable of the lane that only ever holds integers, never the bits of a number.
bool Shadow::holds_only_words(llvm::Value* object) {
  auto* variable = llvm::dyn_cast<llvm::AllocaInst>(object);
  if (variable == nullptr) return false;
  if (const auto found = only_words_.find(variable); found != only_words_.end()) return found->second;
  const auto look = [&] {
    llvm::SmallVector<llvm::Value*> rest{variable};
    while (!rest.empty()) {
      auto* pointer = rest.pop_back_val();
      for (auto* user : pointer->users()) {
        if (says_nothing(user) || llvm::isa<llvm::MemSetInst>(user)) continue;
        if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
          if (!load->getType()->isIntOrIntVectorTy()) return false;
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
          if (store->getPointerOperand() != pointer || store->getValueOperand() == pointer || may_carry(store->getValueOperand()))
            return false;
        } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
          rest.push_back(user);
        } else {
          return false;
        }
      }
    }
    return true;
  };
  return only_words_[variable] = look();
}

// The common type of all numbers in a variable. Null unless the variable is only read, written and zeroed, and its address
// does not escape.
llvm::Type* Shadow::only_element(llvm::AllocaInst& variable) const {
  llvm::Type* element = nullptr;
  const auto accept = [&](llvm::Type* type) {
    auto* scalar = type->getScalarType();
    if (!has_cells(scalar) || (element != nullptr && element != scalar)) return false;
    element = scalar;
    return true;
  };
  llvm::SmallVector<llvm::Value*> rest{&variable};
  while (!rest.empty()) {
    auto* pointer = rest.pop_back_val();
    for (auto* user : pointer->users()) {
      if (says_nothing(user)) continue;
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        if (!accept(load->getType())) return nullptr;
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->getPointerOperand() != pointer || store->getValueOperand() == pointer || !accept(store->getValueOperand()->getType()))
          return nullptr;
      } else if (const auto* set = llvm::dyn_cast<llvm::MemSetInst>(user)) {
        const auto* byte = llvm::dyn_cast<llvm::ConstantInt>(set->getValue());
        if (byte == nullptr || !byte->isZero()) return nullptr;
      } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
        rest.push_back(user);
      } else {
        return nullptr;
      }
    }
  }
  return element;
}

// The place of the shadow for the target of the pointer; null if it lies in no array.
llvm::Value* Shadow::place_in_array(Builder& builder, llvm::Value* pointer) {
  llvm::SmallVector<llvm::GEPOperator*> steps;
  auto* base = pointer;
  for (auto* step = llvm::dyn_cast<llvm::GEPOperator>(base); step != nullptr; step = llvm::dyn_cast<llvm::GEPOperator>(base)) {
    steps.push_back(step);
    base = step->getPointerOperand();
  }
  const auto found = arrays_.find(base);
  if (found == arrays_.end()) return nullptr;
  constexpr unsigned kWord = 64;
  llvm::Value* place = found->second.doubles;
  for (auto* step : llvm::reverse(steps)) {
    llvm::MapVector<llvm::Value*, llvm::APInt> variable;
    llvm::APInt constant(kWord, 0);
    step->collectOffset(layout_, kWord, variable, constant);
    for (const auto& [index, scale] : variable) {
      auto* word = builder.CreateSExtOrTrunc(index, builder.getInt64Ty());
      place = builder.CreateGEP(builder.getInt8Ty(), place,
                                builder.CreateMul(word, builder.getInt64(scale.getZExtValue() * found->second.factor)));
    }
    if (!constant.isZero())
      place = builder.CreateGEP(builder.getInt8Ty(), place,
                                builder.getInt64(static_cast<std::uint64_t>(constant.getSExtValue()) * found->second.factor));
  }
  return place;
}

// ---- cells

llvm::Value* Shadow::cell(Builder& builder, llvm::Value* pointer, std::uint64_t offset) {
  auto* address = builder.CreateAdd(builder.CreatePtrToInt(pointer, builder.getInt64Ty()), builder.getInt64(offset));
  auto* place = builder.CreateMul(builder.CreateAnd(address, abi::kCellWindow - 1), builder.getInt64(abi::kCellBytes / abi::kCellGranule));
  return builder.CreateGEP(builder.getInt8Ty(), cells_, place);
}

// The tag of a cell for a number: its bits and its type.
llvm::Value* Shadow::tag(Builder& builder, llvm::Value* number) const {
  auto* element = number->getType();
  auto* bits = builder.CreateBitCast(number, builder.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue())));
  return builder.CreateOr(builder.CreateZExt(bits, builder.getInt64Ty()), (kind_of(element) + 1) << abi::kCellKindShift);
}

llvm::Value* Shadow::from_cells(Builder& builder, llvm::Value* pointer, llvm::Value* value) {
  auto* element = value->getType()->getScalarType();
  const auto bytes = layout_.getTypeStoreSize(element).getFixedValue();
  const auto one = [&](llvm::Value* number, std::uint64_t offset) {
    auto* place = cell(builder, pointer, offset);
    auto* shadow = builder.CreateAlignedLoad(builder.getDoubleTy(), place, llvm::Align(8));
    auto* owner = builder.CreateAlignedLoad(builder.getInt64Ty(), builder.CreateConstInBoundsGEP1_64(builder.getDoubleTy(), place, 1),
                                            llvm::Align(8));
    return builder.CreateSelect(builder.CreateICmpEQ(owner, tag(builder, number)), shadow, widened(builder, number));
  };
  if (!value->getType()->isVectorTy()) return one(value, 0);
  llvm::Value* result = llvm::PoisonValue::get(doubles_for(value->getType()));
  for (unsigned index = 0; index < components(value->getType()); ++index)
    result = builder.CreateInsertElement(result, one(builder.CreateExtractElement(value, index), index * bytes), index);
  return result;
}

void Shadow::to_cells(Builder& builder, llvm::Value* pointer, llvm::Value* value, llvm::Value* shadow) {
  auto* element = value->getType()->getScalarType();
  const auto bytes = layout_.getTypeStoreSize(element).getFixedValue();
  const bool is_vector = value->getType()->isVectorTy();
  for (unsigned index = 0; index < components(value->getType()); ++index) {
    auto* place = cell(builder, pointer, index * bytes);
    builder.CreateAlignedStore(is_vector ? builder.CreateExtractElement(shadow, index) : shadow, place, llvm::Align(8));
    builder.CreateAlignedStore(tag(builder, is_vector ? builder.CreateExtractElement(value, index) : value),
                               builder.CreateConstInBoundsGEP1_64(builder.getDoubleTy(), place, 1), llvm::Align(8));
  }
}

// ---- loads, stores and copies

llvm::Value* Shadow::load(llvm::LoadInst& load) {
  auto* pointer = load.getPointerOperand();
  Builder builder(behind(load));
  if (!has_cells(load.getType()->getScalarType()) || kernel_.is_runtime_state(*pointer)) return widened(builder, &load);
  if (auto* place = place_in_array(builder, pointer)) return builder.CreateAlignedLoad(doubles_for(load.getType()), place, llvm::Align(8));
  const Origin origin = kernel_.origin_of(pointer);
  if (origin.kind == Origin::Kind::program_constant) return widened(builder, &load);
  if (origin.kind != Origin::Kind::buffer) return from_cells(builder, pointer, &load);
  // Most buffers were written by the host only, and the host's values are exact.
  auto* is_shadowed = builder.CreateICmpNE(builder.CreateAnd(shadowed_buffers_, 1u << origin.buffer), builder.getInt32(0));
  llvm::Instruction* rare = nullptr;
  llvm::Instruction* usual = nullptr;
  auto* rest = &*builder.GetInsertPoint();
  llvm::SplitBlockAndInsertIfThenElse(is_shadowed, rest, &rare, &usual, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  Builder seldom(rare);
  auto* looked_up = from_cells(seldom, pointer, &load);
  Builder mostly(usual);
  auto* exact = widened(mostly, &load);
  Builder merge(rest);
  auto* result = merge.CreatePHI(exact->getType(), 2);
  result->addIncoming(looked_up, rare->getParent());
  result->addIncoming(exact, usual->getParent());
  return result;
}

void Shadow::store(llvm::StoreInst& store) {
  auto* pointer = store.getPointerOperand();
  auto* value = store.getValueOperand();
  if (kernel_.is_runtime_state(*pointer)) return;
  Builder builder(store.getNextNode());
  auto* type = value->getType();
  if (has_cells(type->getScalarType())) {
    auto* shadow = of(value);
    if (auto* place = place_in_array(builder, pointer)) {
      builder.CreateAlignedStore(shadow, place, llvm::Align(8));
    } else {
      to_cells(builder, pointer, value, shadow);
    }
    return;
  }
  // Loads the shadows of the parts of a word, or of a double that carries two floats.
  if (!type->isIntOrIntVectorTy() && !type->getScalarType()->isDoubleTy()) return;
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
  const bool only_words = holds_only_words(llvm::getUnderlyingObject(pointer, 0));
  constexpr unsigned kGranuleBits = 8 * abi::kCellGranule;
  for (unsigned bit = 0; bit + kGranuleBits <= bits; bit += kGranuleBits) {
    auto* content = of_bits(value, bit, granule());
    if (!only_words) builder.CreateAlignedStore(content, cell(builder, pointer, bit / 8), llvm::Align(8));
  }
}

void Shadow::copy(llvm::MemTransferInst& transfer) {
  Builder builder(transfer.getNextNode());
  call_copy(builder, transfer.getDest(), transfer.getSource(), transfer.getLength());
}

void Shadow::fill(llvm::MemSetInst& fill) {
  Builder builder(fill.getNextNode());
  auto* object = llvm::getUnderlyingObject(fill.getDest(), 0);
  auto* length = builder.CreateZExtOrTrunc(fill.getLength(), builder.getInt64Ty());
  if (auto* place = place_in_array(builder, fill.getDest())) {
    builder.CreateMemSet(place, builder.getInt8(0), builder.CreateMul(length, builder.getInt64(arrays_[object].factor)), llvm::Align(8));
  } else if (!holds_only_words(object)) {
    // Otherwise a zero could get the shadow of an earlier number that was rounded to zero at this address.
    builder.CreateMemSet(cell(builder, fill.getDest(), 0), builder.getInt8(0),
                         builder.CreateMul(length, builder.getInt64(abi::kCellBytes / abi::kCellGranule)), llvm::Align(8));
  }
}

void Shadow::call_copy(Builder& builder, llvm::Value* destination, llvm::Value* source, llvm::Value* bytes) {
  kernel_.call_service(builder, abi::kCopyShadows, 0, {destination, source, builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty())},
                       builder.getVoidTy());
}

}  // namespace assay::metal::pass

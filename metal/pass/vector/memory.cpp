// Memory accesses of a SIMD-group: one access where the lanes' addresses follow each other, and gathers and scatters elsewhere.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {

// The addresses of a pointer in all lanes.
llvm::Value* Widener::pointers(Value* pointer) { return wide_one(pointer); }

// The address computation of `step` from another start: of one lane, or of all lanes. Inside of an interleaved variable, a byte of a lane
// is 32 bytes.
llvm::Value* Widener::stepped(llvm::GetElementPtrInst& step, Value* from, llvm::function_ref<Value*(Value*)> index_of, bool of_all) {
  const std::uint64_t spread = shapes_.is_interleaved(step.getPointerOperand()) ? abi::kLanes : 1;
  llvm::MapVector<Value*, llvm::APInt> scales;
  llvm::APInt constant(64, 0);
  if (!step.collectOffset(data_, 64, scales, constant)) {
    refuse("an address that is not known");
    return from;
  }
  auto* type = of_all ? vector_of(builder_.getInt64Ty()) : builder_.getInt64Ty();
  const auto add = [&](Value* offset) { from = builder_.CreateGEP(builder_.getInt8Ty(), from, offset); };
  for (const auto& [index, scale] : scales) {
    auto* value = builder_.CreateSExtOrTrunc(index_of(index), type);
    add(builder_.CreateMul(value, llvm::ConstantInt::get(type, static_cast<std::uint64_t>(scale.getSExtValue()) * spread)));
  }
  if (constant != 0) add(builder_.getInt64(static_cast<std::uint64_t>(constant.getSExtValue()) * spread));
  return from;
}

// Whether the lanes' accesses of the type follow each other without gaps.
bool Widener::is_dense(const Shape& shape, llvm::Type* type) const {
  if (!shape.is_spaced() || !llvm::isPowerOf2_64(components(type).size())) return false;
  const auto bytes = static_cast<std::int64_t>(bytes_of(type));
  for (std::size_t lane = 0; lane < abi::kLanes; ++lane) {
    if (shape.offsets[lane] != bytes * static_cast<std::int64_t>(lane)) return false;
  }
  return true;
}

// Reads the components of all lanes, which begin at `from` and follow each other.
Widener::Parts Widener::load_near(Value* from, llvm::Type* type, llvm::Align align) {
  const auto parts = components(type);
  auto* all = llvm::FixedVectorType::get(parts.front(), static_cast<unsigned>(abi::kLanes * parts.size()));
  Value* loaded = nullptr;
  if (lanes_ == nullptr) {
    loaded = builder_.CreateAlignedLoad(all, from, align);
  } else {
    loaded = builder_.CreateMaskedLoad(all, from, align, interleaved(Parts(parts.size(), lanes_)), llvm::Constant::getNullValue(all));
  }
  return deinterleaved(loaded, parts.size());
}

// One number of 4 or 8 bytes, or a part of the word that contains it, from each address.
llvm::Value* Widener::gather_words(Value* pointers, llvm::Type* element, llvm::Align align) {
  const std::uint64_t bytes = bytes_of(element);
  if (bytes >= 4)
    return builder_.CreateMaskedGather(vector_of(element), pointers, align, lanes(), llvm::Constant::getNullValue(vector_of(element)));
  auto* type = vector_of(builder_.getInt64Ty());
  auto* addresses = builder_.CreatePtrToInt(pointers, type);
  auto* below = builder_.CreateAnd(addresses, llvm::ConstantInt::get(type, 3));
  auto* words = vector_of(builder_.getInt32Ty());
  auto* aligned = builder_.CreateGEP(builder_.getInt8Ty(), pointers, builder_.CreateNeg(below));
  Value* word = builder_.CreateMaskedGather(words, aligned, llvm::Align(4), lanes(), llvm::Constant::getNullValue(words));
  word = builder_.CreateLShr(word, builder_.CreateShl(builder_.CreateTrunc(below, words), llvm::ConstantInt::get(words, 3)));
  auto* narrow = vector_of(builder_.getIntNTy(static_cast<unsigned>(8 * bytes)));
  return builder_.CreateBitCast(builder_.CreateTrunc(word, narrow), vector_of(element));
}

Widener::Parts Widener::gather(Value* pointers, llvm::Type* type, llvm::Align align) {
  const auto parts = components(type);
  auto* element = parts.front();
  const std::uint64_t size = bytes_of(element);
  const std::uint64_t all = size * parts.size();
  const auto at = [&](std::uint64_t offset) {
    return offset == 0 ? pointers : builder_.CreateGEP(builder_.getInt8Ty(), pointers, builder_.getInt64(offset));
  };
  // Several small components are one word.
  const std::uint64_t word = all % 8 == 0 ? 8 : 4;
  if (parts.size() > 1 && size < word && all % word == 0 && llvm::isPowerOf2_64(parts.size()) && !element->isPointerTy()) {
    Parts result;
    auto* word_type = builder_.getIntNTy(static_cast<unsigned>(8 * word));
    const std::size_t per_word = word / size;
    for (std::uint64_t offset = 0; offset < all; offset += word) {
      auto* words = gather_words(at(offset), word_type, align);
      auto* elements = llvm::FixedVectorType::get(element, static_cast<unsigned>(abi::kLanes * per_word));
      result.append(deinterleaved(builder_.CreateBitCast(words, elements), per_word));
    }
    return result;
  }
  Parts result;
  for (std::size_t part = 0; part < parts.size(); ++part) result.push_back(gather_words(at(part * size), element, align));
  return result;
}

// A small table of constants fits into registers.
bool Widener::looked_up(llvm::LoadInst& load) {
  auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(load.getPointerOperand());
  auto* table = step == nullptr ? nullptr : llvm::dyn_cast<llvm::GlobalVariable>(step->getPointerOperand());
  // In another divergent block, the index may not be at hand.
  if (table != nullptr && shapes_.is_divergent(step->getParent()) && step->getParent() != load.getParent()) return false;
  if (table == nullptr || !table->isConstant() || !table->hasDefinitiveInitializer()) return false;
  const auto* array = llvm::dyn_cast<llvm::ArrayType>(table->getValueType());
  auto* element = load.getType();
  if (array == nullptr || array->getElementType() != element || !(element->isFloatTy() || element->isIntegerTy(32))) return false;
  llvm::MapVector<Value*, llvm::APInt> scales;
  llvm::APInt constant(64, 0);
  if (!step->collectOffset(data_, 64, scales, constant) || scales.size() != 1 || constant != 0 || scales.front().second != 4) return false;
  constexpr std::uint64_t kRegister = 16;
  const std::uint64_t count = array->getNumElements();
  auto* index = scales.front().first;
  const auto known = llvm::computeKnownBits(index, data_);
  if (count > 2 * kRegister || known.getMaxValue().uge(count)) return false;
  llvm::SmallVector<llvm::StringRef> features;
  lane_function_.getFnAttribute("target-features").getValueAsString().split(features, ',');
  if (!llvm::is_contained(features, "+avx512f")) return false;
  auto* half = llvm::FixedVectorType::get(builder_.getInt32Ty(), kRegister);
  const auto sixteen = [&](std::uint64_t first) {
    llvm::SmallVector<llvm::Constant*> elements;
    for (std::uint64_t at = first; at < first + kRegister; ++at) {
      auto* value =
          at < count ? table->getInitializer()->getAggregateElement(static_cast<unsigned>(at)) : llvm::Constant::getNullValue(element);
      elements.push_back(element->isFloatTy()
                             ? llvm::ConstantInt::get(builder_.getInt32Ty(),
                                                      llvm::cast<llvm::ConstantFP>(value)->getValueAPF().bitcastToAPInt().getZExtValue())
                             : value);
    }
    return llvm::ConstantVector::get(elements);
  };
  auto* indices = builder_.CreateZExtOrTrunc(wide_one(index), vector_of(builder_.getInt32Ty()));
  llvm::SmallVector<Value*> halves;
  for (const int first : {0, 16}) {
    llvm::SmallVector<int> mask;
    for (int lane = first; lane < first + 16; ++lane) mask.push_back(lane);
    auto* part = builder_.CreateShuffleVector(indices, mask);
    halves.push_back(count <= kRegister ? builder_.CreateIntrinsic(half, llvm::Intrinsic::x86_avx512_permvar_si_512, {sixteen(0), part})
                                        : builder_.CreateIntrinsic(half, llvm::Intrinsic::x86_avx512_vpermi2var_d_512,
                                                                   {sixteen(0), part, sixteen(kRegister)}));
  }
  llvm::SmallVector<int> both;
  for (int lane = 0; lane < static_cast<int>(abi::kLanes); ++lane) both.push_back(lane);
  set_wide(load, {builder_.CreateBitCast(builder_.CreateShuffleVector(halves[0], halves[1], both), vector_of(element))});
  return true;
}

void Widener::widen_load(llvm::LoadInst& load) {
  if (!load.isSimple() || load.getType()->isAggregateType()) return refuse("a load of a kind that is not known");
  auto* pointer = load.getPointerOperand();
  auto* type = load.getType();
  const Shape& shape = shapes_.of(pointer);
  if (looked_up(load)) return;
  const auto parts = components(type);
  const bool is_odd =
      bytes_of(parts.front()) > 8 || (parts.front()->isIntegerTy() && bytes_of(parts.front()) * 8 != parts.front()->getIntegerBitWidth());
  if (is_odd) return lane_by_lane(load);
  const auto* variable = Shapes::variable_of(pointer);
  if (variable != nullptr && shapes_.layout(variable).is_interleaved) {
    // Components of a lane are 32 units apart.
    const std::uint64_t unit = shapes_.layout(variable).unit;
    Parts result;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      auto* offset = builder_.getInt64(part * unit * abi::kLanes);
      if (shape.is_spaced() && !shape.is_assumed && is_dense(shape, parts.front())) {
        result.append(load_near(builder_.CreateGEP(builder_.getInt8Ty(), base(pointer), offset), parts.front(), llvm::Align(unit)));
      } else {
        result.push_back(
            gather_words(builder_.CreateGEP(builder_.getInt8Ty(), pointers(pointer), offset), parts.front(), llvm::Align(unit)));
      }
    }
    return set_wide(load, std::move(result));
  }
  const std::uint64_t bytes = bytes_of(parts.front());
  const bool is_near = is_dense(shape, type);
  const bool is_whole = bytes >= 4 || load.getAlign().value() >= bytes || parts.size() * bytes % 4 == 0;
  const auto far = [&] { return gather(pointers(pointer), type, load.getAlign()); };
  if (!is_near) {
    if (!is_whole) return lane_by_lane(load);
    return set_wide(load, far());
  }
  auto* condition = holds(pointer);
  auto* first = base(pointer);
  if (condition == nullptr) return set_wide(load, load_near(first, type, load.getAlign()));
  set_wide(load, load_if_near(load, condition, is_whole));
}

// Reads what the lanes' addresses follow each other for if the condition holds, and otherwise from each address.
Widener::Parts Widener::load_if_near(llvm::LoadInst& load, Value* condition, bool is_whole) {
  auto* pointer = load.getPointerOperand();
  auto* type = load.getType();
  auto* first = base(pointer);
  auto* all_addresses = pointers(pointer);
  auto* near = new_block("near");
  auto* apart = new_block("far");
  auto* loaded = new_block("loaded");
  builder_.CreateCondBr(condition, near, apart);
  builder_.SetInsertPoint(near);
  const Parts of_near = load_near(first, type, load.getAlign());
  auto* near_end = builder_.GetInsertBlock();
  builder_.CreateBr(loaded);
  builder_.SetInsertPoint(apart);
  Parts of_far;
  if (is_whole) {
    of_far = gather(all_addresses, type, load.getAlign());
  } else {
    give_up(0);
    for (auto* part : of_near) of_far.push_back(llvm::PoisonValue::get(part->getType()));
  }
  auto* far_end = builder_.GetInsertBlock();
  builder_.CreateBr(loaded);
  builder_.SetInsertPoint(loaded);
  Parts result;
  for (std::size_t part = 0; part < of_near.size(); ++part) {
    auto* phi = builder_.CreatePHI(of_near[part]->getType(), 2);
    phi->addIncoming(of_near[part], near_end);
    phi->addIncoming(of_far[part], far_end);
    result.push_back(phi);
  }
  return result;
}

llvm::Type* Widener::stored_vector(llvm::Type* type) {
  const auto parts = components(type);
  return llvm::FixedVectorType::get(parts.front(), static_cast<unsigned>(parts.size()));
}

// Lanes that write the same place write one after the other, ascending.
void Widener::scatter(Value* addresses, llvm::Type* type, const Parts& parts, llvm::Align align) {
  auto* element = parts.front()->getType()->getScalarType();
  if (parts.size() == 1 && bytes_of(element) >= 4 && !element->isIntegerTy(1)) {
    builder_.CreateMaskedScatter(parts.front(), addresses, align, lanes());
    return;
  }
  auto* to = array_of(builder_.getPtrTy());
  builder_.CreateStore(addresses, to);
  llvm::SmallVector<llvm::AllocaInst*> from;
  const bool is_bit = element->isIntegerTy(1);
  for (auto* part : parts) {
    from.push_back(array_of(is_bit ? builder_.getInt8Ty() : element));
    builder_.CreateStore(is_bit ? builder_.CreateZExt(part, vector_of(builder_.getInt8Ty())) : part, from.back());
  }
  for_each_lane([&](Value* lane) {
    const auto value = [&](llvm::AllocaInst* array) {
      return builder_.CreateLoad(llvm::cast<llvm::ArrayType>(array->getAllocatedType())->getElementType(),
                                 builder_.CreateGEP(array->getAllocatedType(), array, {builder_.getInt64(0), lane}));
    };
    Value* whole = nullptr;
    if (type->isVectorTy()) {
      whole = llvm::PoisonValue::get(stored_vector(type));
      for (unsigned part = 0; part < from.size(); ++part) whole = builder_.CreateInsertElement(whole, value(from[part]), part);
    } else {
      whole = value(from.front());
      if (is_bit) whole = builder_.CreateTrunc(whole, element);
    }
    builder_.CreateAlignedStore(whole, value(to), align);
  });
  release_arrays();
}

// Writes the value of each lane that runs the current block.
void Widener::store_parts(Value* pointer, llvm::Type* type, const Parts& parts, llvm::Align align) {
  const Shape& shape = shapes_.of(pointer);
  auto* element = parts.front()->getType()->getScalarType();
  if (shape.is_uniform()) {
    // The last lane's value stays.
    auto* last = lanes_ == nullptr
                     ? static_cast<Value*>(builder_.getInt32(abi::kLanes - 1))
                     : builder_.CreateSub(builder_.getInt32(abi::kLanes - 1),
                                          builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits_of_lanes(), builder_.getTrue()));
    Value* whole = type->isVectorTy() ? llvm::PoisonValue::get(stored_vector(type)) : builder_.CreateExtractElement(parts.front(), last);
    if (type->isVectorTy()) {
      for (unsigned part = 0; part < parts.size(); ++part)
        whole = builder_.CreateInsertElement(whole, builder_.CreateExtractElement(parts[part], last), part);
    }
    builder_.CreateAlignedStore(whole, scalar(pointer), align);
    return;
  }
  const bool is_bit = element->isIntegerTy(1);
  const auto near = [&](Value* from) {
    auto* all = interleaved(parts);
    if (lanes_ == nullptr) {
      builder_.CreateAlignedStore(all, from, align);
    } else {
      builder_.CreateMaskedStore(all, from, align, interleaved(Parts(parts.size(), lanes_)));
    }
  };
  if (!is_dense(shape, type) || is_bit) return scatter(pointers(pointer), type, parts, align);
  auto* condition = holds(pointer);
  auto* first = base(pointer);
  if (condition == nullptr) return near(first);
  auto* addresses = pointers(pointer);
  auto* together = new_block("near");
  auto* apart = new_block("far");
  auto* stored = new_block("stored");
  builder_.CreateCondBr(condition, together, apart);
  builder_.SetInsertPoint(together);
  near(first);
  builder_.CreateBr(stored);
  builder_.SetInsertPoint(apart);
  scatter(addresses, type, parts, align);
  builder_.CreateBr(stored);
  builder_.SetInsertPoint(stored);
}

void Widener::widen_store(llvm::StoreInst& store) {
  if (!store.isSimple() || store.getValueOperand()->getType()->isAggregateType()) return refuse("a store of a kind that is not known");
  auto* pointer = store.getPointerOperand();
  auto* type = store.getValueOperand()->getType();
  const Parts parts = wide(store.getValueOperand());
  const auto* variable = Shapes::variable_of(pointer);
  if (variable == nullptr || !shapes_.layout(variable).is_interleaved) return store_parts(pointer, type, parts, store.getAlign());
  const std::uint64_t unit = shapes_.layout(variable).unit;
  const Shape& shape = shapes_.of(pointer);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    auto* offset = builder_.getInt64(part * unit * abi::kLanes);
    auto* element = parts[part]->getType()->getScalarType();
    if (shape.is_spaced() && !shape.is_assumed && is_dense(shape, element)) {
      auto* to = builder_.CreateGEP(builder_.getInt8Ty(), base(pointer), offset);
      if (lanes_ == nullptr) {
        builder_.CreateAlignedStore(parts[part], to, llvm::Align(unit));
      } else {
        builder_.CreateMaskedStore(parts[part], to, llvm::Align(unit), lanes_);
      }
    } else {
      scatter(builder_.CreateGEP(builder_.getInt8Ty(), pointers(pointer), offset), element, {parts[part]}, llvm::Align(unit));
    }
  }
}

void Widener::widen_fill(llvm::MemSetInst& fill) {
  auto* pointer = fill.getDest();
  const auto* variable = Shapes::variable_of(pointer);
  if (variable == nullptr || !shapes_.layout(variable).is_interleaved) return lane_by_lane(fill);
  const Shape& shape = shapes_.of(pointer);
  const std::uint64_t bytes = llvm::cast<llvm::ConstantInt>(fill.getLength())->getZExtValue();
  const std::uint64_t unit = shapes_.layout(variable).unit;
  const bool is_plain = shape.is_spaced() && !shape.is_assumed && shapes_.is_uniform(fill.getValue()) && bytes % unit == 0;
  if (!is_plain) return refuse("a fill of a local variable that differs between lanes");
  if (lanes_ == nullptr) {
    builder_.CreateMemSet(base(pointer), scalar(fill.getValue()), bytes * abi::kLanes, llvm::Align(unit));
    return;
  }
  // One masked store for each unit.
  auto* type = builder_.getIntNTy(static_cast<unsigned>(8 * unit));
  Value* word = builder_.CreateZExt(scalar(fill.getValue()), type);
  for (std::uint64_t width = 8; width < 8 * unit; width *= 2) word = builder_.CreateOr(word, builder_.CreateShl(word, width));
  auto* first = base(pointer);
  for (std::uint64_t at = 0; at < bytes; at += unit) {
    builder_.CreateMaskedStore(splat(word), builder_.CreateGEP(builder_.getInt8Ty(), first, builder_.getInt64(at * abi::kLanes)),
                               llvm::Align(unit), lanes_);
  }
}

}  // namespace assay::metal::pass

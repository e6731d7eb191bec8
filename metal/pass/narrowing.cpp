// Reports integer conversions that lose bits of an index: of a number that is computed from positions, parameters and loop counters, and
// that reaches the address of memory that lanes share or is compared with a bound.
//
// Kernels also narrow numbers on purpose, to take bits out of them. So what is computed from data is left alone, and so are hashes and
// parts of a number whose other bits the kernel takes too.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// Values that one search visits. A longer computation is not examined.
constexpr std::size_t kMostVisited = 4096;
// Odd constants from here on are factors of hashes and random numbers, not strides.
constexpr std::uint64_t kSmallestHashFactor = 4096;
constexpr unsigned kSmallestWidth = 8;

const llvm::Function* callee_of(const llvm::Value& value) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&value);
  return call == nullptr ? nullptr : call->getCalledFunction();
}

bool is_min_or_max(const llvm::Value& value) { return llvm::isa<llvm::MinMaxIntrinsic>(value); }

// A field of a struct, or a scalar: what lies at a constant offset of a buffer.
bool is_parameter(const llvm::LoadInst& load) {
  const llvm::Value* pointer = load.getPointerOperand();
  for (;;) {
    if (const auto* place = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
      if (!place->hasAllConstantIndices()) return false;
      pointer = place->getPointerOperand();
    } else if (const auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(pointer)) {
      pointer = cast->getPointerOperand();
    } else {
      const auto* callee = callee_of(*pointer);
      return callee != nullptr && callee->getName() == "__assay_buffer";
    }
  }
}

bool is_position(const llvm::Value& value) {
  const auto* callee = callee_of(value);
  return callee != nullptr && (callee->getName() == "__assay_builtin" || callee->getName() == "__assay_lane");
}

bool is_hash_factor(const llvm::Value& value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value);
  return constant != nullptr && constant->getValue()[0] && constant->getValue().abs().uge(kSmallestHashFactor);
}

// Whether an operation makes an index of indices.
bool is_of_indices(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Mul:
      return !is_hash_factor(*instruction.getOperand(0)) && !is_hash_factor(*instruction.getOperand(1));
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
    case llvm::Instruction::SExt:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::PHI:
    case llvm::Instruction::Select:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::ExtractElement:
    case llvm::Instruction::InsertElement:
    case llvm::Instruction::ShuffleVector:
      return true;
    default:
      return is_min_or_max(instruction);
  }
}

// The operands whose bits are in the result.
llvm::SmallVector<const llvm::Value*> parts_of(const llvm::Instruction& instruction) {
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return {choice->getTrueValue(), choice->getFalseValue()};
  if (const auto* element = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) return {element->getVectorOperand()};
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return {call->arg_begin(), call->arg_end()};
  return {instruction.op_begin(), instruction.op_end()};
}

// The variable of a lane that a load reads; null if it reads something else.
const llvm::AllocaInst* variable_of(const llvm::Value& value) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(&value);
  return load == nullptr ? nullptr : llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(load->getPointerOperand()));
}

// Adds what is stored in a variable that stayed in memory, such as a vector with a subscript. Returns false if that is not known. The
// compiler copies vectors as larger numbers: then what counts is stored in the variable that is copied. Otherwise a number of another type
// is several in one.
bool add_stored(const llvm::LoadInst& load, llvm::SmallVectorImpl<const llvm::Value*>& values) {
  const auto* first = variable_of(load);
  if (first == nullptr) return false;
  llvm::SmallPtrSet<const llvm::AllocaInst*, 8> variables{first};
  llvm::SmallVector<const llvm::Value*> pointers{first};
  const auto is_copy = [&](const llvm::Value& from) {
    const auto* variable = variable_of(from);
    if (variable != nullptr && variables.insert(variable).second) pointers.push_back(variable);
    return variable != nullptr;
  };
  while (!pointers.empty()) {
    const auto* pointer = pointers.pop_back_val();
    for (const auto* user : pointer->users()) {
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        const auto* value = store->getValueOperand();
        if (value == pointer) return false;
        if (value->getType()->getScalarType() == load.getType())
          values.push_back(value);
        else if (!is_copy(*value))
          return false;
      } else if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user)) {
        if (copy->getRawDest() != pointer) continue;
        const auto* source = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(copy->getRawSource()));
        if (source == nullptr) return false;
        if (variables.insert(source).second) pointers.push_back(source);
      } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
        pointers.push_back(user);
      } else if (!llvm::isa<llvm::LoadInst>(user) && !llvm::isa<llvm::MemSetInst>(user) &&
                 !llvm::cast<llvm::Instruction>(user)->isLifetimeStartOrEnd()) {
        return false;
      }
    }
  }
  return true;
}

bool is_index(const llvm::Value& value) {
  llvm::SmallPtrSet<const llvm::Value*, 32> seen;
  llvm::SmallVector<const llvm::Value*> open{&value};
  while (!open.empty()) {
    const auto* one = open.pop_back_val();
    if (llvm::isa<llvm::Constant>(one) || is_position(*one) || !seen.insert(one).second) continue;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(one);
    if (instruction == nullptr || seen.size() > kMostVisited) return false;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      if (!is_parameter(*load) && !add_stored(*load, open)) return false;
      continue;
    }
    if (!is_of_indices(*instruction)) return false;
    open.append(parts_of(*instruction));
  }
  return true;
}

bool is_right_shift(const llvm::Value& value) {
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&value);
  return operation != nullptr && (operation->getOpcode() == llvm::Instruction::LShr || operation->getOpcode() == llvm::Instruction::AShr);
}

// Whether the conversion takes bits out of a number on purpose: it is shifted, or the bits that are lost here are used elsewhere.
bool takes_bits_out(const llvm::TruncInst& narrowing) {
  const llvm::Value* value = narrowing.getOperand(0);
  while (llvm::isa<llvm::SExtInst>(value) || llvm::isa<llvm::ZExtInst>(value)) value = llvm::cast<llvm::CastInst>(value)->getOperand(0);
  const auto* both = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (is_right_shift(*value) || (both != nullptr && both->getOpcode() == llvm::Instruction::Or)) return true;
  return llvm::any_of(value->users(), [&](const llvm::User* user) {
    if (!is_right_shift(*user) || user->getOperand(0) != value) return false;
    const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(user->getOperand(1));
    return distance != nullptr && distance->getValue().uge(narrowing.getType()->getIntegerBitWidth());
  });
}

// Whether no value can lose bits.
bool is_safe(const llvm::TruncInst& narrowing, const llvm::DataLayout& layout) {
  const auto* value = narrowing.getOperand(0);
  const unsigned lost = value->getType()->getIntegerBitWidth() - narrowing.getType()->getIntegerBitWidth();
  return llvm::ComputeNumSignBits(value, layout) > lost || llvm::computeKnownBits(value, layout).countMinLeadingZeros() > lost;
}

// Whether the operation's result depends on the high bits of its operand. A mask and a power of two as divisor of a remainder do not.
bool hands_on(const llvm::Instruction& user, const llvm::Value& value) {
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&user)) return choice->getCondition() != &value;
  if (const auto* element = llvm::dyn_cast<llvm::ExtractElementInst>(&user)) return element->getVectorOperand() == &value;
  if (user.getOpcode() == llvm::Instruction::And) return false;
  if (user.getOpcode() == llvm::Instruction::URem || user.getOpcode() == llvm::Instruction::SRem) {
    const auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(user.getOperand(1));
    return divisor == nullptr || !divisor->getValue().isPowerOf2();
  }
  return is_of_indices(user) || llvm::isa<llvm::GetElementPtrInst>(user) || llvm::isa<llvm::AddrSpaceCastInst>(user);
}

// The pointer through which an instruction accesses memory, if it is `value`.
const llvm::Value* accessed_through(const llvm::Instruction& instruction, const llvm::Value& value) {
  if (llvm::getLoadStorePointerOperand(&instruction) == &value) return &value;
  if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
    const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory);
    const bool is_source = transfer != nullptr && transfer->getRawSource() == &value;
    return memory->getRawDest() == &value || is_source ? &value : nullptr;
  }
  const auto* callee = callee_of(instruction);
  const bool is_atomic = callee != nullptr && callee->getName() == "__assay_atomic";
  return is_atomic && instruction.getOperand(2) == &value ? &value : nullptr;
}

// A test for equality may ask for the low bits on purpose, as in "every 256th".
bool is_compared(const llvm::Instruction& user) {
  const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&user);
  return comparison != nullptr && comparison->isRelational() && comparison->getOperand(0)->getType()->isIntegerTy();
}

// How the users of a narrowed number extend it.
struct Extension {
  bool is_signed = false, is_unsigned = false;
};

Extension extension_of(const llvm::Value& value) {
  Extension result;
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  llvm::SmallVector<const llvm::Value*> open{&value};
  while (!open.empty()) {
    const auto* one = open.pop_back_val();
    if (!seen.insert(one).second) continue;
    for (const auto* user : one->users()) {
      if (llvm::isa<llvm::SExtInst>(user)) result.is_signed = true;
      if (llvm::isa<llvm::ZExtInst>(user)) result.is_unsigned = true;
      if (user->getType() == value.getType()) open.push_back(user);
    }
  }
  return result;
}

}  // namespace

// Whether an address or a comparison depends on the value.
bool Lockstep::decides_access(const llvm::Value& value) {
  llvm::SmallPtrSet<const llvm::Value*, 32> seen;
  llvm::SmallVector<const llvm::Value*> open{&value};
  while (!open.empty() && seen.size() < kMostVisited) {
    const auto* one = open.pop_back_val();
    if (!seen.insert(one).second) continue;
    for (const auto* user : one->users()) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (instruction == nullptr) continue;
      if (is_compared(*instruction)) return true;
      if (const auto* pointer = accessed_through(*instruction, *one); pointer != nullptr && object_of(pointer)) return true;
      if (hands_on(*instruction, *one)) open.push_back(instruction);
    }
  }
  return false;
}

// Call it before meeting points become calls of the runtime, which hide addresses.
void Lockstep::find_narrowings() {
  const auto& layout = module_.getDataLayout();
  for (auto& instruction : llvm::instructions(*entry_)) {
    auto* narrowing = llvm::dyn_cast<llvm::TruncInst>(&instruction);
    if (narrowing == nullptr || !narrowing->getType()->isIntegerTy() || narrowing->getType()->getIntegerBitWidth() < kSmallestWidth)
      continue;
    if (is_safe(*narrowing, layout) || takes_bits_out(*narrowing) || !is_index(*narrowing->getOperand(0))) continue;
    if (decides_access(*narrowing)) narrowings_.emplace_back(narrowing);
  }
}

// A negative number that its users extend without a sign is not reported: there, counters of loops end that count down.
void Lockstep::watch_narrowings() {
  for (const auto& found : narrowings_) {
    auto* narrowing = llvm::dyn_cast_or_null<llvm::TruncInst>(found);
    if (narrowing == nullptr) continue;
    const Extension extension = extension_of(*narrowing);
    const bool is_signed = extension.is_signed && !extension.is_unsigned;
    auto* value = narrowing->getOperand(0);
    llvm::IRBuilder<> builder(narrowing->getNextNode());
    llvm::Value* is_lost = builder.CreateICmpNE(builder.CreateSExt(narrowing, value->getType()), value);
    if (!is_signed) is_lost = builder.CreateAnd(is_lost, builder.CreateICmpNE(builder.CreateZExt(narrowing, value->getType()), value));
    further_accesses_.push_back({{0, 1, abi::kAnyObject, 0}, place_of(*narrowing)});
    const auto number = static_cast<std::uint32_t>(ordered_.size() + further_accesses_.size() - 1);
    auto* unlikely = llvm::MDBuilder(context_).createUnlikelyBranchWeights();
    llvm::IRBuilder<> rare(llvm::SplitBlockAndInsertIfThen(is_lost, &*builder.GetInsertPoint(), false, unlikely));
    const std::uint32_t type = narrowing->getType()->getIntegerBitWidth() | (is_signed ? abi::kSignedIndex : 0);
    auto* call = call_service(rare, abi::kNarrowed, number,
                              {rare.CreateIntCast(value, rare.getInt64Ty(), is_signed),
                               rare.CreateIntCast(narrowing, rare.getInt64Ty(), is_signed), rare.getInt32(type)},
                              rare.getVoidTy());
    // The call writes no memory of the kernel, so what the optimiser knows about memory stays true.
    call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    call->addFnAttr(llvm::Attribute::Cold);
  }
}

}  // namespace assay::metal::pass

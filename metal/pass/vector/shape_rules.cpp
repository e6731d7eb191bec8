// What each instruction makes of the shapes of its operands.
#include "metal/pass/vector/shapes.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/ConstantFold.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/MathExtras.h>

namespace assay::metal::pass {
namespace {

// The number as its type keeps it, extended with its sign.
std::int64_t wrapped(std::int64_t value, unsigned bits) {
  return bits >= 64 ? value : llvm::SignExtend64(static_cast<std::uint64_t>(value), bits);
}

unsigned bits_of_integer(const llvm::Type* type) { return type->isIntegerTy() ? type->getIntegerBitWidth() : 64; }

template <typename Number>
Shape shaped(const Shape& like, Number&& number) {
  Shape result = like;
  for (std::size_t lane = 0; lane < abi::kLanes; ++lane) result.offsets[lane] = number(lane);
  return result;
}

// The values of an absolute shape, and back.
LaneOffsets values_of(const Shape& shape) {
  LaneOffsets values = shape.offsets;
  for (auto& value : values) value += shape.first;
  return values;
}
Shape absolute(const LaneOffsets& values, unsigned bits) {
  Shape shape = Shape::uniform();
  shape.is_absolute = true;
  shape.first = wrapped(values[0], bits);
  for (std::size_t lane = 0; lane < abi::kLanes; ++lane) shape.offsets[lane] = wrapped(values[lane] - shape.first, bits);
  return shape;
}

Shape lanes_per(std::uint32_t divisor, std::uint32_t modulus, bool is_absolute) {
  LaneOffsets values{};
  for (std::uint32_t lane = 0; lane < abi::kLanes; ++lane) values[lane] = lane / divisor % modulus;
  Shape shape = absolute(values, 32);
  shape.is_absolute = is_absolute;
  if (!is_absolute) shape.first = 0;
  return shape;
}

}  // namespace

Shape Shapes::transfer(llvm::Instruction& instruction) {
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) return of_phi(*phi);
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    const PrivateLayout& layout = layouts_[variable];
    const auto distance = static_cast<std::int64_t>(layout.is_interleaved ? layout.unit : layout.stride);
    return shaped(Shape::uniform(), [&](std::size_t lane) { return distance * static_cast<std::int64_t>(lane); });
  }
  for (const auto& operand : instruction.operands()) {
    if (of(operand.get()).kind == Shape::Kind::unknown) return {};
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return of_load(*load);
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return of_call(*call);
  const bool is_uniform_in = llvm::all_of(instruction.operands(), [&](const llvm::Use& operand) { return is_uniform(operand.get()); });
  const bool is_number = instruction.getType()->isIntegerTy() || instruction.getType()->isPointerTy();
  if (is_number) {
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return of_cast(*cast);
    if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return of_binary(*operation);
    if (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) return of_step(*step);
    if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return of_select(*choice);
    if (llvm::isa<llvm::FreezeInst>(instruction)) return of(instruction.getOperand(0));
  }
  return is_uniform_in ? Shape::uniform() : Shape::varying();
}

// Whether lanes with different values may come together at the phi. At the header of a loop, all lanes that run come from the same edge.
bool Shapes::merges_lanes(const llvm::PHINode& phi) const {
  const auto* block = phi.getParent();
  const auto* loop = loops_.getLoopFor(block);
  if (loop != nullptr && loop->getHeader() == block) return false;
  if (phi.getNumIncomingValues() < 2) return false;
  return is_divergent(block) ||
         llvm::any_of(phi.blocks(), [&](const Block* from) { return is_divergent(from) || decides_divergently(*from); });
}

bool Shapes::leaves_divergent_loop(const llvm::PHINode& phi, const llvm::Value* value) const {
  const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (made == nullptr) return false;
  for (const auto* loop = loops_.getLoopFor(made->getParent()); loop != nullptr && !loop->contains(phi.getParent());
       loop = loop->getParentLoop()) {
    if (divergent_loops_.contains(loop)) return true;
  }
  return false;
}

Shape Shapes::of_phi(llvm::PHINode& phi) const {
  const llvm::Value* only = phi.hasConstantValue();
  if (merges_lanes(phi) && only == nullptr) return Shape::varying();
  const bool is_number = phi.getType()->isIntegerTy() || phi.getType()->isPointerTy();
  Shape result;
  for (const auto& incoming : phi.incoming_values()) {
    const llvm::Value* value = incoming.get();
    if (leaves_divergent_loop(phi, value)) return Shape::varying();
    const Shape& shape = of(value);
    if (shape.kind == Shape::Kind::unknown || value == &phi) continue;
    if (shape.kind == Shape::Kind::varying) return Shape::varying();
    if (shape.is_assumed && !shape.is_uniform()) return Shape::varying();
    if (result.kind == Shape::Kind::unknown) {
      result = shape;
    } else if (result.offsets != shape.offsets) {
      return Shape::varying();
    }
    if (phi.getNumIncomingValues() > 1 || !shape.is_absolute) {
      result.is_absolute = false;
      result.first = 0;
    }
  }
  if (!is_number && result.kind == Shape::Kind::spaced && !result.is_uniform()) return Shape::varying();
  return result;
}

Shape Shapes::of_member(std::uint64_t offset) {
  const std::uint64_t index = (offset - offsetof(abi::Lane, builtins)) / sizeof(std::uint32_t);
  if (offset < offsetof(abi::Lane, builtins) || index >= abi::kBuiltinCount * 3) return Shape::uniform();
  switch (index / 3) {
    case abi::kThreadPositionInGrid:
    case abi::kThreadPositionInThreadgroup:
      needs_rows_ = true;
      return index % 3 == 0 ? lanes_per(1, abi::kLanes, false) : Shape::uniform();
    case abi::kThreadIndexInThreadgroup:
      return index % 3 == 0 ? lanes_per(1, abi::kLanes, false) : Shape::uniform();
    case abi::kThreadIndexInSimdgroup:
      return index % 3 == 0 ? lanes_per(1, abi::kLanes, true) : Shape::uniform();
    case abi::kThreadIndexInQuadgroup:
      return index % 3 == 0 ? lanes_per(1, 4, true) : Shape::uniform();
    case abi::kQuadgroupIndexInThreadgroup:
      return index % 3 == 0 ? lanes_per(4, abi::kLanes, false) : Shape::uniform();
    default:
      return Shape::uniform();
  }
}

Shape Shapes::of_load(const llvm::LoadInst& load) {
  if (const auto offset = member(load.getPointerOperand())) {
    if (!load.getType()->isIntegerTy(32) && *offset < offsetof(abi::Lane, kept_buffers)) return Shape::varying();
    return of_member(*offset);
  }
  return is_uniform(load.getPointerOperand()) ? Shape::uniform() : Shape::varying();
}

Shape Shapes::of_call(const llvm::CallBase& call) const {
  if (const auto service = requested_service(call)) {
    constexpr std::uint32_t kFirstScan = 7;
    constexpr std::uint32_t kBroadcastFirst = 9;
    const std::uint32_t operation = operation_of_word(call);
    const auto width = [&](unsigned index) {
      const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index));
      return constant == nullptr ? 0 : constant->getZExtValue();
    };
    switch (*service) {
      case abi::kSimdReduceWord:
        return operation >> 16 == abi::kLanes && (operation & 0xff) < kFirstScan ? Shape::uniform() : Shape::varying();
      case abi::kSimdShuffleWord:
        return operation >> 16 == abi::kLanes && (operation & 0xff) == kBroadcastFirst ? Shape::uniform() : Shape::varying();
      case abi::kSimdBallot:
        return width(3) == abi::kLanes ? Shape::uniform() : Shape::varying();
      case abi::kSimdActive:
        return width(2) == abi::kLanes ? Shape::uniform() : Shape::varying();
      default:
        return Shape::varying();
    }
  }
  if (!call.doesNotAccessMemory()) return Shape::varying();
  return llvm::all_of(call.args(), [&](const llvm::Use& operand) { return is_uniform(operand.get()); }) ? Shape::uniform()
                                                                                                        : Shape::varying();
}

Shape Shapes::of_cast(const llvm::CastInst& cast) const {
  const Shape& from = of(cast.getOperand(0));
  const auto* source = cast.getSrcTy();
  if (from.is_uniform() && !from.is_absolute) return Shape::uniform();
  if (!from.is_spaced() || !(source->isIntegerTy() || source->isPointerTy())) return from.is_spaced() ? Shape::uniform() : from;
  const unsigned bits = bits_of_integer(cast.getType());
  const auto low_bits = [&](std::int64_t value) {
    return cast.getOpcode() == llvm::Instruction::ZExt
               ? value & static_cast<std::int64_t>(llvm::maskTrailingOnes<std::uint64_t>(bits_of_integer(source)))
               : value;
  };
  switch (cast.getOpcode()) {
    case llvm::Instruction::Trunc:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
      break;
    default:
      return from.is_uniform() ? Shape::uniform() : Shape::varying();
  }
  if (from.is_absolute) {
    LaneOffsets values = values_of(from);
    for (auto& value : values) value = low_bits(wrapped(value, bits_of_integer(source)));
    return absolute(values, bits);
  }
  Shape result = shaped(from, [&](std::size_t lane) { return wrapped(from.offsets[lane], bits); });
  const bool extends = cast.getOpcode() == llvm::Instruction::ZExt || cast.getOpcode() == llvm::Instruction::SExt;
  // A position and an index of a lane cannot wrap.
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(cast.getOperand(0));
  const bool is_position = load != nullptr && member(load->getPointerOperand()).has_value() && cast.getOpcode() == llvm::Instruction::ZExt;
  if (extends && !is_position) result.is_assumed = true;
  return result;
}

Shape Shapes::of_binary(const llvm::BinaryOperator& operation) const {
  const Shape& a = of(operation.getOperand(0));
  const Shape& b = of(operation.getOperand(1));
  if (!a.is_spaced() || !b.is_spaced()) return Shape::varying();
  const auto* constant_a = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(0));
  const auto* constant_b = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1));
  const unsigned bits = bits_of_integer(operation.getType());
  if (bits > 64) return a.is_uniform() && b.is_uniform() ? Shape::uniform() : Shape::varying();
  const bool known_a = a.is_absolute || constant_a != nullptr;
  const bool known_b = b.is_absolute || constant_b != nullptr;
  if (known_a && known_b && (a.is_absolute || b.is_absolute)) {
    LaneOffsets values{};
    for (std::size_t lane = 0; lane < abi::kLanes; ++lane) {
      const auto number = [&](const Shape& shape, const llvm::ConstantInt* constant) {
        return llvm::ConstantInt::get(operation.getType(), constant != nullptr
                                                               ? constant->getZExtValue()
                                                               : static_cast<std::uint64_t>(shape.first + shape.offsets[lane]));
      };
      const auto* folded = llvm::dyn_cast_or_null<llvm::ConstantInt>(
          llvm::ConstantFoldBinaryInstruction(operation.getOpcode(), number(a, constant_a), number(b, constant_b)));
      if (folded == nullptr) return Shape::varying();
      values[lane] = folded->getSExtValue();
    }
    return absolute(values, bits);
  }
  Shape result = Shape::uniform();
  result.is_assumed = a.is_assumed || b.is_assumed;
  const auto combine = [&](auto&& of_lane) { return shaped(result, [&](std::size_t lane) { return wrapped(of_lane(lane), bits); }); };
  const auto scaled = [&](const Shape& shape, std::uint64_t factor) {
    return combine([&](std::size_t lane) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(shape.offsets[lane]) * factor); });
  };
  switch (operation.getOpcode()) {
    case llvm::Instruction::Or:
      if (!llvm::cast<llvm::PossiblyDisjointInst>(operation).isDisjoint()) break;
      [[fallthrough]];
    case llvm::Instruction::Add:
      return combine([&](std::size_t lane) { return a.offsets[lane] + b.offsets[lane]; });
    case llvm::Instruction::Sub:
      return combine([&](std::size_t lane) { return a.offsets[lane] - b.offsets[lane]; });
    case llvm::Instruction::Mul:
      if (constant_b != nullptr) return scaled(a, constant_b->getZExtValue());
      break;
    case llvm::Instruction::Shl:
      if (constant_b != nullptr && constant_b->getZExtValue() < bits) return scaled(a, std::uint64_t{1} << constant_b->getZExtValue());
      break;
    default:
      break;
  }
  return a.is_uniform() && b.is_uniform() ? Shape::uniform() : Shape::varying();
}

Shape Shapes::of_step(const llvm::GetElementPtrInst& step) const {
  const Shape& base = of(step.getPointerOperand());
  llvm::MapVector<llvm::Value*, llvm::APInt> scales;
  llvm::APInt constant(64, 0);
  if (!base.is_spaced() || !step.collectOffset(data_, 64, scales, constant)) return Shape::varying();
  const std::int64_t spread = is_interleaved(step.getPointerOperand()) ? abi::kLanes : 1;
  Shape result = base;
  result.is_absolute = false;
  result.first = 0;
  for (const auto& [index, scale] : scales) {
    const Shape& shape = of(index);
    if (!shape.is_spaced()) return Shape::varying();
    if (shape.is_uniform()) continue;
    result.is_assumed |= shape.is_assumed || (!shape.is_absolute && index->getType()->getIntegerBitWidth() < 64);
    for (std::size_t lane = 0; lane < abi::kLanes; ++lane) result.offsets[lane] += spread * scale.getSExtValue() * shape.offsets[lane];
  }
  return result;
}

Shape Shapes::of_select(const llvm::SelectInst& choice) const {
  const Shape& a = of(choice.getTrueValue());
  const Shape& b = of(choice.getFalseValue());
  if (!is_uniform(choice.getCondition()) || !a.is_spaced() || !b.is_spaced() || a.offsets != b.offsets) return Shape::varying();
  Shape result = Shape::uniform();
  result.offsets = a.offsets;
  result.is_assumed = a.is_assumed || b.is_assumed;
  return result;
}

}  // namespace assay::metal::pass

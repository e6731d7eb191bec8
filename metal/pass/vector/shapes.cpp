// Finds how values differ between lanes, and which blocks lanes may reach separately.
#include "metal/pass/vector/shapes.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/ConstantFold.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/MathExtras.h>

#include "metal/pass/services.h"

namespace assay::metal::pass {
namespace {

std::uint32_t number_in(const llvm::CallBase& call, llvm::StringRef attribute) {
  std::uint32_t number = 0;
  call.getFnAttr(attribute).getValueAsString().getAsInteger(10, number);
  return number;
}

// The number as its type keeps it, extended with its sign.
std::int64_t wrapped(std::int64_t value, unsigned bits) {
  return bits >= 64 ? value : llvm::SignExtend64(static_cast<std::uint64_t>(value), bits);
}

unsigned bits_of(const llvm::Type* type) { return type->isIntegerTy() ? type->getIntegerBitWidth() : 64; }

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

std::optional<abi::Service> requested_service(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr || !call->hasFnAttr(kServiceAttribute)) return std::nullopt;
  return static_cast<abi::Service>(number_in(*call, kServiceAttribute));
}

std::uint32_t site_of(const llvm::CallBase& call) {
  return static_cast<std::uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue());
}

std::uint32_t operation_of_word(const llvm::CallBase& call) { return number_in(call, kOperationAttribute); }

std::optional<std::uint32_t> buffer_of_store(const llvm::CallBase& call) {
  return call.hasFnAttr(kBufferAttribute) ? std::optional(number_in(call, kBufferAttribute)) : std::nullopt;
}

std::optional<WordsInPlace> words_in_place(const llvm::CallBase& call) {
  // Of metal/shader/runtime.h: scalar codes of four bytes, and the shuffles that take a second value.
  constexpr std::uint64_t kInt32 = 4;
  constexpr std::uint64_t kUint32 = 5;
  constexpr std::uint64_t kFloat = 10;
  constexpr std::uint64_t kFirstFill = 6;
  constexpr std::uint64_t kLastFill = 7;
  const auto service = requested_service(call);
  if (service != abi::kSimdReduce && service != abi::kSimdShuffle) return std::nullopt;
  std::array<std::uint64_t, 4> number{};  // (operation, type, count, width) or (mode, bytes, width, -)
  for (unsigned index = 0; index < (service == abi::kSimdReduce ? 4U : 3U); ++index) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(2 + index));
    if (constant == nullptr) return std::nullopt;
    number[index] = constant->getZExtValue();
  }
  WordsInPlace result;
  if (service == abi::kSimdReduce) {
    if (number[1] != kInt32 && number[1] != kUint32 && number[1] != kFloat) return std::nullopt;
    result = {static_cast<std::uint32_t>(number[0] | number[1] << 8 | number[3] << 16), static_cast<std::uint32_t>(number[2]),
              call.getArgOperand(6), nullptr};
  } else {
    if (number[1] % sizeof(std::uint32_t) != 0 || (number[0] >= kFirstFill && number[0] <= kLastFill)) return std::nullopt;
    result = {static_cast<std::uint32_t>(number[0] | number[2] << 16), static_cast<std::uint32_t>(number[1] / sizeof(std::uint32_t)),
              call.getArgOperand(5), call.getArgOperand(7)};
  }
  return Shapes::variable_of(result.words) == nullptr ? std::nullopt : std::optional(result);
}

Shapes::Shapes(llvm::Function& function, llvm::LoopInfo& loops, llvm::PostDominatorTree& joins)
    : function_(function), loops_(loops), data_(function.getDataLayout()) {
  find_controllers(joins);
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& instruction : llvm::instructions(function)) {
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (variable != nullptr && !layouts_.contains(variable)) lay_out(*variable);
    }
    for (auto* block : order) {
      for (auto& instruction : *block) {
        if (instruction.getType()->isVoidTy()) continue;
        Shape next = transfer(instruction);
        if (next.is_uniform() && next.is_assumed) {
          const bool is_certain = llvm::all_of(instruction.operands(), [&](const llvm::Use& operand) { return is_uniform(operand.get()); });
          next = is_certain ? Shape::uniform() : Shape::varying();
        }
        Shape& known = shapes_[&instruction];
        if (next == known || known.kind == Shape::Kind::varying || next.kind == Shape::Kind::unknown) continue;
        if (known.kind != Shape::Kind::unknown) {
          // What is known of a value only gets less.
          const bool is_same = next.is_spaced() && next.offsets == known.offsets;
          if (is_same && (known.is_assumed || !next.is_assumed) && !known.is_absolute) continue;
          const bool was_assumed = known.is_assumed;
          next = is_same ? next : Shape::varying();
          if (is_same) {
            next.is_assumed |= was_assumed;
            next.is_absolute = false;
            next.first = 0;
          }
        }
        known = next;
        changed = true;
      }
    }
    const std::size_t before = divergent_.size() + divergent_loops_.size();
    find_divergent_blocks();
    changed |= divergent_.size() + divergent_loops_.size() != before;
  }
}

const Shape& Shapes::of(const llvm::Value* value) const {
  static const Shape uniform = Shape::uniform();
  static const Shape unknown;
  if (!llvm::isa<llvm::Instruction>(value)) return uniform;
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? unknown : found->second;
}

void Shapes::find_controllers(llvm::PostDominatorTree& joins) {
  const auto immediate = [&](const Block* block) -> const Block* {
    const auto* node = joins.getNode(block);
    const auto* parent = node == nullptr ? nullptr : node->getIDom();
    return parent == nullptr ? nullptr : parent->getBlock();
  };
  for (const auto& block : function_) {
    if (block.getTerminator()->getNumSuccessors() < 2) continue;
    const auto* stop = immediate(&block);
    llvm::DenseSet<const Block*> seen;
    for (const auto* successor : llvm::successors(&block)) {
      for (const auto* runner = successor; runner != nullptr && runner != stop; runner = immediate(runner)) {
        if (seen.insert(runner).second) controlled_[&block].push_back(runner);
      }
    }
  }
}

// A variable is interleaved if every access is one of whole units, or fills it while all lanes run together.
void Shapes::lay_out(llvm::AllocaInst& variable) {
  PrivateLayout layout;
  const std::uint64_t size = data_.getTypeAllocSize(variable.getAllocatedType()).getFixedValue();
  layout.stride = llvm::alignTo(std::max<std::uint64_t>(size, 1), variable.getAlign());
  bool fits = true;
  llvm::SmallVector<const llvm::Value*> pointers{&variable};
  const auto access = [&](llvm::Type* type) {
    const std::uint64_t unit = data_.getTypeStoreSize(type->getScalarType()).getFixedValue();
    fits = fits && !type->isAggregateType() && !type->getScalarType()->isPointerTy() && llvm::isPowerOf2_64(unit) && unit <= 8 &&
           (layout.unit == 0 || layout.unit == unit);
    layout.unit = unit;
  };
  for (std::size_t at = 0; at < pointers.size() && fits; ++at) {
    for (const auto& use : pointers[at]->uses()) {
      const auto* user = use.getUser();
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        access(load->getType());
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user); store != nullptr && use.getOperandNo() == 1) {
        access(store->getValueOperand()->getType());
      } else if (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(user); step != nullptr && !step->getType()->isVectorTy()) {
        pointers.push_back(step);
      } else if (const auto* fill = llvm::dyn_cast<llvm::MemSetInst>(user); fill != nullptr && use.getOperandNo() == 0) {
        fits = llvm::isa<llvm::ConstantInt>(fill->getLength());
      } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user); call != nullptr && words_in_place(*call) &&
                                                                           words_in_place(*call)->words == use.get()) {
        fits = layout.unit == 0 || layout.unit == sizeof(std::uint32_t);
        layout.unit = sizeof(std::uint32_t);
      } else {
        fits = llvm::cast<llvm::Instruction>(user)->isLifetimeStartOrEnd();
      }
      if (!fits) break;
    }
  }
  for (std::size_t at = 1; at < pointers.size() && fits; ++at) {
    const auto* step = llvm::cast<llvm::GetElementPtrInst>(pointers[at]);
    llvm::MapVector<llvm::Value*, llvm::APInt> scales;
    llvm::APInt constant(64, 0);
    fits = step->collectOffset(data_, 64, scales, constant) && constant.getSExtValue() % static_cast<std::int64_t>(layout.unit) == 0 &&
           llvm::all_of(scales, [&](const auto& scale) { return scale.second.urem(layout.unit) == 0; });
  }
  layout.is_interleaved = fits && layout.unit != 0 && size % layout.unit == 0;
  layouts_[&variable] = layout;
}

const llvm::AllocaInst* Shapes::variable_of(const llvm::Value* pointer) {
  while (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) pointer = step->getPointerOperand();
  return llvm::dyn_cast<llvm::AllocaInst>(pointer);
}

bool Shapes::is_interleaved(const llvm::Value* pointer) const {
  const auto* variable = variable_of(pointer);
  return variable != nullptr && layout(variable).is_interleaved;
}

std::optional<std::uint64_t> Shapes::member(const llvm::Value* pointer) const {
  llvm::APInt offset(64, 0);
  const auto* base = pointer->stripAndAccumulateConstantOffsets(data_, offset, /*AllowNonInbounds=*/true);
  if (base != function_.getArg(0)) return std::nullopt;
  return offset.getZExtValue();
}

bool Shapes::decides_divergently(const Block& block) const {
  const auto* end = block.getTerminator();
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(end))
    return branch->isConditional() && of(branch->getCondition()).kind != Shape::Kind::unknown && !is_uniform(branch->getCondition());
  if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end))
    return of(choice->getCondition()).kind != Shape::Kind::unknown && !is_uniform(choice->getCondition());
  return false;
}

void Shapes::find_divergent_blocks() {
  llvm::SmallVector<const Block*> pending;
  const auto add_controlled = [&](const Block* by) {
    for (const auto* block : controlled_.lookup(by)) {
      if (divergent_.insert(block).second) pending.push_back(block);
    }
  };
  for (const auto& block : function_) {
    if (decides_divergently(block)) add_controlled(&block);
  }
  while (!pending.empty()) add_controlled(pending.pop_back_val());
  for (auto* loop : loops_.getLoopsInPreorder()) {
    if (!divergent_loops_.contains(loop) && is_divergent_loop(*loop)) divergent_loops_.insert(loop);
  }
}

// Whether lanes may leave the loop in different iterations: a divergent branch in it decides whether there is a next one.
bool Shapes::is_divergent_loop(const llvm::Loop& loop) const {
  llvm::DenseSet<const Block*> seen;
  llvm::SmallVector<const Block*> pending;
  for (const auto* block : loop.blocks()) {
    if (decides_divergently(*block)) pending.push_back(block);
  }
  while (!pending.empty()) {
    for (const auto* block : controlled_.lookup(pending.pop_back_val())) {
      if (block == loop.getHeader()) return true;
      if (loop.contains(block) && seen.insert(block).second) pending.push_back(block);
    }
  }
  return false;
}

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
    if (!load.getType()->isIntegerTy(32) && *offset < offsetof(abi::Lane, ordered_buffers)) return Shape::varying();
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
  const unsigned bits = bits_of(cast.getType());
  const auto low_bits = [&](std::int64_t value) {
    return cast.getOpcode() == llvm::Instruction::ZExt ? value & static_cast<std::int64_t>(llvm::maskTrailingOnes<std::uint64_t>(bits_of(source)))
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
    for (auto& value : values) value = low_bits(wrapped(value, bits_of(source)));
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
  const unsigned bits = bits_of(operation.getType());
  if (bits > 64) return a.is_uniform() && b.is_uniform() ? Shape::uniform() : Shape::varying();
  const bool known_a = a.is_absolute || constant_a != nullptr;
  const bool known_b = b.is_absolute || constant_b != nullptr;
  if (known_a && known_b && (a.is_absolute || b.is_absolute)) {
    LaneOffsets values{};
    for (std::size_t lane = 0; lane < abi::kLanes; ++lane) {
      const auto number = [&](const Shape& shape, const llvm::ConstantInt* constant) {
        return llvm::ConstantInt::get(operation.getType(),
                                      constant != nullptr ? constant->getZExtValue()
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
  const auto combine = [&](auto&& of_lane) {
    return shaped(result, [&](std::size_t lane) { return wrapped(of_lane(lane), bits); });
  };
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

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

namespace assay::metal::pass {

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
      } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
                 call != nullptr && words_in_place(*call) && words_in_place(*call)->words == use.get()) {
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

}  // namespace assay::metal::pass

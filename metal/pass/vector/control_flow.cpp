// Control flow of a SIMD-group: branches that all lanes take together stay branches; others become masks.
//
// A divergent region is what lies between a branch that lanes may take differently and the block where they are together again. Its
// blocks run one after the other in program order, each for the lanes that are on their way to it, and are skipped where there are none.
#include <llvm/IR/CFG.h>

#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {

Widener::Widener(llvm::Function& lane, llvm::Function& into, const Shapes& shapes, llvm::LoopInfo& loops, std::vector<Block*> order,
                 llvm::GlobalVariable& services, bool is_checked)
    : lane_function_(lane),
      into_(into),
      shapes_(shapes),
      loops_(loops),
      order_(std::move(order)),
      services_(services),
      data_(lane.getDataLayout()),
      context_(lane.getContext()),
      builder_(context_),
      entry_(context_),
      is_checked_(is_checked) {
  for (std::size_t place = 0; place < order_.size(); ++place) places_[order_[place]] = place;
}

llvm::BasicBlock* Widener::new_block(const llvm::Twine& name) { return Block::Create(context_, name, &into_); }

llvm::Value* Widener::any(Value* lanes) {
  if (lanes == nullptr) return builder_.getTrue();
  return builder_.CreateICmpNE(builder_.CreateBitCast(lanes, builder_.getInt32Ty()), builder_.getInt32(0));
}

void Widener::begin_block(Block& emitted, Value* lanes) {
  builder_.SetInsertPoint(&emitted);
  lanes_ = lanes;
  local_scalars_.clear();
  local_wides_.clear();
  local_bases_.clear();
}

// Variables for the phis, and for values of divergent blocks that other blocks use. They become registers again afterwards.
void Widener::make_slots() {
  const auto variable = [&](llvm::Type* type) {
    auto* slot = entry_.CreateAlloca(type);
    promotable_.push_back(slot);
    return slot;
  };
  const auto variables = [&](const llvm::Instruction& value) {
    llvm::SmallVector<llvm::AllocaInst*, 4> result;
    const Shape& shape = shapes_.of(&value);
    if (shape.is_uniform() || (shape.is_spaced() && llvm::isa<llvm::PHINode>(value))) {
      result.push_back(variable(value.getType()));
    } else {
      for (auto* type : components(value.getType())) result.push_back(variable(vector_of(type)));
    }
    return result;
  };
  // A spaced value is computed again where it is used, so what it is computed from has to reach that place.
  llvm::SmallVector<llvm::Instruction*> leaving;
  llvm::DenseSet<llvm::Instruction*> seen;
  const auto add = [&](llvm::Instruction& value) {
    if (seen.insert(&value).second) leaving.push_back(&value);
  };
  for (auto* block : order_) {
    const bool is_divergent = shapes_.is_divergent(block);
    if (is_divergent) masks_[block] = variable(vector_of(builder_.getInt1Ty()));
    for (auto& instruction : *block) {
      if (instruction.getType()->isVoidTy()) continue;
      if (llvm::isa<llvm::PHINode>(instruction)) incoming_[&instruction] = variables(instruction);
      const bool leaves = llvm::any_of(instruction.uses(), [&](const llvm::Use& use) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
        return (phi != nullptr ? phi->getIncomingBlock(use) : user->getParent()) != block;
      });
      if (is_divergent && leaves) add(instruction);
    }
  }
  for (std::size_t at = 0; at < leaving.size(); ++at) {
    auto* value = leaving[at];
    slots_[value] = variables(*value);
    const Shape& shape = shapes_.of(value);
    if (!shape.is_spaced() || shape.is_uniform() || llvm::isa<llvm::PHINode>(value)) continue;
    for (auto& operand : value->operands()) {
      auto* from = llvm::dyn_cast<llvm::Instruction>(operand.get());
      if (from != nullptr && shapes_.is_divergent(from->getParent()) && shapes_.of(from).is_spaced()) add(*from);
    }
  }
  done_ = variable(builder_.getInt32Ty());
}

std::string Widener::run() {
  auto* start = new_block("start");
  entry_.SetInsertPoint(llvm::ReturnInst::Create(context_, start));  // replaced below
  make_slots();
  for (auto& instruction : lane_function_.getEntryBlock()) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable == nullptr) continue;
    if (variable->isArrayAllocation()) return "a local array of variable size";
    const PrivateLayout& layout = shapes_.layout(variable);
    const std::uint64_t bytes = layout.stride * abi::kLanes;
    widened_bytes_ += bytes;
    auto* wide_variable = entry_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), bytes));
    wide_variable->setAlignment(std::max(variable->getAlign(), llvm::Align(64)));
    variables_[variable] = wide_variable;
  }
  // Half of a stack, so that what the runtime needs has room.
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 10;
  if (widened_bytes_ > kMostBytes) return ("local variables of " + llvm::Twine(widened_bytes_ / abi::kLanes) + " bytes").str();
  for (auto* block : order_) {
    if (!shapes_.is_divergent(block)) blocks_[block] = new_block("together");
  }
  if (shapes_.is_divergent(&lane_function_.getEntryBlock())) return "internal: a divergent entry";
  entry_.CreateStore(entry_.getInt32(0), done_);
  auto* placeholder = start->getTerminator();
  entry_.SetInsertPoint(llvm::BranchInst::Create(blocks_.lookup(&lane_function_.getEntryBlock()), start));
  placeholder->eraseFromParent();
  for (auto* block : order_) {
    if (!shapes_.is_divergent(block)) widen_block(*block);
    if (!refusal_.empty()) return refusal_;
  }
  return refusal_;
}

// Code that all lanes run together.
void Widener::widen_block(Block& block) {
  is_local_ = false;
  begin_block(*blocks_.lookup(&block), nullptr);
  for (auto& instruction : block) {
    if (!instruction.isTerminator()) widen(instruction);
    is_local_ = false;
  }
  end_block(block);
}

void Widener::end_block(Block& block) {
  auto* end = block.getTerminator();
  if (llvm::isa<llvm::ReturnInst>(end)) {
    builder_.CreateRetVoid();
    return;
  }
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(end);
  if (branch != nullptr && branch->isUnconditional()) return follow(block, *branch->getSuccessor(0));
  Value* condition = branch != nullptr                  ? branch->getCondition()
                     : llvm::isa<llvm::SwitchInst>(end) ? llvm::cast<llvm::SwitchInst>(end)->getCondition()
                                                        : nullptr;
  if (condition == nullptr) return refuse("a branch of a kind that is not known");
  if (!shapes_.is_uniform(condition)) return run_region(edges_of(block, nullptr));
  auto* chosen = scalar(condition);
  llvm::SmallVector<std::pair<Block*, Block*>> ways;  // emitted, target
  if (branch != nullptr) {
    ways = {{new_block("way"), branch->getSuccessor(0)}, {new_block("way"), branch->getSuccessor(1)}};
    builder_.CreateCondBr(chosen, ways[0].first, ways[1].first);
  } else {
    auto* choice = llvm::cast<llvm::SwitchInst>(end);
    ways.emplace_back(new_block("way"), choice->getDefaultDest());
    auto* copy = builder_.CreateSwitch(chosen, ways[0].first, choice->getNumCases());
    for (const auto& option : choice->cases()) {
      ways.emplace_back(new_block("way"), option.getCaseSuccessor());
      copy->addCase(option.getCaseValue(), ways.back().first);
    }
  }
  for (const auto& [emitted, target] : ways) {
    begin_block(*emitted, nullptr);
    follow(block, *target);
  }
}

void Widener::follow(Block& from, Block& to) {
  if (shapes_.is_divergent(&to)) return run_region(Edge{&from, &to, nullptr});
  take_edge({&from, &to, nullptr});
  builder_.CreateBr(blocks_.lookup(&to));
}

// The ways out of a block, for the lanes that run it, with those that take each.
llvm::SmallVector<Widener::Edge> Widener::edges_of(Block& block, Value* lanes) {
  auto* end = block.getTerminator();
  const auto among = [&](Value* some) { return lanes == nullptr ? some : builder_.CreateAnd(lanes, some); };
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end)) {
    if (branch->isUnconditional()) return {{&block, branch->getSuccessor(0), lanes}};
    auto* taken = wide_one(branch->getCondition());
    return {{&block, branch->getSuccessor(0), among(taken)}, {&block, branch->getSuccessor(1), among(builder_.CreateNot(taken))}};
  }
  if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end)) {
    llvm::SmallVector<Edge> edges;
    auto* value = wide_one(choice->getCondition());
    Value* others = this->lanes();
    for (const auto& option : choice->cases()) {
      auto* equal = builder_.CreateICmpEQ(value, splat(option.getCaseValue()));
      edges.push_back({&block, option.getCaseSuccessor(), among(equal)});
      others = builder_.CreateAnd(others, builder_.CreateNot(equal));
    }
    edges.push_back({&block, choice->getDefaultDest(), others});
    return edges;
  }
  return {};
}

// Sets the phis of the edge's target, for its lanes, and adds these to those on their way to it.
void Widener::take_edge(const Edge& edge) {
  llvm::SmallVector<std::pair<llvm::AllocaInst*, Value*>> set;
  for (auto& phi : edge.to->phis()) {
    auto* value = phi.getIncomingValueForBlock(edge.from);
    const auto& into = incoming_.find(&phi)->second;
    const Shape& shape = shapes_.of(&phi);
    if (shape.is_uniform()) {
      if (shapes_.is_uniform(value)) {
        set.emplace_back(into.front(), scalar(value));
      } else {
        refuse("internal: a vector where one number was expected");
      }
    } else if (shape.is_spaced()) {
      set.emplace_back(into.front(), base(value));
    } else {
      const Parts parts = wide(value);
      for (std::size_t index = 0; index < parts.size(); ++index) {
        auto* before = edge.lanes == nullptr ? nullptr : builder_.CreateLoad(parts[index]->getType(), into[index]);
        set.emplace_back(into[index], before == nullptr ? parts[index] : builder_.CreateSelect(edge.lanes, parts[index], before));
      }
    }
  }
  for (const auto& [slot, value] : set) builder_.CreateStore(value, slot);
  auto* mask = masks_.lookup(edge.to);
  if (mask == nullptr) return;
  if (edge.lanes == nullptr) {
    builder_.CreateStore(all_lanes(), mask);
  } else {
    auto* before = builder_.CreateLoad(mask->getAllocatedType(), mask);
    builder_.CreateStore(builder_.CreateOr(before, edge.lanes), mask);
  }
}

// The divergent blocks that lanes may run after the edges before they are together again, in program order; and where they are then.
std::vector<llvm::BasicBlock*> Widener::region_of(llvm::ArrayRef<Edge> entries, Block*& exit) {
  exit = nullptr;
  std::vector<Block*> region;
  llvm::DenseSet<Block*> seen;
  const auto visit = [&](Block* block) {
    if (!shapes_.is_divergent(block)) {
      if (exit != nullptr && exit != block) refuse("lanes that part meet again at more than one place");
      exit = block;
    } else if (seen.insert(block).second) {
      region.push_back(block);
    }
  };
  for (const Edge& edge : entries) visit(edge.to);
  for (std::size_t index = 0; index < region.size(); ++index) {
    for (auto* next : llvm::successors(region[index])) visit(next);
  }
  std::sort(region.begin(), region.end(), [&](Block* a, Block* b) { return places_.lookup(a) < places_.lookup(b); });
  for (auto* block : region) {
    for (auto* loop = loops_.getLoopFor(block); loop != nullptr; loop = loop->getParentLoop()) {
      if (!seen.contains(loop->getHeader())) continue;
      if (llvm::any_of(loop->blocks(), [&](Block* part) { return !seen.contains(part); }))
        refuse("a loop of which lanes run only a part separately");
    }
  }
  return region;
}

// Whether lanes may still meet in the block or behind it.
bool Widener::is_met_behind(Block& block) {
  llvm::SmallVector<Block*> pending{&block};
  llvm::DenseSet<Block*> seen{&block};
  while (!pending.empty()) {
    auto* next = pending.pop_back_val();
    for (const auto& instruction : *next) {
      const auto service = requested_service(instruction);
      if (service && *service != abi::kMisaligned) return true;
    }
    for (auto* successor : llvm::successors(next)) {
      if (seen.insert(successor).second) pending.push_back(successor);
    }
  }
  return false;
}

void Widener::run_region(llvm::ArrayRef<Edge> given) {
  const llvm::SmallVector<Edge> entries(given);
  Block* exit = nullptr;
  const std::vector<Block*> region = region_of(entries, exit);
  region_ = region;
  if (exit == nullptr) refuse("lanes that part and never meet again");
  if (!refusal_.empty()) return;
  const bool is_end = !is_met_behind(*exit);
  const auto leave = [&](const Edge& edge) {
    if (is_end && edge.to == exit) finish(edge);
    take_edge(edge);
  };
  for (auto* block : region)
    builder_.CreateStore(llvm::Constant::getNullValue(masks_.lookup(block)->getAllocatedType()), masks_.lookup(block));
  for (const Edge& edge : entries) leave(edge);
  llvm::DenseMap<Block*, Block*> guards;
  for (auto* block : region) guards[block] = new_block("guard");
  auto* together = new_block("joined");
  builder_.CreateBr(region.empty() ? together : guards.lookup(region.front()));
  for (std::size_t index = 0; index < region.size(); ++index) {
    auto* block = region[index];
    auto* next = index + 1 < region.size() ? guards.lookup(region[index + 1]) : together;
    auto* behind = new_block("behind");
    builder_.SetInsertPoint(guards.lookup(block));
    auto* mask = masks_.lookup(block);
    auto* lanes = builder_.CreateLoad(mask->getAllocatedType(), mask);
    builder_.CreateStore(llvm::Constant::getNullValue(mask->getAllocatedType()), mask);
    auto* body = new_block("apart");
    builder_.CreateCondBr(any(lanes), body, behind);
    begin_block(*body, lanes);
    is_local_ = true;
    for (auto& instruction : *block) {
      if (!instruction.isTerminator()) widen(instruction);
      is_local_ = true;
    }
    for (const Edge& edge : edges_of(*block, lanes_)) leave(edge);
    is_local_ = false;
    builder_.CreateBr(behind);
    builder_.SetInsertPoint(behind);
    // At the end of a loop, lanes that go on return to its header.
    for (auto* loop = loops_.getLoopFor(block); loop != nullptr; loop = loop->getParentLoop()) {
      const bool is_last = index + 1 == region.size() || !loop->contains(region[index + 1]);
      if (!is_last || guards.lookup(loop->getHeader()) == nullptr) break;
      auto* header_mask = masks_.lookup(loop->getHeader());
      auto* outside = new_block("outside");
      builder_.CreateCondBr(any(builder_.CreateLoad(header_mask->getAllocatedType(), header_mask)), guards.lookup(loop->getHeader()),
                            outside);
      builder_.SetInsertPoint(outside);
    }
    builder_.CreateBr(next);
  }
  begin_block(*together, nullptr);
  builder_.CreateBr(blocks_.lookup(exit));
}

// The lanes of the edge will meet no others any more.
void Widener::finish(const Edge& edge) {
  auto* word = builder_.getInt32Ty();
  auto* bits = builder_.CreateBitCast(edge.lanes == nullptr ? all_lanes() : edge.lanes, word);
  builder_.CreateStore(builder_.CreateOr(builder_.CreateLoad(word, done_), bits), done_);
}

// Lanes that have returned, and those on their way to a block behind which no lane meets others.
llvm::Value* Widener::finished_lanes() {
  auto* word = builder_.getInt32Ty();
  Value* bits = builder_.CreateLoad(word, done_);
  if (lanes_ == nullptr) return bits;
  for (auto* block : region_) {
    if (is_met_behind(*block)) continue;
    auto* mask = masks_.lookup(block);
    bits = builder_.CreateOr(bits, builder_.CreateBitCast(builder_.CreateLoad(mask->getAllocatedType(), mask), word));
  }
  return bits;
}

}  // namespace assay::metal::pass

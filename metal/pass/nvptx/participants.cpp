// Computes the lanes that run a block together.
#include "metal/pass/nvptx/participants.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace assay::metal::pass::nvptx {
namespace {

constexpr std::uint32_t kEveryLane = ~std::uint32_t{0};

llvm::IRBuilder<> at_top(llvm::BasicBlock& block) { return {&block, block.getFirstInsertionPt()}; }

}  // namespace

llvm::Value* Participants::vote(llvm::IRBuilder<>& builder, llvm::Value* lanes, llvm::Value* predicate) {
  auto* ballot = llvm::Intrinsic::getDeclaration(&module_, llvm::Intrinsic::nvvm_vote_ballot_sync);
  return builder.CreateCall(ballot, {lanes, predicate});
}

llvm::Value* Participants::running(llvm::IRBuilder<>& builder) {
  auto* type = llvm::FunctionType::get(builder.getInt32Ty(), false);
  auto* call = builder.CreateCall(llvm::InlineAsm::get(type, "activemask.b32 $0;", "=r", /*hasSideEffects=*/true));
  call->addFnAttr(llvm::Attribute::Convergent);
  return call;
}

llvm::Value* Participants::of(llvm::BasicBlock& block) {
  if (auto* known = known_.lookup(&block)) return known;
  llvm::Value* lanes = nullptr;
  if (convergence_.is_parted(block)) {
    lanes = of_parted(block);
  } else {
    auto builder = at_top(block);
    lanes = vote(builder, builder.getInt32(kEveryLane), builder.getTrue());
  }
  known_[&block] = lanes;
  return lanes;
}

bool Participants::is_header(const Convergence& convergence, const llvm::BasicBlock& block) {
  const auto* loop = convergence.loops().getLoopFor(&block);
  return loop != nullptr && loop->getHeader() == &block;
}

// Goes the ways of of_parted().
llvm::BasicBlock* Participants::undecided(const Convergence& convergence, llvm::ArrayRef<llvm::BasicBlock*> wanted) {
  llvm::SmallSetVector<llvm::BasicBlock*, 16> all(wanted.begin(), wanted.end());
  for (std::size_t index = 0; index < all.size(); ++index) {
    auto& block = *all[index];
    if (!convergence.is_live(block) || !convergence.is_parted(block)) continue;
    if (auto* before = convergence.same_lanes_before(block)) {
      all.insert(before);
    } else if (block.getUniquePredecessor() != nullptr || is_header(convergence, block) || comes_by_one_way(convergence, block)) {
      for (auto* each : llvm::predecessors(&block)) all.insert(each);
    } else {
      auto* branch = convergence.dominators().getNode(&block)->getIDom()->getBlock();
      if (convergence.ways_from(*branch, block).empty()) return &block;
      all.insert(branch);
    }
  }
  return nullptr;
}

llvm::Value* Participants::of_parted(llvm::BasicBlock& block) {
  if (auto* before = convergence_.same_lanes_before(block)) {
    auto* lanes = of(*before);
    if (block.getSinglePredecessor() == before && before->getSingleSuccessor() == &block) return lanes;
    // Waits for those that took another way, and leaves out those that have ended.
    auto builder = at_top(block);
    return vote(builder, lanes, builder.getTrue());
  }
  if (auto* before = block.getUniquePredecessor()) return of_edge(*before, block);
  if (is_header(convergence_, block) || comes_by_one_way(convergence_, block)) return merged(block);
  if (auto* lanes = decided_by_one_branch(block)) return lanes;
  auto builder = at_top(block);
  return running(builder);
}

// Several ways lead here from a branch that alone decides who takes them: the parts of a `switch`, or the end of a loop's body.
llvm::Value* Participants::decided_by_one_branch(llvm::BasicBlock& block) {
  auto* branch = convergence_.dominators().getNode(&block)->getIDom()->getBlock();
  const auto ways = convergence_.ways_from(*branch, block);
  if (ways.empty()) return nullptr;
  llvm::Value* lanes = of(*branch);
  if (convergence_.decides_alone(*branch)) {
    llvm::IRBuilder<> end(branch->getTerminator());
    llvm::Value* comes = end.getFalse();
    for (auto* way : ways) comes = end.CreateOr(comes, goes_to(end, *branch->getTerminator(), *way));
    lanes = vote(end, lanes, comes);
  }
  auto builder = at_top(block);
  return vote(builder, lanes, builder.getTrue());
}

// Whether lanes that are together come to the block by the same of several edges: none of the branches that decide it parts them.
bool Participants::comes_by_one_way(const Convergence& convergence, llvm::BasicBlock& block) {
  const auto* start = convergence.dominators().getNode(&block)->getIDom()->getBlock();
  llvm::SmallSetVector<const llvm::BasicBlock*, 16> between;
  for (const auto* before : llvm::predecessors(&block)) between.insert(before);
  for (std::size_t index = 0; index < between.size(); ++index) {
    if (between[index] == start) continue;
    for (const auto* before : llvm::predecessors(between[index])) between.insert(before);
  }
  return llvm::none_of(between, [&](const llvm::BasicBlock* each) { return convergence.decides_alone(*each); });
}

llvm::Value* Participants::merged(llvm::BasicBlock& block) {
  auto* lanes = llvm::PHINode::Create(llvm::Type::getInt32Ty(module_.getContext()), 2, "lanes");
  lanes->insertBefore(block, block.begin());
  known_[&block] = lanes;  // a loop asks for it again
  for (auto* before : llvm::predecessors(&block)) lanes->addIncoming(of_edge(*before, block), before);
  return lanes;
}

llvm::Value* Participants::goes_to(llvm::IRBuilder<>& builder, llvm::Instruction& terminator, const llvm::BasicBlock& to) {
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&terminator))
    return branch->getSuccessor(0) == &to ? branch->getCondition() : builder.CreateNot(branch->getCondition());
  auto* choice = llvm::cast<llvm::SwitchInst>(&terminator);
  const bool is_default = choice->getDefaultDest() == &to;
  llvm::Value* is_listed = builder.getFalse();
  for (const auto& option : choice->cases()) {
    if ((option.getCaseSuccessor() == &to) != is_default)
      is_listed = builder.CreateOr(is_listed, builder.CreateICmpEQ(choice->getCondition(), option.getCaseValue()));
  }
  return is_default ? builder.CreateNot(is_listed) : is_listed;
}

llvm::Value* Participants::of_edge(llvm::BasicBlock& from, llvm::BasicBlock& to) {
  auto* lanes = of(from);
  if (from.getUniqueSuccessor() != nullptr || !convergence_.decides_alone(from)) return lanes;
  auto*& known = known_edges_[{&from, &to}];
  if (known == nullptr) {
    llvm::IRBuilder<> builder(from.getTerminator());
    known = vote(builder, lanes, goes_to(builder, *from.getTerminator(), to));
  }
  return known;
}

}  // namespace assay::metal::pass::nvptx

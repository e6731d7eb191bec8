// Makes the vector form of a kernel.
#include "metal/pass/vector/vector_kernel.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>

#include "metal/pass/checks.h"
#include "metal/pass/program_order.h"
#include "metal/pass/reconvergence.h"
#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {
namespace {

template <typename Run>
void with_passes(llvm::Function& function, Run&& add) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  add(passes);
  passes.run(function, functions);
}

// Gives every block a way to the end, without which lanes that part would never meet again: what cannot happen ends the threadgroup.
void reach_the_end(llvm::Function& function) {
  leave_out_impossible_defaults(function);
  for (auto& block : function) {
    auto* end = llvm::dyn_cast<llvm::UnreachableInst>(block.getTerminator());
    if (end == nullptr) continue;
    llvm::IRBuilder<> builder(end);
    builder.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
    builder.CreateRetVoid();
    end->eraseFromParent();
  }
}

// The components of a stored vector that nothing defines, such as the padding of a float3, become 0. Otherwise the compiler chooses what
// is stored there, differently in the two forms of the kernel.
void settle_padding(llvm::Function& function) {
  for (auto& instruction : llvm::instructions(function)) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    auto* stored = store == nullptr ? nullptr : store->getValueOperand();
    const auto* type = stored == nullptr ? nullptr : llvm::dyn_cast<llvm::FixedVectorType>(stored->getType());
    if (type == nullptr) continue;
    const auto count = static_cast<int>(type->getNumElements());
    llvm::SmallVector<int> kept(static_cast<std::size_t>(count), -1);
    const auto* from = stored;
    while (const auto* insertion = llvm::dyn_cast<llvm::InsertElementInst>(from)) {
      const auto* place = llvm::dyn_cast<llvm::ConstantInt>(insertion->getOperand(2));
      if (place == nullptr || place->uge(type->getNumElements())) break;
      kept[place->getZExtValue()] = static_cast<int>(place->getZExtValue());
      from = insertion->getOperand(0);
    }
    const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(from);
    const auto* constant = llvm::dyn_cast<llvm::Constant>(from);
    bool is_whole = true;
    for (int index = 0; index < count; ++index) {
      const auto* element = constant == nullptr ? nullptr : constant->getAggregateElement(static_cast<unsigned>(index));
      const bool is_undefined = (shuffle != nullptr && shuffle->getMaskValue(static_cast<unsigned>(index)) < 0) ||
                                (element != nullptr && llvm::isa<llvm::UndefValue>(element));
      int& place = kept[static_cast<std::size_t>(index)];
      if (place < 0 && !is_undefined) place = index;
      if (place < 0) place = count + index;
      is_whole = is_whole && place == index;
    }
    if (is_whole) continue;
    llvm::IRBuilder<> builder(store);
    store->setOperand(0, builder.CreateShuffleVector(stored, llvm::Constant::getNullValue(stored->getType()), kept));
  }
}

// Whether a meeting point may belong to an iteration that lanes have left: code before a `break` lies outside of the optimised loop, and
// lanes that leave it in different iterations must not meet there. A loop that had no meeting point in the source is none of these; it was
// in a loop that the optimiser unrolled.
bool meets_before_break(llvm::Function& function, const Shapes& shapes, llvm::LoopInfo& loops, const llvm::DominatorTree& dominators) {
  for (auto& instruction : llvm::instructions(function)) {
    if (!requested_service(instruction)) continue;
    const auto* block = instruction.getParent();
    if (depth_in_source(llvm::cast<llvm::CallBase>(instruction)) <= loops.getLoopDepth(block)) continue;
    for (const auto* loop : loops.getLoopsInPreorder()) {
      if (shapes.is_divergent(loop) && !is_without_meetings(*loop) && !loop->contains(block) &&
          dominators.dominates(loop->getHeader(), block))
        return true;
    }
  }
  return false;
}

// The memory that lanes share and that a pointer leads to: a buffer, threadgroup memory, or one that is not known; none for a lane's own
// and for constants.
constexpr std::uint32_t kThreadgroupMemory = abi::kMaxBuffers;
constexpr std::uint32_t kUnknownMemory = kThreadgroupMemory + 1;
std::optional<std::uint32_t> shared_memory_of(const llvm::Value* pointer, const Shapes& shapes) {
  const auto* object = llvm::getUnderlyingObject(pointer, /*MaxLookup=*/0);
  if (shapes.member(pointer) || llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object)) return std::nullopt;
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
  const auto offset = load == nullptr ? std::nullopt : shapes.member(load->getPointerOperand());
  if (!offset) return kUnknownMemory;
  if (*offset >= offsetof(abi::Lane, buffers) && *offset < offsetof(abi::Lane, buffers) + sizeof(abi::Lane::buffers))
    return static_cast<std::uint32_t>((*offset - offsetof(abi::Lane, buffers)) / sizeof(void*));
  const bool is_argument = *offset >= offsetof(abi::Lane, threadgroup_arguments) &&
                           *offset < offsetof(abi::Lane, threadgroup_arguments) + sizeof(abi::Lane::threadgroup_arguments);
  return is_argument || *offset == offsetof(abi::Lane, threadgroup_memory) ? kThreadgroupMemory : kUnknownMemory;
}

// Whether lanes on one way read what lanes on another way store. Lanes that run one by one read before any of them stores, but as vectors
// the way that comes first stores before the other one reads. After a meeting on its own way, a lane reads later in both forms.
bool reads_what_others_store(const std::vector<llvm::BasicBlock*>& order, const Shapes& shapes) {
  llvm::DenseMap<const llvm::BasicBlock*, std::size_t> places;
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  for (auto* from : order) {
    if (!shapes.is_divergent(from)) continue;
    llvm::SmallSet<std::uint32_t, 4> stored;
    for (auto& instruction : *from) {
      const auto service = requested_service(instruction);
      if (service != abi::kStore && service != abi::kAtomic) continue;
      const unsigned pointer = service == abi::kStore ? 2 : 4;
      if (const auto memory = shared_memory_of(instruction.getOperand(pointer), shapes)) stored.insert(*memory);
    }
    if (stored.empty()) continue;
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> behind{from};
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> settled;  // behind `from`, and only by lanes that were there or have met since
    for (std::size_t place = places.lookup(from);
         place < order.size() && (place == places.lookup(from) || shapes.is_divergent(order[place])); ++place) {
      auto* block = order[place];
      const bool is_behind = behind.contains(block);
      const bool has_others = block != from && (!is_behind || llvm::any_of(llvm::predecessors(block), [&](const auto* before) {
                                return places.lookup(before) < place && !settled.contains(before);
                              }));
      bool has_met = false;
      for (auto& instruction : *block) {
        has_met = has_met || requested_service(instruction);
        if (!has_others || has_met) break;
        const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        const auto memory = load == nullptr ? std::nullopt : shared_memory_of(load->getPointerOperand(), shapes);
        if (memory && (memory == kUnknownMemory || stored.contains(kUnknownMemory) || stored.contains(*memory))) return true;
      }
      if (!is_behind) continue;
      if (!has_others || has_met) settled.insert(block);
      for (auto* next : llvm::successors(block)) {
        if (places.lookup(next) > place) behind.insert(next);
      }
    }
  }
  return false;
}

// By block, the smallest number of a meeting point that it can lead to within one iteration. Optimisers turn branches around, and the
// numbers tell which way comes first in the source.
llvm::DenseMap<const llvm::BasicBlock*, std::uint32_t> first_meetings(llvm::Function& function) {
  llvm::DenseMap<const llvm::BasicBlock*, std::uint32_t> result;
  for (auto* block : llvm::post_order(&function)) {
    std::uint32_t first = ~0U;
    for (auto& instruction : *block) {
      const auto service = requested_service(instruction);
      if (service && *service <= abi::kReconverge) first = std::min(first, site_of(llvm::cast<llvm::CallBase>(instruction)));
    }
    // What is not in the map yet lies behind the end of a loop.
    for (auto* next : llvm::successors(block)) {
      if (const auto found = result.find(next); found != result.end()) first = std::min(first, found->second);
    }
    result[block] = first;
  }
  return result;
}

llvm::Function* empty_like(llvm::Function& lane) {
  auto* function =
      llvm::Function::Create(lane.getFunctionType(), llvm::GlobalValue::InternalLinkage, "__assay_vector_entry", lane.getParent());
  function->setAttributes(lane.getAttributes());
  function->addFnAttr("prefer-vector-width", "512");
  function->addFnAttr("min-legal-vector-width", "512");
  return function;
}

}  // namespace

VectorKernel make_vector_kernel(llvm::Function& lane, llvm::GlobalVariable& services) {
  VectorKernel result;
  // The largest kernel of ours has 2,600. To compile vectors takes clang several times as long as to compile a lane.
  constexpr unsigned kMostInstructions = 10'000;
  if (const unsigned count = lane.getInstructionCount(); count > kMostInstructions) {
    result.refusal = "a kernel of " + llvm::utostr(count) + " instructions, more than " + llvm::utostr(kMostInstructions);
    return result;
  }
  settle_padding(lane);
  llvm::ValueToValueMapTy copied;
  auto* copy = llvm::CloneFunction(&lane, copied);
  reach_the_end(*copy);
  with_passes(*copy, [](llvm::FunctionPassManager& passes) {
    passes.addPass(llvm::UnifyFunctionExitNodesPass());
    passes.addPass(llvm::FixIrreduciblePass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(llvm::LCSSAPass());
  });
  {
    llvm::DominatorTree dominators(*copy);
    llvm::LoopInfo loops(dominators);
    llvm::PostDominatorTree joins(*copy);
    const Shapes shapes(*copy, loops, joins);
    auto* vector = empty_like(lane);
    result.needs_rows = shapes.needs_rows();
    if (meets_before_break(*copy, shapes, loops, dominators)) {
      result.refusal = "lanes may meet before a `break` of a loop that they leave in different iterations";
    } else {
      const auto meetings = first_meetings(*copy);
      const auto order = blocks_in_program_order(*copy, loops, [&](const llvm::BasicBlock& block) { return meetings.lookup(&block); });
      if (reads_what_others_store(order, shapes)) {
        result.refusal = "lanes on one way of a branch read memory to which lanes on another way store";
      } else {
        result.refusal = Widener(*copy, *vector, shapes, loops, order, services, lane.getName() == kVectorLane).run();
      }
    }
    if (result.refusal.empty()) {
      result.entry = vector;
    } else {
      vector->deleteBody();
      vector->eraseFromParent();
    }
  }
  copy->eraseFromParent();
  if (result.entry == nullptr) return result;
  std::string mistake;
  llvm::raw_string_ostream stream(mistake);
  if (llvm::verifyFunction(*result.entry, &stream)) {
    result.refusal = "internal: " + mistake;
    result.entry->eraseFromParent();
    result.entry = nullptr;
    return result;
  }
  with_passes(*result.entry, [](llvm::FunctionPassManager& passes) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
  });
  return result;
}

}  // namespace assay::metal::pass

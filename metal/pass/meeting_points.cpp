// Finds the meeting points of a kernel and numbers them.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "metal/pass/lockstep.h"
#include "metal/pass/reconvergence.h"
#include "metal/pass/services.h"

namespace assay::metal::pass {

Origin Lockstep::origin_of(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  std::optional<Origin> result;
  for (const auto* object : objects) {
    if (llvm::isa<llvm::UndefValue>(object) || llvm::isa<llvm::ConstantPointerNull>(object)) continue;
    const Origin origin = origin_of_object(object);
    if (result && (result->kind != origin.kind || result->buffer != origin.buffer)) return {};
    result = origin;
  }
  return result.value_or(Origin{});
}

Origin Lockstep::origin_of_object(const llvm::Value* object) {
  if (llvm::isa<llvm::AllocaInst>(object)) return {Origin::Kind::thread, 0};
  if (llvm::isa<llvm::GlobalVariable>(object)) return {Origin::Kind::program_constant, 0};
  const auto* call = llvm::dyn_cast<llvm::CallBase>(object);
  const auto* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return {};
  if (callee->getName() == "__assay_threadgroup_argument" || callee->getName() == "__assay_threadgroup_variable")
    return {Origin::Kind::threadgroup, 0};
  if (callee->getName() == "__assay_buffer") {
    if (const auto* index = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0))) return {Origin::Kind::buffer, index->getZExtValue()};
  }
  return {};
}

void Lockstep::mark(std::uint32_t& buffers, const Origin& origin) {
  if (origin.kind == Origin::Kind::buffer) buffers |= 1u << origin.buffer;
  if (origin.kind == Origin::Kind::unknown) buffers = ~0u;
}

// Records a write if it is a meeting point.
void Lockstep::visit_write(llvm::Instruction& instruction, const llvm::Value* destination) {
  const Origin origin = origin_of(destination);
  if (origin.kind == Origin::Kind::thread || origin.kind == Origin::Kind::program_constant) return;
  mark(written_buffers_, origin);
  sites_.push_back(&instruction);
  writes_.push_back(&instruction);
}

// Lanes wait behind a condition for those that stored under it. So all of them see the stores, and no optimiser moves what stands behind
// the condition to one of its ways: later stores to the same place would then come first.
void Lockstep::rejoin_after_writes() {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), false);
  for (auto* block : rejoining_blocks(*entry_, writes_, sites_)) {
    auto* call =
        llvm::CallInst::Create(type, module_.getOrInsertFunction(kReconvergeCall, type).getCallee(), "", block->getFirstInsertionPt());
    call->setDebugLoc(block->getTerminator()->getDebugLoc());
    sites_.push_back(call);
  }
}

void Lockstep::collect_sites() {
  llvm::SmallVector<llvm::Instruction*> finished_markers;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      visit_write(instruction, store->getPointerOperand());
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      mark(read_buffers_, origin_of(load->getPointerOperand()));
    } else if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
      mark(read_buffers_, origin_of(transfer->getSource()));
      visit_write(instruction, transfer->getDest());
    } else if (auto* fill = llvm::dyn_cast<llvm::MemSetInst>(&instruction)) {
      visit_write(instruction, fill->getDest());
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call != nullptr && call->getCalledFunction() != nullptr) {
      const auto name = call->getCalledFunction()->getName();
      if (name == "__assay_iteration_end") finished_markers.push_back(&instruction);
      const auto service = service_of(name);
      if (!service) continue;
      sites_.push_back(&instruction);
      if (*service == abi::kAtomic) {
        const Origin origin = origin_of(call->getArgOperand(2));
        mark(read_buffers_, origin);
        mark(written_buffers_, origin);
        if (origin.kind != Origin::Kind::threadgroup) has_device_atomics_ = true;
        writes_.push_back(&instruction);
      }
    }
  }
  for (auto* marker : finished_markers) marker->eraseFromParent();
}

void Lockstep::number_sites() {
  llvm::DominatorTree dominators(*entry_);
  llvm::LoopInfo loops(dominators);
  ordered_ = program_order(*entry_, loops, sites_);
  if (!count_iterations(*entry_, loops, sites_, *lane_)) {
    refuse(place_of(*sites_.front()), "loops around a SIMD-group function nest deeper than " + llvm::Twine(abi::kMaxLoopDepth));
  }
  mark_loops_without(loops, sites_);
  for (std::uint32_t number = 0; number < ordered_.size(); ++number) {
    places_.push_back(place_of(*ordered_[number].instruction));
    route_to_runtime(*ordered_[number].instruction, number);
  }
}

}  // namespace assay::metal::pass

// Inserts the waiting that lockstep execution implies around stores.
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "metal/pass/nvptx/nvptx_kernel.h"
#include "metal/pass/nvptx/participants.h"

namespace assay::metal::pass::nvptx {
namespace {

bool is_private(const llvm::Value* pointer) { return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)); }

const llvm::Value* destination_of(const llvm::Instruction& instruction) {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->getPointerOperand();
  if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) return memory->getRawDest();
  return nullptr;
}
const llvm::Value* source_of(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->getPointerOperand();
  if (const auto* memory = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) return memory->getRawSource();
  return nullptr;
}

bool is_shared_store(const llvm::Instruction& instruction) {
  const auto* destination = destination_of(instruction);
  return destination != nullptr && !is_private(destination);
}

}  // namespace

bool accesses_shared_memory(const llvm::Instruction& instruction) {
  const auto* source = source_of(instruction);
  return is_shared_store(instruction) || (source != nullptr && !is_private(source)) || callee_of(instruction) == "__assay_nvptx_atomic";
}

void keep_lockstep(llvm::Function& kernel, const Convergence& convergence, Participants& participants) {
  llvm::SetVector<llvm::Instruction*> waits;  // lanes wait in front of these
  llvm::SetVector<llvm::BasicBlock*> storing;
  for (auto& instruction : llvm::instructions(kernel)) {
    if (!is_shared_store(instruction) || !convergence.is_live(*instruction.getParent())) continue;
    storing.insert(instruction.getParent());
    waits.insert(&instruction);
    waits.insert(instruction.getNextNode());
  }
  for (auto& branch : kernel) {
    if (!convergence.parts(branch)) continue;
    const auto parted = convergence.parted_at(branch);
    if (llvm::none_of(parted, [&](llvm::BasicBlock* block) { return storing.contains(block); })) continue;
    waits.insert(branch.getTerminator());
    if (auto* meeting = convergence.meeting_block(branch)) waits.insert(&*meeting->getFirstInsertionPt());
  }
  auto* wait = llvm::Intrinsic::getDeclaration(kernel.getParent(), llvm::Intrinsic::nvvm_bar_warp_sync);
  for (auto* instruction : waits) {
    auto* lanes = participants.of(*instruction->getParent());
    // The first instruction of a block may be the vote that finds its lanes.
    auto* place = instruction == lanes ? instruction->getNextNode() : instruction;
    llvm::IRBuilder<>(place).CreateCall(wait, {lanes});
  }
}

}  // namespace assay::metal::pass::nvptx

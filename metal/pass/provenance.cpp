// Lists the buffers that each line of the kernel accesses, so that the report of an invalid access names the right one.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {

// A line of the reflection each: "buffers", the buffers as a bit each (bit 31: also other memory), the line and the file.
void Lockstep::list_buffers_of_lines() {
  // Most lines also read fields of structs, at constant offsets. Such accesses count only on lines without others.
  struct Buffers {
    std::uint32_t moving = 0, fixed = 0;
  };
  std::map<std::pair<std::string, std::uint32_t>, Buffers> lines;
  const auto note = [&](const llvm::Instruction& instruction, const llvm::Value* pointer) {
    const Origin origin = origin_of(pointer);
    if (origin.kind == Origin::Kind::thread || origin.kind == Origin::Kind::program_constant) return;
    const bool is_buffer = origin.kind == Origin::Kind::buffer && origin.buffer < abi::kMaxBuffers;
    const Place place = place_of(instruction);
    Buffers& buffers = lines[{place.file, place.line}];
    llvm::APInt offset(64, 0);
    const auto* base = pointer->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, /*AllowNonInbounds=*/true);
    (llvm::isa<llvm::CallBase>(base) ? buffers.fixed : buffers.moving) |= std::uint32_t{1}
                                                                          << (is_buffer ? origin.buffer : abi::kMaxBuffers);
  };
  for (const auto& instruction : llvm::instructions(*entry_)) {
    if (const auto* pointer = llvm::getLoadStorePointerOperand(&instruction)) note(instruction, pointer);
    if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) note(instruction, memory->getDest());
    if (const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) note(instruction, transfer->getSource());
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == "__assay_atomic")
      note(instruction, call->getArgOperand(2));
  }
  llvm::raw_string_ostream out(reflection_);
  for (const auto& [place, buffers] : lines)
    out << "buffers " << (buffers.moving != 0 ? buffers.moving : buffers.fixed) << ' ' << place.second << ' ' << place.first << '\n';
}

}  // namespace assay::metal::pass

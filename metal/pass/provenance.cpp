// Lists the buffers that each line of the kernel accesses, so that the report of an invalid access names the right one.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {

// A line of the reflection each: "buffers", those that are read and those that are written as a bit each (bit 31: also other memory), the
// line and the file.
void Lockstep::list_buffers_of_lines() {
  // Most lines also read fields of structs, at constant offsets. Such accesses count only on lines without others of their kind.
  struct Buffers {
    std::uint32_t moving = 0, fixed = 0;
    [[nodiscard]] std::uint32_t meant() const { return moving != 0 ? moving : fixed; }
  };
  struct Line {
    Buffers read, written;
  };
  std::map<std::pair<std::string, std::uint32_t>, Line> lines;
  const auto note = [&](const llvm::Instruction& instruction, const llvm::Value* pointer, Buffers Line::* how) {
    const Origin origin = origin_of(pointer);
    if (origin.kind == Origin::Kind::thread || origin.kind == Origin::Kind::program_constant) return;
    const bool is_buffer = origin.kind == Origin::Kind::buffer && origin.buffer < abi::kMaxBuffers;
    const Place place = place_of(instruction);
    Buffers& buffers = lines[{place.file, place.line}].*how;
    llvm::APInt offset(64, 0);
    const auto* base = pointer->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, /*AllowNonInbounds=*/true);
    (llvm::isa<llvm::CallBase>(base) ? buffers.fixed : buffers.moving) |= std::uint32_t{1}
                                                                          << (is_buffer ? origin.buffer : abi::kMaxBuffers);
  };
  for (const auto& instruction : llvm::instructions(*entry_)) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) note(instruction, load->getPointerOperand(), &Line::read);
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) note(instruction, store->getPointerOperand(), &Line::written);
    if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) note(instruction, memory->getDest(), &Line::written);
    if (const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) note(instruction, transfer->getSource(), &Line::read);
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == "__assay_atomic") {
      // What changes a value may fault when it reads.
      note(instruction, call->getArgOperand(2), &Line::read);
      note(instruction, call->getArgOperand(2), &Line::written);
    }
  }
  llvm::raw_string_ostream out(reflection_);
  for (const auto& [place, line] : lines)
    out << "buffers " << line.read.meant() << ' ' << line.written.meant() << ' ' << place.second << ' ' << place.first << '\n';
}

}  // namespace assay::metal::pass

// Maps the stacks of lanes, and prepares their first switch.
#include "metal/execute/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "metal/errors.h"

// The start of a flow. The stack holds its owner and its main.
#if defined(__aarch64__)
asm(R"(
  .text
  .globl assay_begin_flow
  .hidden assay_begin_flow
  .type assay_begin_flow, %function
assay_begin_flow:
  hint #36  // bti j
  ldp x0, x1, [sp], #32
  mov x29, xzr
  mov x30, xzr
  blr x1
  brk #1
  .size assay_begin_flow, . - assay_begin_flow
)");
#else
asm(R"(
  .text
  .globl assay_begin_flow
  .hidden assay_begin_flow
  .type assay_begin_flow, @function
assay_begin_flow:
  popq %rdi
  popq %rax
  xorl %ebp, %ebp
  callq *%rax
  ud2
  .size assay_begin_flow, . - assay_begin_flow
)");
#endif

namespace assay::metal::execute {

namespace {

// Lanes run the same code at the same depth. With stacks equally far from a page boundary, the hot lines of all 32 would compete for
// the same few sets of the first-level cache. An odd number of lines between them spreads them over all sets.
constexpr std::size_t kStagger = 9 * 64;

// Bytes from the bottom of one stack to that of the next: a page more than a stack needs. An odd number of pages also spreads the hot
// pages of all lanes over all sets of the processor's TLB. With a power of two, every switch waited for the TLB, which took a seventh
// of the simulator's time.
std::size_t spacing() {
  static const std::size_t bytes = StackPool::kStackBytes + static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

StackPool::~StackPool() {
  for (auto* block : blocks_) munmap(block, spacing() * kStacksPerBlock);
}

void StackPool::grow(std::size_t index) {
  while (index / kStacksPerBlock >= blocks_.size()) {
    void* block = mmap(nullptr, spacing() * kStacksPerBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
      throw EnvironmentError(std::string("no memory for the stacks of 32 lanes (16 MiB of address space): ") + std::strerror(errno));
    blocks_.push_back(static_cast<std::byte*>(block));
    for (std::size_t stack = 0; stack < kStacksPerBlock; ++stack) mprotect(blocks_.back() + stack * spacing(), kGuardBytes, PROT_NONE);
  }
}

std::byte* StackPool::bottom(std::size_t index) {
  grow(index);
  return blocks_[index / kStacksPerBlock] + (index % kStacksPerBlock) * spacing();
}

std::byte* StackPool::top(std::size_t index) { return bottom(index) + kStackBytes - (index % kStacksPerBlock) * kStagger; }

}  // namespace assay::metal::execute

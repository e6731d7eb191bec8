// Stacks and switches for lanes: one fiber per lane, each of which resumes the next without a scheduler in between.
#pragma once

#include <cstddef>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define ASSAY_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASSAY_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ASSAY_ADDRESS_SANITIZER
#define ASSAY_ADDRESS_SANITIZER 0
#endif
#if ASSAY_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace assay::metal::execute {

// The point at which a suspended flow of control resumes.
struct Suspended {
  void* context = nullptr;
#if ASSAY_ADDRESS_SANITIZER
  // AddressSanitizer tracks every stack and must be notified of each switch.
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
#endif
};

#if ASSAY_ADDRESS_SANITIZER
// The flow that was suspended last; the sanitizer describes its stack when a switch completes.
inline thread_local Suspended* last_suspended = nullptr;
#endif

// Suspends the running flow in `from` and resumes `to`; returns when `from` is resumed. Exceptions must not cross a switch.
//
// A lane mostly resumes at the very instruction at which the lane before it was suspended, below the same calls. The switch is a jump
// that is compiled into the caller, so the processor's return prediction stays right. It saves only state that differs between lanes,
// so not the floating-point control words. Boost.Context does neither, and took half of the simulator's time (5.65 against 3.6 times
// the scalar loop of tests/bench/speed_test.cpp when it was replaced, on the same machine).
inline void switch_flow(Suspended& from, Suspended& to) {
#if ASSAY_ADDRESS_SANITIZER
  last_suspended = &from;
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
  void** save = &from.context;
  void* load = to.context;
  // The 128 bytes below the stack pointer (the red zone) belong to the function into which this is compiled.
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %%rbp\n\t"
      "pushq %%rbx\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "popq %%rbx\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(save), "+S"(load)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
        "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#if ASSAY_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(from.fake_stack, &last_suspended->stack_bottom, &last_suspended->stack_bytes);
#endif
}

// Completes the switch that started a flow. The flow's `main` must call it first.
inline void flow_begun() {
#if ASSAY_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &last_suspended->stack_bottom, &last_suspended->stack_bytes);
#endif
}

#if !defined(__x86_64__)
#error "metal/execute/fiber.h switches stacks on x86-64 only: other processors need their own few instructions here"
#endif

extern "C" void assay_begin_flow();

// Makes `flow` start in `main` when it is first resumed. `main` gets `owner` and must never return. `stack_top` is aligned to 16 bytes.
inline void prepare_flow(Suspended& flow, void* owner, std::byte* stack_top, std::size_t stack_bytes, void (*main)(void*)) {
  // assay_begin_flow pops this frame; the stack is then aligned as a call requires.
  auto** frame = reinterpret_cast<void**>(stack_top) - 5;
  frame[0] = reinterpret_cast<void*>(&assay_begin_flow);
  frame[1] = owner;
  frame[2] = reinterpret_cast<void*>(main);
  frame[3] = frame[4] = nullptr;
  flow.context = frame;
#if ASSAY_ADDRESS_SANITIZER
  flow.stack_bottom = stack_top - stack_bytes;
  flow.stack_bytes = stack_bytes;
#else
  static_cast<void>(stack_bytes);
#endif
}

// Memory for the stacks of the lanes of one worker, reserved at once and touched only where used. A stack that overflows hits
// a guard page.
class StackPool {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{512} << 10;
  static constexpr std::size_t kGuardBytes = std::size_t{64} << 10;  // unmapped, at the bottom of each stack

  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  // The highest usable address of the stack of lane `index`, 16-byte aligned. Throws EnvironmentError if there is no memory.
  std::byte* top(std::size_t index);
  // The lowest address of that stack.
  std::byte* bottom(std::size_t index);

 private:
  static constexpr std::size_t kStacksPerBlock = 32;
  void grow(std::size_t index);
  std::vector<std::byte*> blocks_;
};

}  // namespace assay::metal::execute

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

// Stores the place of the running flow in `save`, and continues at `load`.
inline void jump(void** save, void* load) {
#if defined(__x86_64__)
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
#elif defined(__aarch64__)
  // x18 to x28 and the vector registers are clobbered, so the compiler saves those that it uses. It may need x19 and x29 to find its
  // variables, so these are saved here. There is no red zone. `bti j` is needed where jumps have to be to such a place.
  register void** to_save __asm__("x0") = save;
  register void* to_load __asm__("x1") = load;
  asm volatile(
      "stp x29, x19, [sp, #-32]!\n\t"
      "adr x9, 1f\n\t"
      "str x9, [sp, #16]\n\t"
      "mov x10, sp\n\t"
      "str x10, [%0]\n\t"
      "mov sp, %1\n\t"
      "ldr x9, [sp, #16]\n\t"
      "br x9\n"
      "1:\n\t"
      "hint #36\n\t"  // bti j
      "ldp x29, x19, [sp], #32"
      : "+r"(to_save), "+r"(to_load)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20", "x21", "x22",
        "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
        "memory", "cc");
#else
#error "metal/execute/fiber.h switches stacks on x86-64 and 64-bit ARM: other processors need their own few instructions here"
#endif
}

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
  jump(&from.context, to.context);
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

extern "C" void assay_begin_flow();

// Makes `flow` start in `main` when it is first resumed. `main` gets `owner` and must never return. `stack_top` is aligned to 16 bytes.
inline void prepare_flow(Suspended& flow, void* owner, std::byte* stack_top, std::size_t stack_bytes, void (*main)(void*)) {
  // assay_begin_flow pops this frame; the stack is then aligned as a call requires.
#if defined(__aarch64__)
  auto** frame = reinterpret_cast<void**>(stack_top) - 4;
  frame[0] = owner;
  frame[1] = reinterpret_cast<void*>(main);
  frame[2] = reinterpret_cast<void*>(&assay_begin_flow);
  frame[3] = nullptr;
#else
  auto** frame = reinterpret_cast<void**>(stack_top) - 5;
  frame[0] = reinterpret_cast<void*>(&assay_begin_flow);
  frame[1] = owner;
  frame[2] = reinterpret_cast<void*>(main);
  frame[3] = frame[4] = nullptr;
#endif
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

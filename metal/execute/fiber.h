// Stacks and switches for lanes: one fiber a lane, resumed lane to lane without a scheduler in between.
#pragma once

#include <boost/context/detail/fcontext.hpp>
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

using Context = boost::context::detail::fcontext_t;

// Where a suspended flow of control can be resumed. A flow that has not begun learns from `owner` what it is.
struct Suspended {
  Context context = nullptr;
  void* owner = nullptr;
#if ASSAY_ADDRESS_SANITIZER
  // AddressSanitizer keeps books on every stack and must hear of each switch.
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
#endif
};

struct Switch {
  Suspended* from;
  Suspended* to;
};

// Suspends the running flow in `from` and resumes `to`; returns when somebody resumes `from`.
inline void switch_flow(Suspended& from, Suspended& to) {
  Switch request{&from, &to};
#if ASSAY_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
  const auto arrived = boost::context::detail::jump_fcontext(to.context, &request);
  Suspended& previous = *static_cast<Switch*>(arrived.data)->from;
  previous.context = arrived.fctx;
#if ASSAY_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(from.fake_stack, &previous.stack_bottom, &previous.stack_bytes);
#endif
}

// Makes `flow` begin in `main` (which must never return) when it is first resumed. `main` must call begun() first.
inline void prepare_flow(Suspended& flow, void* owner, std::byte* stack_top, std::size_t stack_bytes,
                         void (*main)(boost::context::detail::transfer_t)) {
  flow.owner = owner;
  flow.context = boost::context::detail::make_fcontext(stack_top, stack_bytes, main);
#if ASSAY_ADDRESS_SANITIZER
  flow.stack_bottom = stack_top - stack_bytes;
  flow.stack_bytes = stack_bytes;
#endif
}

// Completes the switch that began this flow and returns its owner.
inline void* begun(boost::context::detail::transfer_t arrived) {
  const auto* request = static_cast<Switch*>(arrived.data);
  Suspended& previous = *request->from;
  previous.context = arrived.fctx;
#if ASSAY_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &previous.stack_bottom, &previous.stack_bytes);
#endif
  return request->to->owner;
}

// Memory for the stacks of one worker's lanes, reserved at once and touched only where used. A stack that overflows hits a
// page that nobody may touch.
class StackPool {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{512} << 10;
  static constexpr std::size_t kGuardBytes = std::size_t{64} << 10;  // of those, at the bottom, that nobody may touch

  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  // The highest usable address of the stack of lane `index`, 16-byte aligned. Throws EnvironmentError out of memory.
  std::byte* top(std::size_t index);
  // The lowest address of that stack.
  std::byte* bottom(std::size_t index);

 private:
  static constexpr std::size_t kStacksPerBlock = 32;
  void grow(std::size_t index);
  std::vector<std::byte*> blocks_;
};

}  // namespace assay::metal::execute

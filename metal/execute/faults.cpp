#include "metal/execute/faults.h"

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <memory>
#include <mutex>

namespace assay::metal::execute {

namespace {

struct Guard {
  sigjmp_buf escape;
  Fault fault;
};

thread_local Guard* current_guard = nullptr;

const void* stack_pointer_of(void* context) {
  [[maybe_unused]] const auto* state = static_cast<const ucontext_t*>(context);
#if defined(__linux__) && defined(__x86_64__)
  return reinterpret_cast<const void*>(state->uc_mcontext.gregs[REG_RSP]);
#elif defined(__linux__) && defined(__aarch64__)
  return reinterpret_cast<const void*>(state->uc_mcontext.sp);
#else
  return nullptr;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  if (guard == nullptr) {
    // Not a kernel's fault: let it have its usual effect when the instruction runs again.
    ::signal(signal, SIG_DFL);
    return;
  }
  current_guard = nullptr;
  guard->fault = {info->si_addr, info->si_code != SI_KERNEL, stack_pointer_of(context), signal};
  siglongjmp(guard->escape, 1);
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
  });
}

// A lane whose own stack has overflowed has no room for the handler: it gets a stack of its own, one per CPU thread.
class HandlerStack {
 public:
  HandlerStack() {
    stack_t stack = {};
    stack.ss_sp = memory_->data();
    stack.ss_size = memory_->size();
    sigaltstack(&stack, nullptr);
  }
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;
  ~HandlerStack() {
    stack_t stack = {};
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  std::unique_ptr<std::array<std::byte, kBytes>> memory_ = std::make_unique<std::array<std::byte, kBytes>>();
};

}  // namespace

std::optional<Fault> run_guarded(const std::function<void()>& body) {
  install_handlers();
  static thread_local HandlerStack handler_stack;
  Guard guard;
  if (sigsetjmp(guard.escape, 1) != 0) return guard.fault;
  current_guard = &guard;
  body();
  current_guard = nullptr;
  return std::nullopt;
}

}  // namespace assay::metal::execute

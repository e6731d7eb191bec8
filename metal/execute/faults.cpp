// Handles the signals of faults inside kernels.
#include "metal/execute/faults.h"

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <memory>
#include <mutex>

#include "metal/execute/stray_pages.h"

namespace assay::metal::execute {

namespace {

struct Guard {
  sigjmp_buf escape;
  Fault fault;
  const ContainFault* contain = nullptr;
  StrayPages pages;
  bool keeps_pages = false;  // of the open pages
};

thread_local Guard* current_guard = nullptr;

#if !defined(__linux__) || !defined(__x86_64__)
#error "metal/execute/faults.cpp reads the registers of x86-64 Linux"
#endif

// From the error code that the processor gives for a page fault.
constexpr greg_t kWrites = 2;
constexpr greg_t kFetches = 16;
// From the flags: the processor traps after the next instruction.
constexpr greg_t kTrap = 256;

bool contains(Guard& guard, const Fault& fault, greg_t error, int code) {
  if (fault.signal != SIGSEGV || !fault.address_known || (error & kFetches) != 0) return false;
  const bool is_nothing = code == SEGV_MAPERR || guard.pages.keeps(fault.address);
  if (!StrayPages::can_open(fault.address, is_nothing)) return false;
  const Containment answer = (*guard.contain)(fault);
  if (answer == Containment::end || !guard.pages.open(fault.address)) return false;
  // An instruction may fault several times, once per page.
  guard.keeps_pages = answer == Containment::pages && !fault.is_write;
  return true;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  if (guard == nullptr) {
    // Not a fault of a kernel: the signal gets its default effect when the instruction runs again.
    ::signal(signal, SIG_DFL);
    return;
  }
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Fault fault{info->si_addr,
                    info->si_code != SI_KERNEL,
                    reinterpret_cast<const void*>(registers[REG_RSP]),
                    reinterpret_cast<const void*>(registers[REG_RIP]),
                    (registers[REG_ERR] & kWrites) != 0,
                    signal};
  if (contains(*guard, fault, registers[REG_ERR], info->si_code)) {
    registers[REG_EFL] |= kTrap;
    return;
  }
  current_guard = nullptr;
  guard->fault = fault;
  siglongjmp(guard->escape, 1);
}

// Called after an instruction that was let through.
void on_trap(int signal, siginfo_t*, void* context) {
  Guard* guard = current_guard;
  if (guard == nullptr || !guard->pages.is_open()) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  guard->pages.close(guard->keeps_pages);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrap;
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
    action.sa_sigaction = on_trap;
    sigaction(SIGTRAP, &action, nullptr);
  });
}

// A lane whose stack has overflowed has no room for the handler, so the handler runs on a separate stack, one per CPU thread.
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

std::optional<Fault> run_guarded(const std::function<void()>& body, const ContainFault& contain) {
  install_handlers();
  static thread_local HandlerStack handler_stack;
  static thread_local Guard guard;
  guard.contain = &contain;
  if (sigsetjmp(guard.escape, 1) != 0) {
    guard.pages.clear();
    return guard.fault;
  }
  current_guard = &guard;
  body();
  current_guard = nullptr;
  guard.pages.clear();
  return std::nullopt;
}

}  // namespace assay::metal::execute

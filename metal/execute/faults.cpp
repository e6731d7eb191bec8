// Handles the signals of faults inside kernels.
#include "metal/execute/faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>

#include "metal/execute/fault_context.h"
#include "metal/execute/stray_pages.h"
#include "metal/guarded_memory.h"

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

// Asks what to do about a fault, and maps a page there unless that is to end.
bool opens(Guard& guard, const Fault& fault, bool is_nothing) {
  if (!StrayPages::can_open(fault.address, is_nothing || guard.pages.keeps(fault.address))) return false;
  const Containment answer = (*guard.contain)(fault);
  if (answer == Containment::end || !guard.pages.open(fault.address)) return false;
  // An instruction may fault several times, once per page.
  guard.keeps_pages = answer == Containment::pages && !fault.is_write;
  return true;
}

#if defined(__x86_64__)

bool contains(Guard& guard, FaultContext& context, const Fault& fault, int code) {
  if (fault.signal != SIGSEGV || !fault.address_known || context.is_fetch()) return false;
  if (!opens(guard, fault, code == SEGV_MAPERR)) return false;
  context.trap_after_next(true);
  return true;
}

#else

// Whether nothing is mapped there, of a page at which no access has faulted yet.
bool is_unmapped(const std::byte* address) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~(page - 1)), 1, &resident) != 0 && errno == ENOMEM;
}

// The access is carried out here, between opening the pages that it touches and closing them.
bool contains(Guard& guard, FaultContext& context, const Fault& fault, int code) {
  if (fault.signal != SIGSEGV || !fault.address_known || context.is_fetch()) return false;
  const auto access = context.access();
  if (!access || !opens(guard, fault, code == SEGV_MAPERR)) return false;
  // The faulting address is the first one of its page, if the access begins in the page before; or there is one behind.
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t first = access->address, last = first + std::max(access->bytes, 1U) - 1;
  const auto here = reinterpret_cast<std::uint64_t>(fault.address);
  if (access->part_count != 0 && last / page != here / page) {
    Fault next = fault;
    const auto* begin = reinterpret_cast<const std::byte*>(last / page * page);
    next.address = begin;
    const bool is_nothing = is_unmapped(begin);
    const bool is_there = guard.pages.keeps(begin) && !access->is_store;
    if (!is_there && (is_nothing || GuardedMemory::is_guard(begin)) && !opens(guard, next, is_nothing)) {
      guard.pages.close(false);
      return false;
    }
  }
  context.carry_out(*access);
  guard.pages.close(guard.keeps_pages);
  return true;
}

#endif

void on_fault(int signal, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  if (guard == nullptr) {
    // Not a fault of a kernel: the signal gets its default effect when the instruction runs again.
    ::signal(signal, SIG_DFL);
    return;
  }
  FaultContext interrupted(signal, *info, *static_cast<ucontext_t*>(context));
  const Fault fault = interrupted.fault();
  if (contains(*guard, interrupted, fault, info->si_code)) return;
  current_guard = nullptr;
  guard->fault = fault;
  siglongjmp(guard->escape, 1);
}

#if defined(__x86_64__)
// Called after an instruction that was let through.
void on_trap(int signal, siginfo_t* info, void* context) {
  Guard* guard = current_guard;
  if (guard == nullptr || !guard->pages.is_open()) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  guard->pages.close(guard->keeps_pages);
  FaultContext(signal, *info, *static_cast<ucontext_t*>(context)).trap_after_next(false);
}
#else
constexpr auto on_trap = on_fault;
#endif

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

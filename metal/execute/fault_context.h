// What a handler of a fault reads of the interrupted thread, and how it lets the instruction that faulted through.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "metal/execute/faults.h"

#if defined(__aarch64__)
#include <optional>

#include "metal/execute/arm_access.h"
#endif

namespace assay::metal::execute {

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "metal/execute/fault_context.h reads the registers of x86-64 and 64-bit ARM under Linux"
#endif

class FaultContext {
 public:
  FaultContext(int signal, const siginfo_t& info, ucontext_t& context) : signal_(signal), info_(info), context_(context) {}

  [[nodiscard]] Fault fault() const;
  // Whether an instruction was to be read there.
  [[nodiscard]] bool is_fetch() const;

#if defined(__x86_64__)
  // The processor traps after the next instruction, until it is told not to.
  void trap_after_next(bool traps);
#else
  // What the instruction does with memory; nothing if it is of another kind. carry_out() continues behind it.
  [[nodiscard]] std::optional<ArmAccess> access() const;
  void carry_out(const ArmAccess& access);
#endif

 private:
  int signal_;
  const siginfo_t& info_;
  ucontext_t& context_;
};

}  // namespace assay::metal::execute

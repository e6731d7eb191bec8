// Turns a processor fault inside a kernel (an unmapped address, a stack overflow) into a value, or into a harmless access.
#pragma once

#include <csetjmp>
#include <functional>
#include <optional>

namespace assay::metal::execute {

struct Fault {
  const void* address = nullptr;        // the accessed address
  bool address_known = true;            // x86 does not report addresses of more than 47 bits
  const void* stack_pointer = nullptr;  // of the flow that caused the fault
  const void* instruction = nullptr;
  const void* caller = nullptr;  // where the processor keeps it in a register: what a function without calls returns to
  bool is_write = false;
  int signal = 0;
};

// How a fault of a data access is handled.
enum class Containment {
  end,    // run_guarded() returns the fault
  once,   // reads get poison, writes are discarded
  pages,  // reads get poison; until run_guarded() returns, further reads of the page do too, without a report. Writes: as `once`
};

// Called while the faulting instruction waits, on a stack of a few tens of KiB. It must not need a lock that the
// interrupted code holds.
using ContainFault = std::function<Containment(const Fault&)>;

// Runs `body` on the calling thread and returns the fault that ended it, if any. Flows to which `body` switched may fault too. After a
// fault all of them are abandoned, without running destructors. `contain` is called for faults at unmapped addresses and at guards of a
// GuardedMemory. From its answer until the next instruction has executed, no other thread may run kernels.
std::optional<Fault> run_guarded(const std::function<void()>& body, const ContainFault& contain);

}  // namespace assay::metal::execute

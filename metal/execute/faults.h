// Turns a processor fault inside a kernel (an address that nobody owns, a stack that overflows) into a value, or into an access that does
// no harm.
#pragma once

#include <csetjmp>
#include <functional>
#include <optional>

namespace assay::metal::execute {

struct Fault {
  const void* address = nullptr;        // what was touched
  bool address_known = true;            // x86 does not tell it where it is out of any range
  const void* stack_pointer = nullptr;  // of the flow that touched it
  const void* instruction = nullptr;
  bool is_write = false;
  int signal = 0;
};

// What becomes of a fault that an access to data made.
enum class Containment {
  end,    // run_guarded() returns it
  once,   // reads get poison, writes are forgotten
  pages,  // the same, and further reads of the page get poison too and are told to nobody while run_guarded() runs. Of a write: as `once`
};

// Decides while the faulting instruction waits, on a stack of a few ten KiB. It runs in no other flow's place: what it does must not need
// what the interrupted code holds.
using ContainFault = std::function<Containment(const Fault&)>;

// Runs `body` on the calling thread and returns the fault that ended it, if one did. Flows that `body` switched to may fault
// as well; all of them are abandoned then, without running destructors. `contain` is asked about faults at addresses where nothing is, or
// the guard of a GuardedMemory; no other thread may run kernels from its answer on until the next instruction is executed.
std::optional<Fault> run_guarded(const std::function<void()>& body, const ContainFault& contain);

}  // namespace assay::metal::execute

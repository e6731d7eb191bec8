// Turns a processor fault inside a kernel (an address that nobody owns, a stack that overflows) into a value.
#pragma once

#include <csetjmp>
#include <functional>
#include <optional>

namespace assay::metal::execute {

struct Fault {
  const void* address = nullptr;        // what was touched
  bool address_known = true;            // x86 does not tell it where it is misaligned for a vector or out of any range
  const void* stack_pointer = nullptr;  // of the flow that touched it
  int signal = 0;
};

// Runs `body` on the calling thread and returns the fault that ended it, if one did. Flows that `body` switched to may fault
// as well; all of them are abandoned then, without running destructors.
std::optional<Fault> run_guarded(const std::function<void()>& body);

}  // namespace assay::metal::execute

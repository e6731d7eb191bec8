// The driver of GPUs, as child processes load it.
#pragma once

#include <functional>
#include <memory>

#include "metal/devices/cuda/driver.h"

namespace assay::harness {

using LoadDriver = std::function<std::unique_ptr<metal::cuda::Driver>()>;

// What child processes load from now on; for tests without a GPU.
[[nodiscard]] LoadDriver& used_driver();

// For a child, before it loads the driver: forgets the environment but for what the driver needs, and gives up its rights
// (base::confine_driver). base::prepare_sandbox() must have been called in the parent.
void become_driver_process();

}  // namespace assay::harness

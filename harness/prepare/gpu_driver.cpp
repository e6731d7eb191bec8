// Prepares a process for the driver of a GPU.
#include "harness/prepare/gpu_driver.h"

#include <cstdlib>
#include <string>

#include "base/sandbox.h"

namespace assay::harness {
namespace {

// The driver reads which GPUs it may see. Its cache of compiled code would be a file that one kernel writes and another one runs.
void keep_environment_of_driver() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string kept = visible == nullptr ? "" : visible;
  const bool is_set = visible != nullptr;
  base::forget_environment();
  if (is_set) setenv("CUDA_VISIBLE_DEVICES", kept.c_str(), 1);
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
}

}  // namespace

LoadDriver& used_driver() {
  static LoadDriver load = metal::cuda::load_driver;
  return load;
}

void become_driver_process() {
  keep_environment_of_driver();
  base::confine_driver();
}

}  // namespace assay::harness

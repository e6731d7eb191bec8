// Code for a GPU: the driver links the PTX of a kernel once, and all processes take it from the cache of compiled kernels.
//
// What a stranger's PTX becomes is believed only from a process that has run no kernel: one that has may be in the hands of that kernel. So
// the driver links in a process of its own, which has the kernels of one source only. It hands the code to this process, which seals it
// in the cache (metal/compile/cache.h) under a name that says the PTX, the GPU and the driver.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "metal/compile/cache.h"
#include "metal/devices/cuda/gpu.h"
#include "metal/devices/device.h"

namespace assay::harness {

class LinkedCode {
 public:
  // `device` must have a `code_for`. The directory is that of the cache; empty: the user's. Throws metal::EnvironmentError.
  LinkedCode(metal::DeviceChoice device, std::filesystem::path directory);

  // The code of a kernel with its PTX, with at most that many registers per thread (0: no limit). From the cache; else the driver links it.
  // nullptr if it cannot; problem() says why. What is returned stays where it is.
  [[nodiscard]] const metal::cuda::LinkedKernel* find(const metal::cuda::Kernel& kernel, unsigned registers);

  // Links what the cache lacks, without a limit of registers: each inner vector has kernels of one source. Starts up to `jobs` processes at
  // a time; this process must have one thread.
  void make_ahead(const std::vector<std::vector<metal::cuda::Kernel>>& sources, unsigned jobs);

  // The first failure: "the driver does not compile 'f': ptxas ..."; empty: none.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  class Linking;

  [[nodiscard]] std::string entry_of(const metal::cuda::Kernel& kernel, unsigned registers) const;
  // Writes what a process has linked into the cache.
  void keep(Linking& linking);
  void fail(const std::string& entry, const std::string& problem);
  // Whether to try: a driver that cannot link at all would cost time with every kernel.
  [[nodiscard]] bool is_worth_trying(const std::string& entry) const;

  metal::DeviceChoice device_;
  metal::compile::Cache cache_;
  std::map<std::string, metal::cuda::LinkedKernel> found_;  // by entry
  std::set<std::string> failed_;                            // entries
  bool has_linked_ = false;
  bool gives_up_ = false;
  std::string problem_;
};

}  // namespace assay::harness

// A small kernel that does nothing but 8x8 multiply-accumulates, with a result that is known exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"

namespace assay::tests {

// Every SIMD-group adds the product A B of two 8x8 matrices of small integers to an accumulator, over and over.
class MatrixSetup {
 public:
  MatrixSetup(std::uint32_t threadgroups, std::uint32_t simdgroups_per_threadgroup, std::uint32_t multiplies_per_simdgroup);

  // Runs the kernel once on one thread, in a fresh Simulator.
  void run();

  // What one run must do: one multiply for all 32 lanes of a SIMD-group.
  [[nodiscard]] std::uint64_t multiplies() const {
    return std::uint64_t{threadgroups_} * simdgroups_per_threadgroup_ * multiplies_per_simdgroup_;
  }
  [[nodiscard]] std::span<const float> output() const { return out_->as<float>(); }  // [simdgroups, 8, 8]
  [[nodiscard]] std::vector<float> expected() const;                                 // likewise, in integer arithmetic
  [[nodiscard]] const std::vector<metal::Hazard>& hazards() const { return hazards_; }
  [[nodiscard]] const metal::ExecutionCounters& counters() const { return counters_; }

 private:
  std::uint32_t threadgroups_, simdgroups_per_threadgroup_, multiplies_per_simdgroup_;
  std::shared_ptr<metal::Library> library_;
  std::unique_ptr<metal::Buffer> a_, b_, out_;
  std::vector<metal::Hazard> hazards_;
  metal::ExecutionCounters counters_;
};

}  // namespace assay::tests

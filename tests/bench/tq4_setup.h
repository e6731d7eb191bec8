// One tq4 decode case, made ready so that the scalar loop, the simulator and the oracle each run on the same stored bits.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "families/shared/decode_launch.h"
#include "fixtures/generators.h"
#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "oracles/attention.h"
#include "oracles/expected.h"

namespace assay::tests {

// The case that issue 2 sets a time for: D = 256, H = 8, G = 2, n = 1024, everything visible, one workgroup per head.
[[nodiscard]] oracles::DecodeShape reference_shape();

// The kernel is translated, compiled and bound by the constructor, so that a run costs what executing costs.
class Tq4Setup {
 public:
  // Throws what loading and compiling variant tq4_v1 throws. `shape` has no ring and no window.
  explicit Tq4Setup(const oracles::DecodeShape& shape);

  // Each call is one whole evaluation of all heads.
  void run_scalar();
  void run_simulator(metal::Policy policy = metal::Policy::native);  // one thread, a fresh Simulator, as the harness has for every case
  void run_oracle();                                                 // value and bound

  [[nodiscard]] const oracles::DecodeShape& shape() const { return shape_; }
  [[nodiscard]] const fixtures::DecodeInputs& inputs() const { return inputs_; }
  [[nodiscard]] std::span<const float> half_q() const { return half_q_; }                      // [H, D], q rounded to half
  [[nodiscard]] std::span<const float> scalar_output() const { return scalar_output_; }        // [H, D]
  [[nodiscard]] std::span<const float> simulator_output() const { return dst_->as<float>(); }  // [H, D]
  [[nodiscard]] const oracles::Expected& expected() const { return expected_; }
  [[nodiscard]] const std::vector<metal::Hazard>& hazards() const { return hazards_; }  // of the last run_simulator()
  [[nodiscard]] const metal::ExecutionCounters& counters() const { return counters_; }  // likewise

 private:
  oracles::DecodeShape shape_;
  fixtures::DecodeInputs inputs_;
  std::vector<float> half_q_;  // what a kernel makes of q before it uses it
  std::vector<float> scores_;
  std::vector<float> scalar_output_;
  oracles::AttentionAccuracy accuracy_;
  oracles::Expected expected_;
  std::shared_ptr<metal::Library> library_;
  std::optional<kernels::BoundKernel> kernel_;
  families::DecodeParameters parameters_;
  std::unique_ptr<metal::Buffer> q_, k_packed_, k_norms_, v_packed_, v_norms_, dst_;
  std::vector<metal::Hazard> hazards_;
  metal::ExecutionCounters counters_;
};

}  // namespace assay::tests

// Where kernels are executed: the simulator, or a GPU through the CUDA driver.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace assay::metal {

struct DeviceChoice {
  enum class Kind { simulator, cuda } kind = Kind::simulator;
  unsigned number = 0;  // of a GPU, as the driver counts them

  // Of a GPU only.
  bool keeps_lockstep = false;         // what a lane stores, the other lanes of its simdgroup see at once, as on the simulator
  bool is_fast = false;                // fast mathematics
  std::string architecture = "sm_90";  // that kernels are compiled for
  std::string code_for = {};           // GPU and driver, for which alone compiled code is good; empty: not known, so that none is kept
  std::chrono::duration<double> limit = std::chrono::seconds(60);  // for the dispatches of a pass; 0: none

  [[nodiscard]] bool is_gpu() const { return kind != Kind::simulator; }
  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

// "simulator", "cuda" and "cuda:1"; nothing for any other text.
[[nodiscard]] std::optional<DeviceChoice> parse_device(std::string_view text);
// The same text again: "cuda" for the first GPU.
[[nodiscard]] std::string to_string(const DeviceChoice& device);

}  // namespace assay::metal

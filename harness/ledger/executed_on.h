// The device on which a run executed its cases, from the options that repeat it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay::harness {

// "simulator", "cuda", "cuda:1", "cuda, fast mathematics", "cuda, in lockstep". `words`: RunDescription::replay_options.
[[nodiscard]] std::string device_of(std::span<const std::string> words);
// The same within a sentence: "executed on the simulator".
[[nodiscard]] std::string executed_on(std::span<const std::string> words);
// Whether the options ask for fast mathematics.
[[nodiscard]] bool is_fast(std::span<const std::string> words);

}  // namespace assay::harness

// Tries a repair on more cases than those by which it was found.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// For what was found in seconds, all cases are worth more.
inline constexpr std::chrono::duration<double> kConfirmation = std::chrono::seconds(60);

struct Confirmation {
  std::size_t given = 0, healed = 0;   // failing cases tried, and those that the repair makes pass
  std::size_t smoke = 0, passing = 0;  // cases of suite `smoke` tried, and those that pass
  bool is_complete = true;             // false: the time was over before all were tried
  bool breaks = false;                 // a case that passed before fails with the repair; nothing further was tried
  std::vector<Case> broken;            // that case

  [[nodiscard]] bool is_full() const { return !breaks && is_complete && healed == given && passing == smoke; }
};

// Runs `given`, which fail without the repair, and suite `smoke` of the variant, the cheapest first. `before`: the unrepaired kernel.
[[nodiscard]] Confirmation confirm(Laboratory& before, Laboratory& repaired, std::span<const Case> given,
                                   std::chrono::duration<double> budget);

// "all 12 failing cases and all 100 supported cases of suite smoke pass".
[[nodiscard]] std::string to_text(const Confirmation& confirmation);

}  // namespace assay::harness

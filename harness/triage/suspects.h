// The source lines that may be to blame for a finding, the likeliest first.
#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/laboratory.h"
#include "harness/triage/triage.h"

namespace assay::harness {

// The repaired source, if a difference was found that makes the cases pass.
struct Blame {
  std::vector<Suspect> suspects;
  std::string repaired;  // the whole text; empty if nothing was found
};

// Undoes differences from right sources of the family until the cases pass.
[[nodiscard]] Blame blame_differences(const Laboratory& laboratory, std::span<const Case> cases, const TriageOptions& options);

// Whether the variant with this text in place of its own passes all of these cases.
[[nodiscard]] bool passes_all(const Laboratory& laboratory, const std::string& text, std::span<const Case> cases);

// What makes failing cases pass and leaves passing ones alone: where there is no right source to hold the kernel against.
[[nodiscard]] Blame blame_small_edits(const Laboratory& laboratory, std::string_view kind, std::span<const Case> failing,
                                      std::span<const Case> passing, std::chrono::duration<double> budget);

// A laboratory whose variant has this text.
[[nodiscard]] Laboratory with_text(const Laboratory& laboratory, const std::string& text);

// The places of hazards, and, if asked for, where shadows say that an error is made or born.
[[nodiscard]] std::vector<Suspect> observed_suspects(Laboratory& laboratory, const Finding& finding, bool with_shadows);

// Fills Suspect::context.
void add_context(Suspect& suspect);

}  // namespace assay::harness

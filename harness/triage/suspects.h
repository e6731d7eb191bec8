// The source lines that may cause a finding, the most likely first.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/laboratory.h"
#include "harness/triage/slices.h"
#include "harness/triage/triage.h"

namespace assay::harness {

// The repaired source, if undoing a difference makes the cases pass.
struct Blame {
  std::vector<Suspect> suspects;
  std::string repaired;     // the whole text with the first repair; empty if none was found
  bool is_partial = false;  // whether some failing cases fail with it: there may be another mistake
  bool is_guess = false;    // whether it is no repair: it only gets further than the kernel does without
  std::string_view kind;    // the class that the repair shows; empty if it shows none
  // Of a partial repair: the class of what it leaves, and what that class says; empty if no class explains it.
  std::string_view left_kind = {};
  std::string left_says = {};
  std::string_view says = {};  // what the repair does, if it shows a class
  // Of a repair of two mistakes: the line of the second, and what its repair shows, as above.
  std::uint32_t second_line = 0;
  std::string_view second_kind = {}, second_says = {};
};

// Undoes differences from correct sources of the family until the cases pass.
[[nodiscard]] Blame blame_differences(const Laboratory& laboratory, std::span<const Case> cases, const TriageOptions& options);

// Whether the variant passes all of these cases with `text` as its source.
[[nodiscard]] bool passes_all(const Laboratory& laboratory, const std::string& text, std::span<const Case> cases);

// What the landmarks of a failing case say.
struct WrongLandmark {
  Case test_case;
  std::size_t first = 0, all = 0;  // the first wrong one, and how many there are
  std::string_view name;
};

// What an edit must not break, and where to try first.
struct EditSearch {
  std::string_view kind;          // the class of the mistake
  bool is_kind_sure = false;      // whether it explains the outputs
  std::span<const Case> failing;  // at least one; the first is the cheapest
  std::span<const Case> passing;
  std::span<const Case> given;               // all failing cases of the run, to confirm an edit that passes those
  const LineSuspicion* suspicion = nullptr;  // nullptr: every line is as likely
  const WrongLandmark* landmarks = nullptr;  // nullptr: nothing is known of them
  std::chrono::duration<double> budget = {};
  std::function<void(std::size_t, std::size_t)> edits_tried = {};  // TriageOptions::edits_tried
};

// Finds an edit that makes failing cases pass and keeps passing ones: for kernels without a correct source to compare with.
[[nodiscard]] Blame blame_small_edits(const Laboratory& laboratory, const EditSearch& search);

// A laboratory for the variant with `text` as its source.
[[nodiscard]] Laboratory with_text(const Laboratory& laboratory, const std::string& text);

// A place that a run has shown; nullopt if its line is not known.
[[nodiscard]] std::optional<Suspect> suspect_at(const Laboratory& laboratory, const metal::SourceLocation& place, std::string why);

// The places of hazards and, if requested, the lines where shadows show that an error is made or becomes large.
[[nodiscard]] std::vector<Suspect> observed_suspects(Laboratory& laboratory, const Finding& finding, bool with_shadows);

// Fills Suspect::context.
void add_context(Suspect& suspect);

}  // namespace assay::harness

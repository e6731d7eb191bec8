// Tries one mutant: compiles it, runs cases until one of them notices, and says what came of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/run/verdict.h"
#include "kernels/variant.h"

namespace assay::harness {

enum class Fate {
  killed,      // a case did not pass
  survived,    // every case passed
  equivalent,  // compiles to the same code as the original
  stillborn,   // does not compile, or lacks what the family needs: nobody could have shipped it
  unjudged,    // interrupted, or the harness failed
};
[[nodiscard]] std::string_view to_string(Fate fate);

struct TrialResult {
  Fate fate = Fate::unjudged;
  Status verdict = Status::passed;  // of the case that killed it
  std::string case_name;            // that case
  std::string reason;               // why the case failed, the mutant is stillborn or nothing could be judged; one line
  std::size_t cases = 0;            // how many were run
  double slowest_seconds = 0;       // the longest of them, wall clock
  bool is_cached = false;           // known from an earlier run

  // A text of lines `key value`, and back. Decoding throws std::invalid_argument for anything that encode() does not write.
  [[nodiscard]] std::string encode() const;
  static TrialResult decode(std::string_view text);
};

struct TrialSubject {
  std::vector<kernels::Variant> catalogue;  // the variant, and those it may borrow from
  std::string variant;                      // name of the one whose source is mutated
  std::vector<Case> cases;                  // in the order of their suite
  kernels::FieldValues fields;              // `--set`
  std::string judge_version;                // identifies what judges: results of another one are not reused
};

class Trial {
 public:
  // Compiles the original. Throws what Library and Workbench throw, and std::invalid_argument if there is no such variant or no case.
  explicit Trial(TrialSubject subject);

  // Cases run in an order that finds most mistakes early: for each function of the family a few short cases first, then all that remain.
  // A case that takes longer than `timeout` kills the mutant. Must be called where no other thread runs (run_cases()). Results
  // are kept in the cache of compiled kernels and found there again, unless the source includes files of its own.
  [[nodiscard]] TrialResult run(const std::string& mutated, std::chrono::duration<double> timeout) const;

  // The text of the original source.
  [[nodiscard]] const std::string& original() const { return original_; }
  [[nodiscard]] const kernels::Variant& variant() const;

 private:
  [[nodiscard]] TrialResult run_uncached(const std::string& mutated, std::chrono::duration<double> timeout) const;
  [[nodiscard]] bool compiles_to_the_same(const std::string& mutated) const;
  [[nodiscard]] std::string cache_key(const std::string& mutated) const;

  TrialSubject subject_;
  std::string original_;
  std::vector<std::vector<Case>> stages_;
  std::string toolchain_;
  std::set<metal::PipelineDescriptor> functions_;                  // that the cases run
  std::set<std::string, std::less<>> helper_families_;             // whose functions are dispatched as well
  std::map<metal::PipelineDescriptor, std::string> code_digests_;  // of the original's functions
  bool has_includes_ = false;
};

}  // namespace assay::harness

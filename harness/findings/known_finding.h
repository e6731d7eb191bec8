// Known findings: failures that a variant.toml declares, so that they neither fail a gate nor are forgotten.
//
//   when   = "n <= 32 && nwg == 4"       a predicate over the case
//   shows  = "nan || hazard:invalid_access@kernel.metal:41"
//
// `when` is an expression of kernels/expression.h with integers: axes, also by their short names n (kv_len), cap (kv_capacity), d
// (head_dim), h (n_heads), g (n_kv_heads), window (sliding_window); seed; and fixture, which is compared with the name of a fixture. A
// predicate that divides by zero or overflows does not match. A quantity (Family::quantities) exists for some families only. It is computed
// from the whole mask, so it should come last.
//
// Grammar of `shows`: alternatives joined by "||", each one of
//
//   nan | inf | not_written     elements that are NaN, infinite or were never written
//   error/bound > X             elements above their bound, the worst by more than X
//   failed                      any wrong output
//   hazard:KIND[@LINE|@FILE:LINE]   a kind of metal/hazard.h that is a defect, at the place if one is given
//   crashed | timeout | rejected    the verdict of that name
//
// Kinds of hazards that only `--policy checked` detects apply under that policy only. Every case that matches must fail in the declared
// way and in no other way. Every case that fails in that way must match.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/verdict.h"
#include "kernels/variant.h"
#include "metal/policy.h"

namespace assay::harness {

class KnownFinding {
 public:
  // Throws kernels::VariantError with file, line, the position in the text and what is accepted there.
  KnownFinding(const kernels::Variant& variant, const kernels::KnownFinding& declared);

  [[nodiscard]] bool matches(const Case& test_case) const;
  // Whether the verdict shows one of the alternatives.
  [[nodiscard]] bool is_shown_by(const Verdict& verdict) const;

  // Whether only the policy `checked` can detect it.
  [[nodiscard]] bool needs_checked() const;
  // Whether an output that a hazard cut short can show it.
  [[nodiscard]] bool is_of_hazards() const;

  // "kernels/x/variant.toml:12"
  [[nodiscard]] const std::string& place() const;
  [[nodiscard]] const kernels::KnownFinding& declared() const;

 private:
  friend void settle_known_findings(std::span<const KnownFinding> findings, Verdict& verdict, metal::Policy policy, bool sees_hazards);
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

// The known findings of a variant.
[[nodiscard]] std::vector<KnownFinding> known_findings_of(const kernels::Variant& variant);

// Applies the declared findings to a verdict:
// - If the case fails as every matching finding declares, and in no other way, it is Status::known. The first fault names the findings.
// - If it passed although a finding matches, it is Status::failed: the entry must be removed.
// - If it fails in another way, or as a finding whose `when` excludes the case, it stays a failure, and a fault says so.
//
// Findings that only `checked` can detect are ignored under other policies. Under `checked`, a hazard may have cut the output short, so
// a declared wrong output need not show if the case has a hazard.
//
// `sees_hazards`: false for a device that reports none. There a declared hazard may show as anything that it does to the outputs, or not at
// all: a case that passes stays passed, and one that fails is known.
void settle_known_findings(std::span<const KnownFinding> findings, Verdict& verdict, metal::Policy policy = metal::Policy::native,
                           bool sees_hazards = true);

}  // namespace assay::harness

// Known findings: failures that a variant.toml declares, so that they neither fail a gate nor fall into oblivion.
//
//   when   = "n <= 32 && nwg == 4"       a predicate over the case
//   shows  = "nan || hazard:invalid_access@kernel.metal:41"
//
// Grammar of `when` (blanks do not matter; usual precedence):
//
//   either  = both { "||" both }             both = not { "&&" not }           not = "!" not | comparison
//   compare = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum     = product { ("+" | "-") product }      product = factor { ("*" | "/" | "%") factor }      factor = "-" factor | atom
//   atom    = integer | axis | quantity | "seed" | "fixture" | "text" in double or single quotes | "(" either ")"
//
// An axis is one of the family's, or short for one: n (kv_len), cap (kv_capacity), d (head_dim), h (n_heads), g (n_kv_heads),
// window (sliding_window). Numbers are 64-bit integers, / cuts off; a predicate that divides by zero or overflows does not match.
// A quantity (Family::quantities) is known of some families only, and is made from the whole mask, so let it stand last.
// fixture is only compared with the name of one, by == and !=.
//
// Grammar of `shows`: alternatives joined by "||", each one of
//
//   nan | inf | not_written     elements that are NaN, infinite or were never written
//   error/bound > X             elements above their bound, the worst by more than X
//   failed                      any wrong output
//   hazard:KIND[@LINE|@FILE:LINE]   a kind of metal/hazard.h that is a defect, at the place if one is given
//   crashed | timeout | rejected    the verdict of that name
//
// Kinds of hazard that only `--policy checked` sees hold under it alone. Every case that matches must fail so, with nothing that is not
// declared, and every case that fails so must match.
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
  // Throws kernels::VariantError that names file, line, the place in the text and what is accepted there.
  KnownFinding(const kernels::Variant& variant, const kernels::KnownFinding& declared);

  [[nodiscard]] bool matches(const Case& about) const;
  // Whether the verdict shows what one of the alternatives says.
  [[nodiscard]] bool is_shown_by(const Verdict& verdict) const;

  // Whether nothing but the policy `checked` can show it.
  [[nodiscard]] bool needs_checked() const;
  // Whether an output that a hazard cut short can show it.
  [[nodiscard]] bool is_of_hazards() const;

  // "kernels/x/variant.toml:12"
  [[nodiscard]] const std::string& place() const;
  [[nodiscard]] const kernels::KnownFinding& declared() const;

 private:
  friend void settle_known_findings(std::span<const KnownFinding> findings, Verdict& verdict, metal::Policy policy);
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

// Those of a variant.
[[nodiscard]] std::vector<KnownFinding> known_findings_of(const kernels::Variant& variant);

// Lays the declared findings over a verdict:
// - it fails as every finding that matches the case declares, and shows nothing beyond: Status::known, its first fault says which;
// - it passed although one matches: Status::failed, because the entry must be struck;
// - it fails otherwise, or as a finding whose `when` does not include the case: the failure stays, a fault says so.
// Findings that only `checked` can show do not count under other policies.
// Under `checked` a hazard that is declared excuses a wrong output that is declared too: whether it would have shown cannot be told.
void settle_known_findings(std::span<const KnownFinding> findings, Verdict& verdict, metal::Policy policy = metal::Policy::native);

}  // namespace assay::harness

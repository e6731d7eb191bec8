// Parsers of the two small languages of a known finding. Internal to known_finding.cpp and its parsers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/verdict.h"

namespace assay::harness {

// A text that cannot be parsed. what() gives the position and what is accepted there.
class FindingSyntaxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// nullopt if the predicate has no value: a division by zero, an overflow.
using Predicate = std::function<std::optional<bool>(const Case&)>;
[[nodiscard]] Predicate parse_predicate(std::string_view text, const Family& family);

// The symptoms of a verdict that signatures can name.
enum class Symptom { nan, infinite, not_written, above_bound, hazard, crashed, timeout, rejected, other };

struct Signature {
  bool any_failure = false;  // `failed`
  Symptom symptom = Symptom::other;
  double ratio = 0;         // above_bound: the worst must exceed this
  std::string hazard_kind;  // hazard: as written, with '_' for blanks
  std::string file;         // hazard: empty: any
  std::uint32_t line = 0;   // hazard: 0: any

  // Whether only the policy `checked` detects it.
  [[nodiscard]] bool needs_checked() const;
  // Whether the verdict has this symptom.
  [[nodiscard]] bool is_shown_by(const Verdict& verdict) const;
  // Whether this accounts for one hazard, or for one symptom that is not a hazard, of a verdict that has this symptom.
  [[nodiscard]] bool accounts_for(const metal::Hazard& hazard) const;
  [[nodiscard]] bool accounts_for(Symptom other) const;
};
[[nodiscard]] std::vector<Signature> parse_signatures(std::string_view text);

// The symptoms of a verdict other than hazards. Empty if there are hazards that decide the verdict alone.
[[nodiscard]] std::vector<Symptom> symptoms_of(const Verdict& verdict);

}  // namespace assay::harness

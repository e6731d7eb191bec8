// A finding of triage in words, as ledgers keep it and reports show it. Reports compute nothing of it again and read no source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace assay::harness {

// A line that probably causes the failures.
// Begins the `why` of a line that only may be the cause: no title names it.
inline constexpr std::string_view kPlaceToLook = "a place to look: ";

struct SuspectRecord {
  std::string file;
  std::uint32_t line = 0;
  std::string why;
  std::string excerpt;  // lines around it, each with its number; the line itself begins with '>'
  friend bool operator==(const SuspectRecord&, const SuspectRecord&) = default;
};

// A known mistake, and how well it explains the failures. Shares are from 0 to 1.
struct FitRecord {
  std::string kind, says;
  double explained = 0;                                          // of the error
  double exact = 0;                                              // of the failing cases: fully explained
  double unaffected = std::numeric_limits<double>::quiet_NaN();  // of the passing cases; NaN: none passed
};

struct FindingRecord {
  std::string variant;
  std::string kind, says;              // the class, and the mistake in words
  std::vector<std::string> evidence;   // for the class, a sentence each
  std::string smallest;                // the smallest case that fails so
  std::string status, reason, replay;  // of the smallest case
  std::string given;                   // the case from which it was found
  std::uint64_t tried = 0;             // number of cases run to find it
  std::uint64_t failing = 0;           // failing cases of the variant, of which `cases` are those with this cause
  std::vector<std::string> cases;
  std::vector<std::string> where, where_given;  // where the smallest and the given case are wrong
  std::vector<std::string> hazards;
  std::vector<std::string> near;  // cases near the smallest one and their outcomes
  std::vector<FitRecord> fits;    // best first
  std::vector<SuspectRecord> suspects;
  std::string diff;  // unified diff of the source and the repaired one, with which the failing cases pass; empty: none was found

  // "have this cause", as the repair shows; without one, cases only fail in the same way.
  [[nodiscard]] std::string_view share_it() const {
    const bool is_one = cases.size() == 1;
    if (diff.empty()) return is_one ? "fails in this way" : "fail in this way";
    return is_one ? "has this cause" : "have this cause";
  }
};

}  // namespace assay::harness

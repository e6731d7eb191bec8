// A finding of triage with every member, for the tests of ledgers and reports.
#pragma once

#include <limits>
#include <string>

#include "harness/findings/finding_record.h"

namespace assay::tests {

// `text` is in every text.
inline harness::FindingRecord some_finding(const std::string& case_name, const std::string& text = "") {
  harness::FindingRecord finding;
  finding.variant = "fwht_v1";
  finding.kind = "wrong-factor" + text;
  finding.says = "a factor is wrong" + text;
  finding.evidence = {"it explains 99.0 % of the error" + text};
  finding.smallest = "fwht_v1/small" + text;
  finding.status = "failed" + text;
  finding.reason = "3 NaN" + text;
  finding.replay = "assay run fwht_v1/small" + text;
  finding.given = case_name;
  finding.tried = 7;
  finding.failing = 9;
  finding.cases = {case_name};
  finding.where = {"row 1" + text};
  finding.where_given = {"row 2" + text, "row 3"};
  finding.hazards = {"k.metal:4: out of bounds" + text};
  finding.near = {"passed fwht_v1/other" + text};
  finding.fits = {{"wrong-factor" + text, "twice" + text, 0.75, 0.5, std::numeric_limits<double>::quiet_NaN()}, {"b", "c", 0.5, 0, 1}};
  finding.suspects = {{"k.metal" + text, 12, "undone, it passes" + text, "   11 | a\n>  12 | b" + text}};
  finding.diff = "--- a/k.metal\n+++ b/k.metal\n@@ -12 +12 @@\n-b\n+c" + text + "\n";
  return finding;
}

}  // namespace assay::tests

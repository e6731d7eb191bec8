// Groups failing cases by verdict, reason and place of the first hazard.
#include "reports/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/case_size.h"
#include "harness/triage/ordered.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;
using harness::Status;

// The reason without the numbers and files of one case.
using Wrong = std::vector<std::pair<harness::FaultKind, std::string>>;
using Key = std::tuple<std::string, std::string_view, Wrong, std::array<bool, 5>, std::string, std::uint32_t>;

Key key_of(const CaseRecord& record) {
  Key key{record.variant, status_name(record), {}, {}, {}, 0};
  for (const harness::Fault& fault : record.faults) std::get<2>(key).emplace_back(fault.kind(), harness::subject_of(fault));
  // The text of faults that an older assay recorded only as text.
  const harness::Judgement& j = record.judgement;
  if (harness::has_kind(record.faults, harness::FaultKind::told))
    std::get<3>(key) = {j.above_bound != 0, j.not_written != 0, j.nans != 0, j.infs != 0, j.guard_violations != 0};
  if (!record.hazards.empty()) {
    std::get<4>(key) = record.hazards.front().first.file;
    std::get<5>(key) = record.hazards.front().first.line;
  }
  return key;
}

double size_of(const CaseRecord& record) {
  try {
    return harness::size_of(harness::parse_case(record.name, families::find_family(record.family)));
  } catch (const std::invalid_argument&) {
    return std::numeric_limits<double>::infinity();  // a status of another version of assay
  }
}

int rank_of(const CaseRecord& record) {
  if (counts_as_failure(record)) return 0;
  return harness::is_expected_failure(*record.status) ? 1 : 2;
}

}  // namespace

std::string_view status_name(const CaseRecord& record) { return record.status ? harness::to_string(*record.status) : "no verdict"; }

bool counts_as_failure(const CaseRecord& record) { return !record.status || !harness::is_success(*record.status); }

std::size_t without_verdict(const harness::RunRecord& run) {
  return run.description.selected - std::min(run.verdicts, run.description.selected);
}

std::string outcome_text(const harness::RunRecord& run) {
  if (run.verdicts == 0 && run.description.selected != 0)
    return fmt::format("no verdict on any of the {} selected cases", grouped(run.description.selected));
  std::string text = fmt::format("{} of {} case{} failed", run.failures == 0 ? "none" : grouped(run.failures), grouped(run.verdicts),
                                 run.verdicts == 1 ? "" : "s");
  if (const std::size_t missing = without_verdict(run); missing != 0)
    return text + fmt::format(", {} of the {} selected {} no verdict", grouped(missing), grouped(run.description.selected),
                              missing == 1 ? "has" : "have");
  // A run merged from only some of its shards.
  return run.stopped ? text + ", and the run was stopped before every case had run" : text;
}

std::vector<harness::RemarkGroup> remark_groups(std::span<const CaseRecord> cases) {
  harness::RemarkGroups groups;
  for (const CaseRecord& record : cases) groups.add(record.variant, record.name, record.remarks);
  return groups.all();
}

std::vector<RunFinding> run_findings(std::span<const CaseRecord> cases) {
  std::map<Key, std::size_t> places;
  std::vector<RunFinding> findings;
  std::vector<double> smallest_sizes;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CaseRecord& record = cases[i];
    if (record.status == Status::passed) continue;
    const double size = size_of(record);
    const auto [place, is_new] = places.emplace(key_of(record), findings.size());
    if (is_new) {
      findings.push_back({record.variant, std::string(status_name(record)), counts_as_failure(record), {}, i, 0});
      smallest_sizes.push_back(size);
    }
    RunFinding& finding = findings[place->second];
    finding.members.push_back(i);
    // A ratio that is NaN was not compared.
    finding.largest_ratio = std::max(finding.largest_ratio, record.judgement.max_ratio);
    if (size < smallest_sizes[place->second]) {
      smallest_sizes[place->second] = size;
      finding.smallest = i;
    }
  }
  const double most = static_cast<double>(cases.size());
  harness::order_by(findings, [&](const RunFinding& finding) {
    return (most + 1) * rank_of(cases[finding.smallest]) - static_cast<double>(finding.members.size());
  });
  return findings;
}

}  // namespace assay::reports

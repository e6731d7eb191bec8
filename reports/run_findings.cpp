#include "reports/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "harness/cases/case.h"
#include "harness/triage/minimise.h"
#include "harness/triage/ordered.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;
using harness::Status;

// Words that name files, or some number of something, each as '#'.
std::string without_particulars(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank == std::string_view::npos ? blank : blank + 1);
    text.remove_prefix(word.size());
    if (word.find('/') != std::string_view::npos) {
      result += "# ";
      continue;
    }
    for (const char c : word) {
      const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
      if (!is_digit || !result.ends_with('#')) result += is_digit ? '#' : c;
    }
  }
  return result;
}

using Key = std::tuple<std::string, std::string_view, std::string, std::string, std::uint32_t>;

Key key_of(const CaseRecord& record) {
  Key key{record.variant, status_name(record), without_particulars(record.reason), {}, 0};
  if (!record.hazards.empty()) {
    std::get<3>(key) = record.hazards.front().first.file;
    std::get<4>(key) = record.hazards.front().first.line;
  }
  return key;
}

double size_of(const CaseRecord& record) {
  try {
    return harness::size_of(harness::parse_case(record.name, families::find_family(record.family)));
  } catch (const std::invalid_argument&) {
    return std::numeric_limits<double>::infinity();  // a name of another version of assay
  }
}

int rank_of(const CaseRecord& record) {
  if (counts_as_failure(record)) return 0;
  return record.status == Status::known ? 1 : 2;
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
  // A run that was merged of some of its shards.
  return run.stopped ? text + ", and the run was ended before every case had run" : text;
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
    // A ratio that is no number was not compared.
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

// A run with one case of each kind, for the tests of reports.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/ledger/ledger.h"
#include "tests/support/files.h"

namespace assay::tests {

inline harness::CaseRecord record(std::string name, std::string family, std::string fixture, std::optional<harness::Status> status,
                                  double ratio) {
  harness::CaseRecord result;
  result.variant = family + "_v1";
  result.name = std::move(name);
  result.family = std::move(family);
  result.fixture = std::move(fixture);
  result.status = status;
  result.schedules = "forward";
  result.judgement.compared = 4;
  result.judgement.max_ratio = ratio;
  result.judgement.median_bound_ratio = ratio / 8;
  result.oracle_seconds = 0.25;
  result.simulator_seconds = 0.5;
  return result;
}

inline harness::RunRecord some_run() {
  harness::RunRecord run;
  run.id = 7;
  run.started = "2026-11-21T12:00:00Z";
  run.description.command = "assay gate --kernel 'a&b.metal'";
  run.description.replay_options = {"--kernel", "a&b.metal", "--family", "tq4"};
  run.description.version = "0.1.0";
  run.description.machine = "Linux test";
  run.description.outside_limits = 12;
  run.description.selected = 6;
  run.verdicts = 5;
  run.failures = 2;
  run.description.notes = {"declared accuracy of tq4_v1: accumulator half (<why>)",
                           "cases of d512 are skipped: a.metal has no function for it"};
  return run;
}

inline std::vector<harness::CaseRecord> some_cases() {
  using harness::Status;
  std::vector<harness::CaseRecord> cases = {
      record("tq4_v1/a", "tq4", "gauss", Status::passed, 0.5),  record("fwht_v1/b", "fwht", "gauss", Status::failed, 40),
      record("tq4_v1/c", "tq4", "drift", Status::timeout, 0),   record("tq4_v1/d", "tq4", "gauss", Status::skipped, 0),
      record("tq4_v1/e", "tq4", "gauss", Status::passed, 0.75), record("tq4_v1/f", "tq4", "gauss", std::nullopt, 0)};
  harness::CaseRecord& failed = cases[1];
  failed.faults = {harness::fault::Told{"1 elements above their bound <&>"}};
  failed.schedules = "forward,reverse";
  failed.row_length = 2;
  failed.judgement.above_bound = 1;
  failed.judgement.worst = {{3, 0.5, 0.75, 0.00625, 40, harness::ElementFault::above_bound}};
  failed.hazards.push_back({metal::HazardKind::invalid_access, "f", "wild", {"k.metal", 12}, {}, 2});
  cases[2].faults = {harness::fault::Told{"no verdict after 60 s"}};
  cases[4].notes = {harness::note::Recorded{"in a process that had executed 1 other case, it was crashed"}};
  cases[3].faults = {harness::fault::NoFunction{"d512", "", "", {}}};
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}, std::size_t{5}}) cases[i].judgement = {};
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].axes = {{"nwg", i % 2 == 0 ? 1 : 16}};
  return cases;
}

// Everything that would be markup, or the end of it, somewhere.
inline constexpr const char* kHostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> ]]> \xC3( @here #1 `|`";

}  // namespace assay::tests

// Writes the pages that the browser test opens: `assay_browser_pages FILE CASES`. The cases are made up, and their texts are as bad as they
// get. With CASES `interrupted`: a run that was stopped with 104 of 200 cases done, one of whose variants mostly writes nothing. With
// CASES `decided`: two axes together decide which cases fail, neither tells anything alone; with earlier runs, and one to compare with.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "reports/html.h"

namespace {

using assay::harness::CaseRecord;
using assay::harness::Status;

constexpr const char* kHostile = "</script><script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\"><!-- 'quoted' \xC3(";

struct Variant {
  const char* name;
  const char* family;
  double typical;  // error / bound
};
constexpr Variant kVariants[] = {{"tq4_v1", "tq4", 0.02},          {"tqhb_v1", "tqhb", 0.05},
                                 {"tqhb_v2", "tqhb", 0.03},        {"reduce_v1", "reduce", 0.3},
                                 {"fwht_v1", "fwht", 0.2},         {"dequantize_v1", "dequantize", 0},
                                 {"bf16_vec_v2", "bf16_vec", 0.6}, {"bf16_prefill_v2", "bf16_prefill", 0.5}};
constexpr const char* kFixtures[] = {"gauss", "heavy", "outlier", "needle", "drift", "large", "ties"};

// Numbers that look accidental and are the same everywhere.
class Numbers {
 public:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33) % limit;
  }
  double share() { return static_cast<double>(below(1U << 20U)) / (1U << 20U); }

 private:
  std::uint64_t state_ = 7;
};

void fail(CaseRecord& record, std::size_t which, Numbers& numbers) {
  record.judgement.max_ratio = which == 1 ? std::numeric_limits<double>::infinity() : 2 + 1000 * numbers.share();
  record.status = which == 2 ? Status::hazard : which == 3 ? Status::known : Status::failed;
  namespace fault = assay::harness::fault;
  if (which == 2) {
    record.faults = {fault::Hazard{assay::metal::HazardKind::invalid_access, "flash_attn", kHostile, {"kernel.metal", 120}, false}};
  } else if (which == 4) {
    record.faults = {fault::Told{kHostile}};
  } else if (which == 1) {
    record.faults = {fault::Nan{1}};
  } else {
    record.faults = {fault::AboveBound{1 + numbers.below(500)}};
  }
  if (which == 3) record.known = {"FINDINGS.md#3"};
  if (which == 2) record.hazards = {{assay::metal::HazardKind::invalid_access, "flash_attn", kHostile, {"kernel.metal", 120}, {}, 3}};
  record.judgement.worst.clear();
  for (std::size_t k = 0; k < 8; ++k)
    record.judgement.worst.push_back({numbers.below(4096), numbers.share(), numbers.share(), 1e-6,
                                      record.judgement.max_ratio / (1.0 + static_cast<double>(k)),
                                      which == 1 ? assay::harness::ElementFault::nan : assay::harness::ElementFault::above_bound});
  record.judgement.above_bound = 8;
}

CaseRecord case_number(std::size_t i, Numbers& numbers) {
  const Variant& variant = kVariants[numbers.below(std::size(kVariants))];
  CaseRecord record;
  record.variant = variant.name;
  record.family = variant.family;
  record.fixture = kFixtures[numbers.below(std::size(kFixtures))];
  record.seed = i;
  const std::int64_t head_dim = numbers.below(2) == 0 ? 256 : 512;
  const auto kv_len = static_cast<std::int64_t>(1 + numbers.below(2048));
  const std::int64_t nwg = std::int64_t{1} << numbers.below(6);
  const std::int64_t nsg = std::int64_t{1} << numbers.below(3);
  record.axes = {{"head_dim", head_dim}, {"kv_len", kv_len}, {"nwg", nwg}, {"nsg", nsg}};
  record.name = fmt::format("{}/d{}/h8x2/kv{}c{}/ring0/win512/nwg{}/nsg{}/{}/s{}", record.variant, head_dim, kv_len, kv_len, nwg, nsg,
                            record.fixture, i);
  if (i == 17) record.name += kHostile;
  record.status = Status::passed;
  record.schedules = "forward";
  record.row_length = 256;
  record.judgement.compared = 4096;
  record.judgement.max_ratio = variant.typical * std::pow(10.0, numbers.share() - 1);
  record.judgement.median_bound_ratio = 1e-6 * (1 + numbers.share());
  record.judgement.worst = {
      {numbers.below(4096), numbers.share(), numbers.share(), 1e-6, record.judgement.max_ratio, assay::harness::ElementFault::none}};
  record.judgement.cosine = 1;
  record.counters.threadgroups = static_cast<std::uint64_t>(nwg) * 8;
  record.counters.meeting_points = static_cast<std::uint64_t>(kv_len * nwg);
  record.simulator_seconds = numbers.share() * 0.01;
  if (numbers.below(50) == 0) fail(record, numbers.below(6), numbers);
  if (numbers.below(200) == 0) {
    record.status = Status::skipped;
    record.faults = {assay::harness::fault::NoFunction{"d512", "", "", {}}};
    record.judgement = {};
  }
  return record;
}

std::vector<CaseRecord> interrupted_cases() {
  std::vector<CaseRecord> cases;
  for (std::size_t i = 0; i < 100; ++i) {
    CaseRecord& record = cases.emplace_back();
    record.variant = record.family = "reduce";
    record.fixture = "gauss";
    record.name = fmt::format("reduce/d256/rows{}/nwg2/gauss/s{}", i + 1, i);
    record.seed = std::numeric_limits<std::uint64_t>::max();
    record.axes = {{"rows", static_cast<std::int64_t>(i + 1)}, {"large", std::numeric_limits<std::int64_t>::max()}};
    record.status = i < 79 ? Status::failed : Status::passed;
    record.row_length = 256;
    if (i < 79) {
      record.faults = {assay::harness::fault::NotWritten{256}};
      record.judgement.not_written = 256;
      record.judgement.max_ratio = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < 8; ++k)
        record.judgement.worst.push_back(
            {k, 0.5, NAN, 1e-6, std::numeric_limits<double>::infinity(), assay::harness::ElementFault::not_written});
    } else {
      record.judgement.compared = 256;
      record.judgement.max_ratio = 0.01 * static_cast<double>(i - 60);
      record.judgement.median_bound_ratio = 1e-6;
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    cases.push_back(cases[99]);
    cases.back().variant = "other";
    cases.back().name = fmt::format("other/d256/rows{}/nwg2/gauss/s1", i + 1);
  }
  cases.back().status = Status::crashed;
  cases.back().faults = {assay::harness::fault::Killed{11, ""}};
  cases.back().judgement = {};
  cases.push_back(cases[100]);
  cases.back().name += "0";
  cases.back().status = std::nullopt;
  cases.back().judgement = {};
  return cases;
}

// What triage found for these cases. A source may contain anything, and lines longer than a phone is wide.
assay::harness::FindingRecord cause_of(std::vector<std::string> cases, const std::string& text) {
  assay::harness::FindingRecord cause;
  cause.variant = "tq4_v1";
  cause.kind = "oldest-key-lost";
  cause.says = "the oldest visible position is skipped" + text;
  cause.evidence = {"this mistake explains 100.0 % of the error of the failing cases" + text, "policy shadow: logic" + text};
  cause.replay = "assay run tq4_v1/d256/h1x1/kv1c1/ring0/nomask/nwg1/gauss/s1" + text;
  cause.failing = 20;
  cause.cases = std::move(cases);
  cause.suspects = {{"kernel.metal" + text, 118, "undoing this difference makes the failing cases pass" + text,
                     "   117 |         const uint logical = (slot - params.ring_start + cap) % cap;\n"
                     ">  118 |         const bool masked  = slot >= n || logical >= n || logical <= window_start;  // " +
                         text + "\n   119 |         const float mask   = masked ? kMasked : 0.0f;"}};
  cause.diff =
      "--- a/kernel.metal\n+++ b/kernel.metal\n@@ -117,3 +117,3 @@\n         const uint logical = (slot - params.ring_start + cap) % cap;\n"
      "-        const bool masked  = slot >= n || logical >= n || logical <= window_start;" +
      text + "\n+        const bool masked  = slot >= n || logical >= n || logical < window_start;" + text +
      "\n         const float mask   = masked ? kMasked : 0.0f;\n";
  return cause;
}

bool write(const char* file, const assay::harness::RunRecord& run, const std::vector<CaseRecord>& cases,
           const assay::reports::OtherRuns& others = {}) {
  std::ofstream stream(file, std::ios::binary);
  stream << assay::reports::html(run, cases, others);
  return stream.good();
}

constexpr const char* kSource = "kernel.metal";

void set_element(CaseRecord& record, double expected, double ratio) {
  constexpr double kBound = 1e-6;
  record.judgement.compared = 256;
  record.judgement.max_ratio = ratio;
  record.judgement.worst = {{3, expected, expected + ratio * kBound * expected, kBound * expected, ratio,
                             ratio > 1 ? assay::harness::ElementFault::above_bound : assay::harness::ElementFault::none}};
}

std::vector<CaseRecord> decided_cases() {
  std::vector<CaseRecord> cases;
  for (std::int64_t i = 0; i < 256; ++i) {
    const std::int64_t a = i % 4, b = i / 4 % 4, c = i / 16 % 4;
    CaseRecord& record = cases.emplace_back();
    record.variant = record.family = "reduce";
    record.fixture = kFixtures[i / 64];
    record.name = fmt::format("reduce/a{}/b{}/c{}/{}/s1", a, b, c, record.fixture);
    record.axes = {{"a", a}, {"b", b}, {"c", c}};
    record.digest = 7;
    const bool is_wrong = (a < 2) != (b < 2);
    record.status = is_wrong ? Status::failed : Status::passed;
    if (is_wrong) record.faults = {assay::harness::fault::AboveBound{1}};
    // Far apart, so that the axes of the scatter have gaps.
    set_element(record, (c == 3 ? 1e-30 : 1) * static_cast<double>(1 + i), is_wrong ? 50 : 0.1 + 0.003 * static_cast<double>(i));
    if (is_wrong && c == 0) {
      record.status = Status::hazard;
      record.hazards = {
          {assay::metal::HazardKind::device_race, "f", kHostile, {kSource, 120}, assay::metal::SourceLocation{kSource, 300}, 3}};
      record.faults = {assay::harness::fault::Hazard{assay::metal::HazardKind::device_race, "f", kHostile, {kSource, 120}, false}};
      for (std::uint32_t line = 117; line <= 123; ++line) record.lines.push_back({kSource, line, fmt::format("line {}", line)});
      record.lines[3].text = std::string("wild\x1b[31m \xE2\x80\xAE ") + kHostile;
    }
  }
  cases[0].judgement.worst[0].expected = 0;
  return cases;
}

// Twelve runs before, of which the last has the mistake already; that one is also compared with.
assay::reports::OtherRuns runs_before(const assay::harness::RunRecord& run, const std::vector<CaseRecord>& cases) {
  assay::reports::OtherRuns others;
  for (assay::harness::RunId id = run.id - 12; id < run.id; ++id) {
    assay::reports::PastRun& past = others.past.emplace_back();
    past.run = run;
    past.run.id = id;
    past.run.description.environment.compiler = id < 35 ? "another" : "";
    for (const CaseRecord& record : cases) {
      if (record.name == cases[5].name) continue;
      const bool was_wrong = record.status != Status::passed && id + 1 == run.id;
      past.outcomes.push_back({record.name, was_wrong ? *record.status : Status::passed, was_wrong ? 50 : 0.25, was_wrong ? 7U : 5U});
    }
  }
  std::vector<CaseRecord> before = cases;
  for (CaseRecord& record : before) {
    if (record.status == Status::hazard) continue;
    record.status = Status::passed;
    record.judgement.max_ratio = std::min(record.judgement.max_ratio, 0.5);
  }
  before[0].status = Status::failed;
  before[0].faults = {assay::harness::fault::Told{kHostile}};
  before[10].digest = 8;
  before.pop_back();
  before.push_back(cases[0]);
  before.back().name = kHostile;
  others.against = {{others.past.back().run, run, "other.sqlite", std::string("l") + kHostile, 0.05}, std::move(before)};
  return others;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: assay_browser_pages FILE CASES\n", stderr);
    return 2;
  }
  Numbers numbers;
  std::vector<CaseRecord> cases;
  assay::harness::RunRecord run;
  run.id = 42;
  run.started = "2026-11-21T12:00:00Z";
  run.finished = "2026-11-21T12:15:00Z";
  run.description.command = std::string("assay run full ") + kHostile;
  run.description.version = "0.1.0";
  run.description.machine = "Linux test";
  run.description.notes = {kHostile};
  if (words[2] == std::string("interrupted")) {
    cases = interrupted_cases();
    run.stopped = true;
    run.description.seed = std::numeric_limits<std::uint64_t>::max();
    run.description.selected = 200;
    run.verdicts = cases.size() - 1;
    run.failures = 80;
    return write(words[1], run, cases) ? 0 : 1;
  }
  if (words[2] == std::string("decided")) {
    cases = decided_cases();
    run.description.selected = run.verdicts = cases.size();
    run.failures = 128;
    return write(words[1], run, cases, runs_before(run, cases)) ? 0 : 1;
  }
  run.description.selected = run.verdicts = std::strtoul(words[2], nullptr, 10);
  for (std::size_t i = 0; i < run.verdicts; ++i) {
    cases.push_back(case_number(i, numbers));
    run.failures += !assay::harness::is_success(*cases.back().status);
  }
  std::vector<std::string> failing;
  for (const CaseRecord& record : cases) {
    if (record.status == Status::failed) failing.push_back(record.name);
  }
  if (failing.size() > 1) {
    const std::string last = failing.back();
    failing.pop_back();
    run.findings = {cause_of(std::move(failing), ""), cause_of({last}, kHostile)};
  }
  std::size_t remarks = 2;
  for (CaseRecord& record : cases) {
    if (record.variant != cases.front().variant || remarks == 0) continue;
    record.remarks = {{assay::metal::HazardKind::simdgroup_race, "flash_attn", kHostile, {"kernel.metal", 120}, {}, 3}};
    --remarks;
  }
  return write(words[1], run, cases) ? 0 : 1;
}

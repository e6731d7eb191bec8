// Writes histories of cases, and the comparison with another run, as the HTML page reads them.
#include "reports/page_others.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "harness/ledger/comparable.h"
#include "reports/json_text.h"
#include "reports/run_findings.h"

namespace assay::reports {
namespace {

std::string status_word(const std::optional<harness::Status>& status) {
  return status ? std::string(harness::to_string(*status)) : std::string("no verdict");
}

bool are_other_bits(std::uint64_t before, std::uint64_t after) { return before != 0 && after != 0 && before != after; }

bool is_same_ratio(double one, double other) { return one == other || (std::isnan(one) && std::isnan(other)); }

}  // namespace

Histories::Histories(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases, const OtherRuns& others)
    : run_(run), others_(others) {
  for (std::size_t i = 0; i < others.past.size(); ++i) {
    for (const harness::CaseOutcome& outcome : others.past[i].outcomes) seen_[outcome.name].emplace_back(i, &outcome);
  }
  // In the order of cases, so that the same run gives the same page.
  for (const harness::CaseRecord& record : cases) {
    if (const auto found = seen_.find(record.name); found != seen_.end()) sets_.try_emplace(set_of(found->second), sets_.size());
  }
}

std::vector<std::size_t> Histories::set_of(const std::vector<Seen>& seen) {
  std::vector<std::size_t> set;
  for (const auto& [run, outcome] : seen) set.push_back(run);
  return set;
}

PageJson Histories::runs_json() const {
  PageJson sets = PageJson::array();
  for (std::size_t i = 0; i < sets_.size(); ++i) sets.push_back(nullptr);
  for (const auto& [set, index] : sets_) sets[index] = set;
  PageJson json = {{"runs", json_list(others_.past,
                                      [&](const PastRun& past) -> PageJson {
                                        return {past.run.id, past.run.started, past.run.description.command,
                                                harness::differences_of(past.run.description, run_.description)};
                                      })},
                   {"sets", std::move(sets)}};
  if (!others_.trouble.empty()) json["trouble"] = others_.trouble;
  return json;
}

PageJson Histories::case_json(const harness::CaseRecord& record) const {
  const auto found = seen_.find(record.name);
  if (found == seen_.end()) return nullptr;
  PageJson changes = PageJson::array();
  const harness::CaseOutcome* before = nullptr;
  for (std::size_t place = 0; place < found->second.size(); ++place) {
    const harness::CaseOutcome& now = *found->second[place].second;
    const bool has_other_bits = before != nullptr && are_other_bits(before->digest, now.digest);
    if (before == nullptr || before->status != now.status || !is_same_ratio(before->max_ratio, now.max_ratio) || has_other_bits)
      changes.push_back({place, status_word(now.status), page_rounded(now.max_ratio, 4), has_other_bits ? 1 : 0});
    before = &now;
  }
  const bool is_other_now = are_other_bits(before->digest, record.digest);
  return {sets_.at(set_of(found->second)), std::move(changes), is_other_now ? 1 : 0};
}

PageJson against_json(const AgainstRun& against, std::span<const harness::CaseRecord> cases) {
  const harness::RunDifference difference = harness::difference_of(against.cases, cases, against.runs.drift);
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < cases.size(); ++i) places.emplace(cases[i].name, i);
  std::map<std::string_view, const harness::CaseRecord*> before;
  for (const harness::CaseRecord& record : against.cases) before.emplace(record.name, &record);

  PageJson changes = PageJson::array();
  std::map<std::string_view, bool> is_listed;
  const auto add = [&](const harness::CaseRecord& now, std::string_view kind) {
    const harness::CaseRecord& then = *before.at(now.name);
    changes.push_back({places.at(now.name), kind, status_word(then.status),
                       then.judgement.compared == 0 ? PageJson() : page_number(then.judgement.max_ratio),
                       are_other_bits(then.digest, now.digest) ? 1 : 0});
    is_listed[now.name] = true;
  };
  for (const auto& [list, kind] : {std::pair(&difference.broke, "broke"), std::pair(&difference.healed, "healed"),
                                   std::pair(&difference.changed, "changed"), std::pair(&difference.drifted, "drifted")}) {
    for (const harness::CaseChange& change : *list) add(cases[places.at(change.name)], kind);
  }
  for (const harness::CaseRecord& now : cases) {
    const auto then = before.find(now.name);
    if (then != before.end() && !is_listed.contains(now.name) && are_other_bits(then->second->digest, now.digest)) add(now, "other_bits");
  }
  const harness::RunRecord& run = against.runs.earlier;
  return {{"before",
           {{"id", run.id},
            {"file", against.runs.earlier_file},
            {"is_same_file", against.runs.earlier_file == against.runs.later_file},
            {"started", run.started},
            {"command", run.description.command},
            {"outcome", outcome_text(run)}}},
          {"summary", difference_summary(against.runs, difference)},
          {"environment", harness::differences_of(run.description, against.runs.later.description)},
          {"changes", std::move(changes)},
          {"only_before", difference.only_before},
          {"only_after", json_list(difference.only_after, [&](const std::string& name) { return PageJson(places.at(name)); })},
          {"costs", json_list(difference.costs,
                              [](const harness::CostChange& change) -> PageJson { return {change.figure, change.before, change.after}; })}};
}

}  // namespace assay::reports

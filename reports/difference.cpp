// The differences of two runs as text and JSON.
#include "reports/difference.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "harness/findings/fault_text.h"
#include "harness/ledger/comparable.h"
#include "reports/grouped.h"
#include "reports/json_text.h"
#include "reports/replay.h"

namespace assay::reports {
namespace {

using harness::CaseChange;
using Json = nlohmann::ordered_json;

std::string word_of(const std::optional<harness::Status>& status) {
  return status ? std::string(harness::to_string(*status)) : std::string("no verdict");
}

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

template <typename Entry, typename Line>
std::string list_of(std::string_view title, const std::vector<Entry>& entries, std::size_t longest, Line&& line) {
  if (entries.empty()) return {};
  std::string text = fmt::format("{} ({}):\n", title, grouped(entries.size()));
  for (std::size_t i = 0; i < std::min(longest, entries.size()); ++i) text += "  " + line(entries[i]) + '\n';
  if (entries.size() > longest) text += fmt::format("  and {} more\n", grouped(entries.size() - longest));
  return text;
}

std::string run_line(const harness::RunRecord& run, const std::string& file) {
  return fmt::format("run {} of {}, {}: {}, {} not passed", run.id, file, run.started, count_of(run.verdicts, "verdict"),
                     grouped(run.failures));
}

std::string status_change(const CaseChange& change) {
  return fmt::format("{}\n    {} -> {}{}{}", change.name, word_of(change.before), word_of(change.after), change.faults.empty() ? "" : ": ",
                     harness::reason_of(change));
}

std::string drift(const CaseChange& change) {
  return fmt::format("{}  {:.3g} -> {:.3g}", change.name, change.ratio_before, change.ratio_after);
}

Json json_of(const std::vector<CaseChange>& changes) {
  return json_list(changes, [](const CaseChange& change) -> Json {
    return {{"name", change.name},
            {"before", word_of(change.before)},
            {"after", word_of(change.after)},
            {"ratio_before", json_number(change.ratio_before)},
            {"ratio_after", json_number(change.ratio_after)},
            {"reason", harness::reason_of(change)}};
  });
}

Json json_of(const harness::RunRecord& run, const std::string& file) {
  return {{"ledger", file},           {"run", run.id},
          {"started", run.started},   {"command", run.description.command},
          {"verdicts", run.verdicts}, {"failures", run.failures},
          {"digest", run.digest}};
}

}  // namespace

std::string difference_summary(const ComparedRuns& runs, const harness::RunDifference& difference) {
  std::string text =
      fmt::format("{} in both: {} broke, {} healed, {} changed otherwise, {} drifted by more than {:g}; different bits in {}",
                  count_of(difference.in_both, "case"), difference.broke.size(), difference.healed.size(), difference.changed.size(),
                  difference.drifted.size(), runs.drift, grouped(difference.other_bits));
  if (difference.largest_drift > 0)
    text += fmt::format("; largest drift {:.3g} in {}", difference.largest_drift, difference.largest_drift_case);
  return text;
}

std::string difference_text(const ComparedRuns& runs, const harness::RunDifference& difference, std::size_t longest) {
  std::string text =
      fmt::format("before  {}\nafter   {}\n", run_line(runs.earlier, runs.earlier_file), run_line(runs.later, runs.later_file));
  const std::vector<std::string> environment = harness::differences_of(runs.earlier.description, runs.later.description);
  if (!environment.empty()) text += fmt::format("environments differ: {}\n", fmt::join(environment, "; "));
  text += '\n';
  text += list_of("broke", difference.broke, longest, [&](const CaseChange& change) {
    harness::CaseRecord record;
    record.name = change.name;
    return status_change(change) + "\n    again: " + replay_line(runs.later, record);
  });
  text += list_of("healed", difference.healed, longest, status_change);
  text += list_of("changed otherwise", difference.changed, longest, status_change);
  text += list_of(fmt::format("drifted by more than {:g} of their bounds", runs.drift), difference.drifted, longest, drift);
  text += list_of("only before", difference.only_before, longest, [](const std::string& name) { return name; });
  text += list_of("only after", difference.only_after, longest, [](const std::string& name) { return name; });
  text += list_of("cost", difference.costs, difference.costs.size(), [](const harness::CostChange& change) {
    // Values beyond the integers cannot have been counted, but a damaged ledger may contain them.
    const auto whole = [](double figure) { return grouped(static_cast<std::uint64_t>(std::min(figure, 0x1p63))); };
    return fmt::format("{}  {} -> {}  ({:+.2f} %)", change.figure, whole(change.before), whole(change.after),
                       100 * (change.after - change.before) / change.before);
  });
  return text + difference_summary(runs, difference) + '\n';
}

std::string difference_json(const ComparedRuns& runs, const harness::RunDifference& difference) {
  const auto costs = json_list(difference.costs, [](const harness::CostChange& change) -> Json {
    return {{"figure", change.figure}, {"before", change.before}, {"after", change.after}};
  });
  const Json document = {{"format", "assay-difference"},
                         {"version", kDifferenceVersion},
                         {"before", json_of(runs.earlier, runs.earlier_file)},
                         {"after", json_of(runs.later, runs.later_file)},
                         {"not_the_same", harness::differences_of(runs.earlier.description, runs.later.description)},
                         {"drift_limit", runs.drift},
                         {"in_both", difference.in_both},
                         {"other_bits", difference.other_bits},
                         {"largest_drift", json_number(difference.largest_drift)},
                         {"largest_drift_case", difference.largest_drift_case},
                         {"broke", json_of(difference.broke)},
                         {"healed", json_of(difference.healed)},
                         {"changed", json_of(difference.changed)},
                         {"drifted", json_of(difference.drifted)},
                         {"only_before", difference.only_before},
                         {"only_after", difference.only_after},
                         {"costs", costs}};
  return json_text(document);
}

}  // namespace assay::reports

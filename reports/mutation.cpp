// The result of mutation testing as text, Markdown and JSON.
#include "reports/mutation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"

namespace assay::reports {
namespace {

using harness::Fate;
using harness::JudgedMutant;
using harness::MutationScore;
using harness::Source;
using harness::Tally;

double percent(const Tally& tally) { return 100.0 * tally.score(); }

std::string score_of(const Tally& tally) { return tally.killed + tally.survived == 0 ? "-" : fmt::format("{:.1f} %", percent(tally)); }

std::string headline(const MutationRun& run, const MutationScore& score) {
  const Tally& tally = score.tally;
  const std::string of_all = run.all_mutants == tally.total() ? std::string() : fmt::format(" (a sample of {})", run.all_mutants);
  return fmt::format("{} mutants{} of {}: {} killed, {} survived, {} equivalent, {} stillborn{}; score {}", tally.total(), of_all,
                     run.variant, tally.killed, tally.survived, tally.equivalent, tally.stillborn,
                     tally.unjudged == 0 ? std::string() : fmt::format(", {} not judged", tally.unjudged), score_of(tally));
}

std::string killers(const MutationScore& score) {
  std::vector<std::string> parts;
  for (const auto& [status, count] : score.killers) parts.push_back(fmt::format("{} {}", to_string(status), count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string policies(const MutationScore& score) {
  std::vector<std::string> parts;
  for (const auto& [policy, count] : score.policies) parts.push_back(fmt::format("{} {}", to_string(policy), count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Mutants that were not judged, grouped by reason, because an interrupted run may leave hundreds.
std::string unjudged_lines(const MutationScore& score) {
  constexpr std::size_t kNamed = 3;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const JudgedMutant& judged : score.mutants) {
    if (judged.result.fate == Fate::unjudged) by_reason[judged.result.why()].push_back(judged.mutant.id());
  }
  std::string text;
  for (auto& [reason, ids] : by_reason) {
    const std::size_t count = ids.size();
    if (count > kNamed) {
      ids.resize(kNamed);
      ids.emplace_back("...");
    }
    text += fmt::format("not judged, {}: {} ({})\n", reason, count, fmt::join(ids, ", "));
  }
  return text;
}

// For example "12: 3 of 5 survived: `float S = 0;`"; only lines with survivors.
std::vector<std::string> weak_lines(const Source& source, const MutationScore& score) {
  std::vector<std::string> lines;
  for (const auto& [line, tally] : score.by_line) {
    if (tally.survived == 0) continue;
    lines.push_back(
        fmt::format("{}: {} of {} survived: {}", line, tally.survived, tally.killed + tally.survived, base::trimmed(source.line(line))));
  }
  return lines;
}

// Equivalent mutants grouped by reason, in order of first occurrence.
std::vector<std::pair<std::string, std::vector<const JudgedMutant*>>> by_reason(const MutationScore& score) {
  std::vector<std::pair<std::string, std::vector<const JudgedMutant*>>> groups;
  std::map<std::string, std::size_t> known;
  for (const JudgedMutant& judged : score.mutants) {
    if (judged.result.fate != Fate::equivalent) continue;
    const auto [place, is_new] = known.emplace(judged.equivalence, groups.size());
    if (is_new) groups.emplace_back(judged.equivalence, std::vector<const JudgedMutant*>{});
    groups[place->second].second.push_back(&judged);
  }
  return groups;
}

std::string original_text(const Source& source, const JudgedMutant& judged) {
  return source.text().substr(judged.mutant.offset, judged.mutant.length);
}

std::string change(const Source& source, const JudgedMutant& judged) {
  const std::string& now = judged.mutant.replacement;
  return fmt::format("{} -> {}", original_text(source, judged), now.empty() ? "(nothing)" : now);
}

std::vector<const JudgedMutant*> with_fate(const MutationScore& score, Fate fate) {
  std::vector<const JudgedMutant*> found;
  for (const JudgedMutant& judged : score.mutants) {
    if (judged.result.fate == fate) found.push_back(&judged);
  }
  return found;
}

nlohmann::ordered_json json_of(const Tally& tally) {
  return {{"killed", tally.killed},       {"survived", tally.survived}, {"equivalent", tally.equivalent},
          {"stillborn", tally.stillborn}, {"unjudged", tally.unjudged}, {"score", tally.score()}};
}

}  // namespace

std::string mutation_text(const MutationRun& run, const Source& source, const MutationScore& score) {
  std::string text;
  for (const JudgedMutant* survivor : with_fate(score, Fate::survived)) {
    text += fmt::format("survived {} after {} cases\n--- {}\n+++ mutant\n{}\n", survivor->mutant.id(), survivor->result.cases,
                        source.name(), diff_hunk(source, survivor->mutant));
  }
  for (const auto& [reason, group] : by_reason(score)) {
    text += fmt::format("equivalent: {}\n", reason);
    for (const JudgedMutant* judged : group) text += fmt::format("  {}  {}\n", judged->mutant.id(), change(source, *judged));
  }
  text += fmt::format("{:<15} {:>7} {:>9} {:>11} {:>10} {:>7}\n", "operator", "killed", "survived", "equivalent", "stillborn", "score");
  for (const std::string_view op : harness::operator_names()) {
    const auto found = score.by_operator.find(op);
    if (found == score.by_operator.end()) continue;
    const Tally& tally = found->second;
    const std::string figure = score_of(tally);
    text += fmt::format("{:<15} {:>7} {:>9} {:>11} {:>10} {:>7}\n", op, tally.killed, tally.survived, tally.equivalent, tally.stillborn,
                        figure);
  }
  for (const std::string& sentence : score.stale) text += fmt::format("stale: {}\n", sentence);
  for (const std::string& sentence : score.refuted) text += fmt::format("refuted: {}\n", sentence);
  for (const std::string& line : weak_lines(source, score)) text += fmt::format("line {}\n", line);
  if (!score.killers.empty()) text += fmt::format("killed by: {}; under policies: {}\n", killers(score), policies(score));
  text += fmt::format("{}; {} cases of suite {} under policies {}, executed on the simulator, in {:.1f} s\n", headline(run, score),
                      run.cases, run.suite, fmt::join(run.policies, ", "), run.seconds);
  if (score.tally.unjudged != 0)
    text +=
        unjudged_lines(score) +
        fmt::format("{} mutants are not yet judged and not in the score; run the same command again to continue\n", score.tally.unjudged);
  return text;
}

std::string mutation_markdown(const MutationRun& run, const Source& source, const MutationScore& score) {
  std::string text = fmt::format("# Mutants of {}\n\n{}.\n\n", run.variant, headline(run, score));
  text += fmt::format(
      "`{}`, {} cases of suite `{}` under the policies {}, executed on the simulator. Verdicts that killed: {}; policies: {}.\n\n",
      run.command, run.cases, run.suite, fmt::join(run.policies, ", "), killers(score), policies(score));
  text += "| operator | killed | survived | equivalent | stillborn |\n|---|---|---|---|---|\n";
  for (const std::string_view op : harness::operator_names()) {
    const auto found = score.by_operator.find(op);
    if (found == score.by_operator.end()) continue;
    const Tally& tally = found->second;
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", op, tally.killed, tally.survived, tally.equivalent, tally.stillborn);
  }
  text += "\n## Survivors\n\n";
  const auto survivors = with_fate(score, Fate::survived);
  if (survivors.empty()) text += "None.\n";
  for (const std::string& line : weak_lines(source, score)) text += fmt::format("- line {}\n", line);
  if (!survivors.empty()) text += "\n";
  for (const JudgedMutant* survivor : survivors) text += fmt::format("```diff\n{}```\n\n", diff_hunk(source, survivor->mutant));
  text += "\n## Equivalent mutants\n";
  for (const auto& [reason, group] : by_reason(score)) {
    text += fmt::format("\n{}:\n\n", reason);
    for (const JudgedMutant* judged : group) text += fmt::format("- `{}` `{}`\n", judged->mutant.id(), change(source, *judged));
  }
  return text;
}

std::string mutation_json(const MutationRun& run, const Source& source, const MutationScore& score) {
  nlohmann::ordered_json json = {{"variant", run.variant},       {"suite", run.suite},
                                 {"policies", run.policies},     {"command", run.command},
                                 {"cases", run.cases},           {"all_mutants", run.all_mutants},
                                 {"executed_on", "simulator"},   {"minimum_score", run.minimum_score},
                                 {"score", score.tally.score()}, {"seconds", run.seconds},
                                 {"tally", json_of(score.tally)}};
  json["operators"] = nlohmann::ordered_json::object();
  for (const auto& [op, tally] : score.by_operator) json["operators"][std::string(op)] = json_of(tally);
  json["killed_by"] = nlohmann::ordered_json::object();
  for (const auto& [status, count] : score.killers) json["killed_by"][std::string(to_string(status))] = count;
  json["killed_under"] = nlohmann::ordered_json::object();
  for (const auto& [policy, count] : score.policies) json["killed_under"][std::string(to_string(policy))] = count;
  json["lines"] = nlohmann::ordered_json::array();
  for (const auto& [line, tally] : score.by_line) {
    nlohmann::ordered_json entry = {{"line", line}, {"text", base::trimmed(source.line(line))}};
    entry.update(json_of(tally));
    json["lines"].push_back(std::move(entry));
  }
  json["mutants"] = nlohmann::ordered_json::array();
  for (const JudgedMutant& judged : score.mutants) {
    nlohmann::ordered_json mutant = {{"id", judged.mutant.id()},
                                     {"operator", judged.mutant.op},
                                     {"line", judged.mutant.line},
                                     {"column", judged.mutant.column},
                                     {"original", original_text(source, judged)},
                                     {"mutated", judged.mutant.replacement},
                                     {"fate", to_string(judged.result.fate)},
                                     {"cases", judged.result.cases},
                                     {"cached", judged.result.is_cached}};
    if (judged.result.fate == Fate::killed) {
      mutant["verdict"] = to_string(judged.result.verdict);
      mutant["policy"] = to_string(judged.result.policy);
      mutant["case"] = judged.result.case_name;
    }
    const std::string reason = judged.equivalence.empty() ? judged.result.why() : judged.equivalence;
    if (!reason.empty()) mutant["reason"] = reason;
    json["mutants"].push_back(std::move(mutant));
  }
  json["stale"] = score.stale;
  json["refuted"] = score.refuted;
  // A source may contain invalid UTF-8, which JSON cannot.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace assay::reports

// A comparison of two iterations as text and Markdown.
#include "reports/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "harness/findings/fault_text.h"
#include "harness/ledger/executed_on.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

using harness::CaseComparison;
using harness::ChangedText;
using harness::Distance;
using harness::OneSidedCase;
using harness::Parting;
using harness::PartingSide;

constexpr std::size_t kMostListed = 8;

std::size_t count(const ComparisonRun& run, const std::function<bool(const CaseComparison&)>& is_one) {
  return static_cast<std::size_t>(std::ranges::count_if(run.cases.cases, is_one));
}

bool is_compared(const CaseComparison& one) { return one.is_compared; }
bool differs(const CaseComparison& one) { return one.differs(); }
bool broke(const CaseComparison& one) { return one.broke(); }
bool healed(const CaseComparison& one) { return one.healed(); }
// Passes in neither; both statuses are listed.
bool fails_twice(const CaseComparison& one) {
  return one.old_side.status != harness::Status::passed && one.new_side.status != harness::Status::passed;
}

std::string name_of(const CaseComparison& one) { return harness::format_case(one.pair.new_case); }

// The case with the largest figure; nullptr if it is 0 in all of them.
const CaseComparison* largest(const ComparisonRun& run, const std::function<double(const CaseComparison&)>& figure) {
  const CaseComparison* found = nullptr;
  for (const CaseComparison& one : run.cases.cases) {
    if (figure(one) > (found == nullptr ? 0.0 : figure(*found))) found = &one;
  }
  return found;
}

std::string side_outcome(const harness::ComparedSide& side) {
  return side.faults.empty() ? std::string(harness::to_string(side.status))
                             : fmt::format("{}: {}", harness::to_string(side.status), harness::reason_of(side));
}

std::string listed(const ComparisonRun& run, std::string_view title, const std::function<bool(const CaseComparison&)>& is_one,
                   std::string_view bullet) {
  std::string text;
  std::size_t number = 0;
  for (const CaseComparison& one : run.cases.cases) {
    if (!is_one(one)) continue;
    if (number++ < kMostListed)
      text += fmt::format("{}{}\n{}  old {}\n{}  new {}\n", bullet, name_of(one), std::string(bullet.size(), ' '),
                          side_outcome(one.old_side), std::string(bullet.size(), ' '), side_outcome(one.new_side));
  }
  if (number > kMostListed) text += fmt::format("{}and {} more\n", bullet, number - kMostListed);
  return number == 0 ? std::string() : fmt::format("{}: {}\n{}", title, number, text);
}

// Groups the cases by reason, with their number and one example.
std::string one_sided_text(std::string_view side, const std::vector<OneSidedCase>& cases, std::string_view bullet) {
  std::vector<std::pair<std::string, std::pair<std::size_t, std::string>>> reasons;
  for (const OneSidedCase& one : cases) {
    auto found = std::ranges::find(reasons, one.reason, &decltype(reasons)::value_type::first);
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {one.reason, {0, one.name}});
    ++found->second.first;
  }
  std::string text;
  for (const auto& [reason, test_case] : reasons)
    text += fmt::format("{}{} case{} only in {}: {}; {}\n", bullet, test_case.first, test_case.first == 1 ? "" : "s", side, reason,
                        test_case.second);
  return text;
}

std::string distance_text(const Distance& distance, std::string_view unit, const CaseComparison& one) {
  return fmt::format("{:.4g} {} at element {} (row {}, coordinate {}: {:.9g} and {:.9g}) of {}", distance.value, unit, distance.index,
                     distance.index / one.row_length, distance.index % one.row_length, distance.old_value, distance.new_value,
                     name_of(one));
}

std::string distances_text(const ComparisonRun& run, std::string_view bullet) {
  std::string text;
  if (const auto* one = largest(run, [](const CaseComparison& of) { return of.ulps.value; }))
    text += fmt::format("{}largest difference: {}\n", bullet, distance_text(one->ulps, "ulp", *one));
  if (const auto* one = largest(run, [](const CaseComparison& of) { return of.bounds.value; }))
    text += fmt::format("{}largest difference: {}\n", bullet, distance_text(one->bounds, "bounds", *one));
  const std::size_t hidden = count(run, [](const CaseComparison& one) { return one.differs() && one.differing == 0; });
  if (hidden != 0)
    text += fmt::format("{}in {} case{} only the partial results differ, and the merged output is the same\n", bullet, hidden,
                        hidden == 1 ? "" : "s");
  const std::size_t better =
      count(run, [](const CaseComparison& one) { return one.is_compared && one.new_side.max_ratio < one.old_side.max_ratio; });
  const std::size_t worse =
      count(run, [](const CaseComparison& one) { return one.is_compared && one.new_side.max_ratio > one.old_side.max_ratio; });
  text += fmt::format("{}smaller error (largest error/bound of a case): old in {}, new in {}, equal in {}\n", bullet, worse, better,
                      count(run, is_compared) - better - worse);
  const auto side = [&](std::string_view name, harness::ComparedSide CaseComparison::* which,
                        harness::Case harness::CasePair::* test_case) {
    const auto* one = largest(run, [&](const CaseComparison& of) { return of.is_compared ? (of.*which).max_ratio : 0.0; });
    return one == nullptr ? std::string()
                          : fmt::format("{}largest error/bound of {}: {:.4g} in {}\n", bullet, name, (one->*which).max_ratio,
                                        harness::format_case(one->pair.*test_case));
  };
  return text + side("old", &CaseComparison::old_side, &harness::CasePair::old_case) +
         side("new", &CaseComparison::new_side, &harness::CasePair::new_case);
}

std::string claim_text(const harness::ClaimResult& claim) {
  const std::string cases = fmt::format("{} case{}", claim.tried, claim.tried == 1 ? "" : "s");
  if (claim.tried == 0) return fmt::format("{} claims {}: not checked, because no case is in its scope", claim.claimant, claim.claim);
  if (claim.broken == 0) return fmt::format("{} claims {}: holds in {}", claim.claimant, claim.claim, cases);
  return fmt::format("{} claims {}: BROKEN in {} of {}, for example {}", claim.claimant, claim.claim, claim.broken, cases,
                     claim.first_broken);
}

std::string ratio_text(const CostRow& row) {
  if (row.before == row.after) return "=";
  return row.before == 0 ? std::string("new") : fmt::format("{:.3f}", static_cast<double>(row.after) / static_cast<double>(row.before));
}

std::string value_text(const PartingSide& side) {
  return side.value ? fmt::format("{:.9g}", *side.value) : std::string("(does not reach this line again)");
}

std::string thread_text(const Parting& parting) {
  return fmt::format("thread {} of threadgroup ({}, {}, {}) of {}, dispatch {}", parting.thread, parting.threadgroup.x,
                     parting.threadgroup.y, parting.threadgroup.z, parting.function, parting.dispatch + 1);
}

std::string hunk_text(const ChangedText& change) {
  std::string text =
      fmt::format("@@ -{},{} +{},{} @@\n", change.hunk.old_first, change.hunk.old_count, change.hunk.new_first, change.hunk.new_count);
  for (const std::string& line : change.old_lines) text += fmt::format("-{}\n", line);
  for (const std::string& line : change.new_lines) text += fmt::format("+{}\n", line);
  return text;
}

std::string parting_text(const Parting& parting) {
  std::string text;
  if (!parting.place.empty()) text += fmt::format("  {}\n", parting.place);
  text += fmt::format("  {}, when it reaches the line for time {}; its first {} values agree\n", thread_text(parting),
                      grouped(parting.occurrence + 1), grouped(parting.agreed));
  text += fmt::format("  old {}:{}: {}\n      {}\n  new {}:{}: {}\n      {}\n", parting.old_side.file, parting.old_side.line,
                      parting.old_side.text, value_text(parting.old_side), parting.new_side.file, parting.new_side.line,
                      parting.new_side.text, value_text(parting.new_side));
  if (parting.is_cut) text += "  the traces were cut off because of their length; this is the first difference in the recorded parts\n";
  return text;
}

std::string changes_title(const Parting& parting) {
  if (parting.changes.empty()) return "these two files differ only in whitespace and comments; files that they include may differ";
  const bool holds = parting.changes.front().holds_parting;
  return fmt::format("{}{}", holds ? "the change that contains the line" : "the change nearest to the line",
                     parting.further_changes == 0 ? std::string() : fmt::format(" ({} more are not shown)", parting.further_changes));
}

std::string cases_text(std::size_t number) { return fmt::format("{} case{}", number, number == 1 ? "" : "s"); }

std::string field_text(const metal::FieldValue& value) {
  switch (value.kind) {
    case metal::FieldValue::Kind::unsigned_integer:
      return fmt::format("{}", value.bits);
    case metal::FieldValue::Kind::signed_integer:
      return fmt::format("{}", std::bit_cast<std::int64_t>(value.bits));
    case metal::FieldValue::Kind::floating:
      break;
  }
  return fmt::format("{}", std::bit_cast<double>(value.bits));
}

}  // namespace

std::vector<CostRow> cost_rows(const harness::CostComparison& costs) {
  const metal::Cost& a = costs.old_cost;
  const metal::Cost& b = costs.new_cost;
  const auto flops = [](const metal::Cost& cost) { return cost.float_operations + cost.half_operations + cost.bfloat_operations; };
  return {{"device bytes read", a.device_bytes_read, b.device_bytes_read, costs.minimum.bytes_read},
          {"device bytes written", a.device_bytes_written, b.device_bytes_written, costs.minimum.bytes_written},
          {"distinct device bytes", a.distinct_device_bytes, b.distinct_device_bytes, costs.minimum.distinct_bytes},
          {"threadgroup accesses", a.threadgroup_accesses, b.threadgroup_accesses, {}},
          {"SIMD-group calls", a.simdgroup_calls, b.simdgroup_calls, {}},
          {"barriers", a.barriers, b.barriers, {}},
          {"float operations", a.float_operations, b.float_operations, {}},
          {"half operations", a.half_operations, b.half_operations, {}},
          {"bfloat operations", a.bfloat_operations, b.bfloat_operations, {}},
          {"all operations", flops(a), flops(b), costs.minimum.flops},
          {"threadgroups", costs.old_counters.threadgroups, costs.new_counters.threadgroups, {}},
          {"matrix products", costs.old_counters.matrix_multiplies, costs.new_counters.matrix_multiplies, {}}};
}

std::vector<DeclaredRow> declared_rows(const kernels::Variant& old_variant, const kernels::Variant& new_variant) {
  std::vector<DeclaredRow> rows;
  const auto add = [&](const std::string& key, const std::function<std::string(const kernels::Variant&)>& value) {
    DeclaredRow row{key, value(old_variant), value(new_variant)};
    if (!row.old_value.empty() || !row.new_value.empty()) rows.push_back(std::move(row));
  };
  const auto optional = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string(); };
  add("claims", [](const kernels::Variant& variant) {
    std::vector<std::string> texts;
    for (const kernels::Claim& claim : variant.claims) texts.push_back(claim.text);
    return fmt::format("{}", fmt::join(texts, " "));
  });
  add("superseded_by", [](const kernels::Variant& variant) { return variant.superseded_by ? variant.superseded_by->name : std::string(); });
  add("offset_bits", [](const kernels::Variant& variant) { return fmt::format("{}", variant.offset_bits); });
  add("accuracy: dot_depth", [&](const kernels::Variant& variant) { return optional(variant.accuracy.dot_depth); });
  add("accuracy: accumulator", [](const kernels::Variant& variant) { return variant.accuracy.accumulator; });
  add("accuracy: accumulator_keys", [&](const kernels::Variant& variant) { return optional(variant.accuracy.accumulator_keys); });
  add("accuracy: stores", [](const kernels::Variant& variant) { return fmt::format("{}", fmt::join(variant.accuracy.stores, " ")); });
  add("accuracy: merge_store", [&](const kernels::Variant& variant) { return variant.accuracy.merge_store.value_or(std::string()); });
  std::vector<std::string> axes;
  for (const kernels::Variant* variant : {&old_variant, &new_variant}) {
    for (const kernels::AxisLimit& limit : variant->limits) {
      if (std::ranges::find(axes, limit.axis) == axes.end()) axes.push_back(limit.axis);
    }
  }
  for (const std::string& axis : axes) {
    add("limits: " + axis, [&](const kernels::Variant& variant) {
      const auto limit = std::ranges::find(variant.limits, axis, &kernels::AxisLimit::axis);
      return limit == variant.limits.end() ? std::string("all") : fmt::format("{}", fmt::join(limit->values, " "));
    });
  }
  const auto add_values = [&](const char* table, auto which, const auto& text_of) {
    std::vector<std::string> names;
    for (const kernels::Variant* variant : {&old_variant, &new_variant}) {
      for (const auto& [name, value] : variant->*which) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
    for (const std::string& name : names) {
      add(fmt::format("{}: {}", table, name), [&](const kernels::Variant& variant) {
        const auto found = (variant.*which).find(name);
        return found == (variant.*which).end() ? std::string() : text_of(found->second);
      });
    }
  };
  add_values("fields", &kernels::Variant::fields, field_text);
  add_values("constants", &kernels::Variant::constants, [](const std::vector<metal::FieldValue>& components) {
    std::vector<std::string> texts;
    for (const metal::FieldValue& component : components) texts.push_back(field_text(component));
    return fmt::format("{}", fmt::join(texts, " "));
  });
  add("known findings", [](const kernels::Variant& variant) {
    return variant.known_findings.empty() ? std::string() : fmt::format("{}", variant.known_findings.size());
  });
  return rows;
}

std::string comparison_headline(const ComparisonRun& run) {
  const std::size_t compared = count(run, is_compared);
  const std::size_t other = count(run, differs);
  const std::size_t all = run.cases.cases.size();
  std::string text = compared == 0 ? std::string("no outputs to compare")
                     : other == 0  ? fmt::format("same bits in all {}", cases_text(compared))
                                   : fmt::format("different bits in {} of {}", other, cases_text(compared));
  if (compared != 0 && all != compared) text += fmt::format(" with outputs from both ({} in total)", all);
  const auto add = [&](std::size_t number, std::string_view what) {
    if (number != 0) text += fmt::format(", {} {}", number, what);
  };
  add(count(run, broke), "broke");
  add(count(run, healed), "healed");
  add(run.cases.only_old.size(), "only in old");
  add(run.cases.only_new.size(), "only in new");
  add(run.cases.skipped, "skipped");
  if (run.cases.stopped) text += "; stopped before the end";
  return text;
}

std::string comparison_text(const ComparisonRun& run) {
  std::string text = fmt::format("old {} ({})\nnew {} ({})\n", run.old_variant.name, run.old_variant.source.string(), run.new_variant.name,
                                 run.new_variant.source.string());
  text += listed(run, "\nbroke", broke, "  ") + listed(run, "\nhealed", healed, "  ") +
          listed(run, "\nnot passed in either", fails_twice, "  ");
  if (count(run, differs) != 0) text += "\noutputs\n" + distances_text(run, "  ");
  const std::string one_sided = one_sided_text("old", run.cases.only_old, "  ") + one_sided_text("new", run.cases.only_new, "  ");
  if (!one_sided.empty()) text += "\nnot in common\n" + one_sided;

  text += fmt::format("\n{:<32} {:>24} {:>24}\n", "declared", "old", "new");
  for (const DeclaredRow& row : declared_rows(run.old_variant, run.new_variant))
    text += fmt::format("  {:<30} {:>24} {:>24}\n", row.key, row.old_value.empty() ? "-" : row.old_value,
                        row.new_value.empty() ? "-" : row.new_value);
  for (const harness::ClaimResult& claim : run.claims) text += fmt::format("  {}\n", claim_text(claim));

  if (!run.costs.cases.empty()) {
    text += fmt::format("\n{:<24} {:>16} {:>16} {:>9} {:>16}\n", fmt::format("cost of {}", cases_text(run.costs.cases.size())), "old",
                        "new", "new/old", "minimum");
    for (const CostRow& row : cost_rows(run.costs)) {
      if (row.before != 0 || row.after != 0)
        text += fmt::format("  {:<22} {:>16} {:>16} {:>9}{}\n", row.name, grouped(row.before), grouped(row.after), ratio_text(row),
                            row.least ? fmt::format(" {:>16}", grouped(*row.least)) : "");
    }
  }
  if (run.smallest) {
    text += fmt::format("\nwhere they diverge, in the smallest case that differs\n  {}\n", harness::format_case(run.smallest->new_case));
    if (run.parting.parting) {
      const Parting& parting = *run.parting.parting;
      text += parting_text(parting) + fmt::format("  {}\n", changes_title(parting));
      for (const ChangedText& change : parting.changes) text += hunk_text(change);
    } else {
      text += fmt::format("  not found: {}\n", run.parting.reason);
    }
  }
  for (const std::string& note : run.notes) text += fmt::format("\nnote: {}", note);
  text += fmt::format("{}\n{}; suite {}, {}, in {:.1f} s\n", run.notes.empty() ? "" : "\n", comparison_headline(run), run.suite,
                      harness::executed_on(run.replay_options), run.seconds);
  return text;
}

std::string comparison_markdown(const ComparisonRun& run) {
  std::string text = fmt::format("# {} compared with {}\n\n**{}.**\n\n`{}`, suite `{}`, {}.\n", run.new_variant.name, run.old_variant.name,
                                 comparison_headline(run), run.command, run.suite, harness::executed_on(run.replay_options));
  const std::string changed = listed(run, "\nBroke", broke, "- ") + listed(run, "\nHealed", healed, "- ") +
                              listed(run, "\nNot passed in either", fails_twice, "- ");
  if (!changed.empty()) text += "\n## Verdicts\n" + changed;
  if (count(run, differs) != 0) text += "\n## Outputs\n\n" + distances_text(run, "- ");
  const std::string one_sided = one_sided_text("old", run.cases.only_old, "- ") + one_sided_text("new", run.cases.only_new, "- ");
  if (!one_sided.empty()) text += "\n## Not in common\n\n" + one_sided;
  text += "\n## Declared\n\n| | old | new |\n|---|---|---|\n";
  for (const DeclaredRow& row : declared_rows(run.old_variant, run.new_variant))
    text += fmt::format("| {} | {} | {} |\n", row.key, row.old_value, row.new_value);
  if (!run.claims.empty()) text += "\n";
  for (const harness::ClaimResult& claim : run.claims) text += fmt::format("- {}\n", claim_text(claim));
  if (!run.costs.cases.empty()) {
    text +=
        fmt::format("\n## Cost of {}\n\n| | old | new | new/old | minimum |\n|---|---|---|---|---|\n", cases_text(run.costs.cases.size()));
    for (const CostRow& row : cost_rows(run.costs)) {
      if (row.before != 0 || row.after != 0)
        text += fmt::format("| {} | {} | {} | {} | {} |\n", row.name, grouped(row.before), grouped(row.after), ratio_text(row),
                            row.least ? grouped(*row.least) : "");
    }
  }
  if (run.smallest) {
    text += fmt::format("\n## Where they diverge\n\nIn the smallest case that differs, `{}`:\n\n",
                        harness::format_case(run.smallest->new_case));
    if (run.parting.parting) {
      const Parting& parting = *run.parting.parting;
      text += fmt::format("```\n{}```\n\n{}:\n\n", parting_text(parting), changes_title(parting));
      for (const ChangedText& change : parting.changes) text += fmt::format("```diff\n{}```\n", hunk_text(change));
    } else {
      text += fmt::format("Not found: {}.\n", run.parting.reason);
    }
  }
  for (const std::string& note : run.notes) text += fmt::format("\nNote: {}.\n", note);
  return text;
}

}  // namespace assay::reports

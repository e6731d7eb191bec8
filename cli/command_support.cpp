// `assay support`: prints which axis values each variant supports, and which functions it has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "families/family.h"
#include "families/registry.h"
#include "harness/cases/suite.h"
#include "harness/prepare/libraries.h"
#include "kernels/axis_text.h"
#include "kernels/contract.h"

namespace assay::cli {
namespace {

using TableRow = std::vector<std::string>;

// Pads each column to its widest cell, plus two spaces.
std::string table(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string supported_values(const kernels::Variant& variant, const families::Axis& axis) {
  const auto limit = std::ranges::find(variant.limits, axis.name, &kernels::AxisLimit::axis);
  if (limit == variant.limits.end()) return "*";
  std::vector<std::string> values;
  for (const std::int64_t value : limit->values) values.push_back(kernels::axis_text(*variant.contract, axis.name, value));
  return fmt::format("{}", fmt::join(values, ","));
}

// "d256 d512"; functions that the source lacks are in brackets, and explained below the table.
std::string entries_of(const kernels::Variant& variant, std::vector<std::string>& remarks) {
  harness::Libraries libraries(false);
  std::string text;
  for (const kernels::EntryContract& entry : families::contract(variant.family).entries) {
    const std::string function = variant.function(entry.key);
    const bool present = libraries.of(variant, variant.definitions_of(entry.key))->has_function(function);
    text += fmt::format("{}{}", text.empty() ? "" : " ", present ? std::string(entry.key) : fmt::format("[{}]", entry.key));
    if (!present) {
      remarks.push_back(fmt::format("{}: {} has no function '{}' for {}{}", variant.name, variant.source.filename().string(), function,
                                    entry.key, variant.description.empty() ? "; a function may still be found by its arguments" : ""));
    }
  }
  return text;
}

void print_family(const families::Family& family, const std::vector<const kernels::Variant*>& variants) {
  std::vector<TableRow> rows = {{"variant"}, {"(range)"}, {"(default)"}};
  for (const families::Axis& axis : family.axes) {
    rows[0].emplace_back(axis.name);
    const auto words = std::ranges::find(family.contract.axis_words, axis.name, &kernels::AxisWords::axis);
    const bool has_words = words != family.contract.axis_words.end() && !words->words.empty();
    rows[1].push_back(has_words ? fmt::format("{}", fmt::join(words->words, ",")) : fmt::format("{}..{}", axis.minimum, axis.maximum));
    const bool may_be_left_out = std::ranges::any_of(family.words, [&](const families::Word& word) {
      return word.optional && word.forms.front().pattern.find(axis.name) != std::string_view::npos;
    });
    rows[2].push_back(may_be_left_out ? kernels::axis_text(family.contract, axis.name, axis.initial) : std::string("-"));
  }
  rows[0].emplace_back("functions");
  rows[1].emplace_back();
  rows[2].emplace_back();

  std::vector<std::string> remarks;
  for (const kernels::Variant* variant : variants) {
    harness::check_axis_names(*variant);
    TableRow& row = rows.emplace_back();
    row.push_back(variant->name);
    for (const families::Axis& axis : family.axes) row.push_back(supported_values(*variant, axis));
    row.push_back(entries_of(*variant, remarks));
  }
  say("{}\n{}", family.name(), table(rows));
  for (const std::string& remark : remarks) say("  {}\n", remark);
}

int support(const Options& options) {
  Workspace workspace = open_workspace(options);
  find_limits(workspace, options);
  if (!options.family.empty()) static_cast<void>(families::find_family(options.family));
  for (const std::string& note : workspace.notes) say("note: {}\n", note);
  for (const families::Family& family : families::all_families()) {
    if (!options.family.empty() && options.family != family.name()) continue;
    std::vector<const kernels::Variant*> variants;
    for (const kernels::Variant& variant : workspace.catalogue) {
      if (variant.family == family.name()) variants.push_back(&variant);
    }
    if (!variants.empty()) print_family(family, variants);
  }
  say("*: every value that the launch code accepts; numbers: only these ([limits] in variant.toml, or --limit); range: what a case name "
      "may\n"
      "contain; default: used if the name omits the axis, - if it must not omit it\n");
  return kExitPassed;
}

}  // namespace

void add_support(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "support", "Print the axis values that each variant supports, and its functions", support);
  add_selection(*command, *options);
  command->footer(R"(examples
  assay support                          every variant
  assay support --family FAMILY
  assay support --kernel mine.metal --family FAMILY)");
}

}  // namespace assay::cli

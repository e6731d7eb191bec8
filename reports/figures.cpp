// Tables of largest error and bound sharpness per fixture and axis value.
#include "reports/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "reports/axis_words.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

constexpr std::size_t kLineWidth = 120;

class Collection {
 public:
  void add(const harness::CaseRecord& record) {
    Figure& figure = figure_;
    const double ratio = record.judgement.max_ratio;
    const bool first = figure.cases == 0;
    ++figure.cases;
    if (first || ratio > figure.largest_ratio || (ratio == figure.largest_ratio && record.name < figure.largest_ratio_case)) {
      figure.largest_ratio = ratio;
      figure.largest_ratio_case = record.name;
    }
    // NaN has no place in the order.
    if (!std::isnan(record.judgement.median_bound_ratio)) bound_ratios_.push_back(record.judgement.median_bound_ratio);
  }

  [[nodiscard]] Figure finish(std::string value) && {
    const auto middle = bound_ratios_.begin() + static_cast<std::ptrdiff_t>(bound_ratios_.size() / 2);
    std::ranges::nth_element(bound_ratios_, middle);
    figure_.median_bound_ratio = bound_ratios_.empty() ? std::numeric_limits<double>::quiet_NaN() : *middle;
    figure_.value = std::move(value);
    return std::move(figure_);
  }

 private:
  Figure figure_;
  std::vector<double> bound_ratios_;
};

template <typename Key, typename Print>
FigureTable table_of(std::string_view family, std::string_view property, std::map<Key, Collection>& collections, const Print& print) {
  FigureTable table{std::string(family), std::string(property), {}};
  for (auto& [key, collection] : collections) table.figures.push_back(std::move(collection).finish(print(key)));
  return table;
}

}  // namespace

void RunElements::add(const harness::CaseRecord& record) {
  (record.status && harness::is_expected_failure(*record.status) ? known : judged).add(record.judgement);
}

RunElements count_elements(std::span<const harness::CaseRecord> cases) {
  RunElements elements;
  for (const harness::CaseRecord& record : cases) elements.add(record);
  return elements;
}

Excused count_excused(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  Excused excused{0, 0, run.description.outside_limits, run.description.weaker_accuracy};
  for (const harness::CaseRecord& record : cases) {
    excused.known += record.status == harness::Status::known;
    excused.skipped += record.status == harness::Status::skipped;
  }
  return excused;
}

std::string excused_text(const Excused& excused) {
  std::string text;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), what);
  };
  add(excused.known, "failed as known");
  add(excused.skipped, "skipped");
  add(excused.outside_limits, "outside of the limits");
  add(excused.weaker_accuracy, "judged with a declared weaker accuracy");
  return text;
}

std::string element_text(const RunElements& elements) {
  std::string text = fmt::format("{} elements compared, {} faulty", grouped(elements.judged.compared), grouped(elements.judged.faulty));
  // A known crash has no compared elements.
  if (elements.known.compared != 0 || elements.known.faulty != 0)
    text += fmt::format("; in known failures {} compared, {} faulty", grouped(elements.known.compared), grouped(elements.known.faulty));
  return text;
}

std::vector<FigureTable> figure_tables(std::span<const harness::CaseRecord> cases) {
  // Families in order of first occurrence.
  std::map<std::string_view, std::size_t> places;
  std::vector<std::vector<const harness::CaseRecord*>> families;
  for (const harness::CaseRecord& record : cases) {
    const auto [place, is_new] = places.emplace(record.family, families.size());
    if (is_new) families.emplace_back();
    families[place->second].push_back(&record);
  }
  std::vector<FigureTable> tables;
  for (const std::vector<const harness::CaseRecord*>& members : families) {
    const std::string& family = members.front()->family;
    std::map<std::string, Collection> by_fixture;
    std::vector<std::pair<std::string, std::map<std::int64_t, Collection>>> by_axis;
    for (const harness::CaseRecord* member : members) {
      const harness::CaseRecord& record = *member;
      harness::ElementCount elements;
      elements.add(record.judgement);
      if (elements.compared == 0 || (record.status && harness::is_expected_failure(*record.status))) continue;
      by_fixture[record.fixture].add(record);
      for (const auto& [axis, value] : record.axes) {
        auto found = std::ranges::find(by_axis, axis, &std::pair<std::string, std::map<std::int64_t, Collection>>::first);
        if (found == by_axis.end()) found = by_axis.insert(by_axis.end(), {axis, {}});
        found->second[value].add(record);
      }
    }
    if (by_fixture.empty()) continue;
    tables.push_back(table_of(family, "fixture", by_fixture, [](const std::string& name) { return name; }));
    for (auto& [axis, values] : by_axis) {
      tables.push_back(table_of(family, axis, values, [&](std::int64_t value) { return axis_text(family, axis, value); }));
    }
  }
  return tables;
}

std::string fixture_lines(std::span<const FigureTable> tables) {
  std::string text;
  for (const FigureTable& table : tables) {
    if (table.property != "fixture") continue;
    std::string line = fmt::format("  {:<8}", table.family);
    for (const Figure& figure : table.figures) {
      const std::string entry = fmt::format("  {} {:.3g}", figure.value, figure.largest_ratio);
      if (line.size() + entry.size() > kLineWidth) {
        text += line + '\n';
        line = fmt::format("  {:<8}", "");
      }
      line += entry;
    }
    text += line + '\n';
  }
  return text.empty() ? text : "largest error/bound by family and fixture\n" + text;
}

std::string table_text(std::span<const FigureTable> tables) {
  std::string text;
  for (const FigureTable& table : tables) {
    text += fmt::format("{} by {}\n  {:<18} {:>6} {:>14} {:>20}  {}\n", table.family, table.property, table.property, "cases",
                        "max err/bound", "median bound/magn.", "largest in");
    for (const Figure& figure : table.figures) {
      text += fmt::format("  {:<18} {:>6} {:>14.4g} {:>20.3g}  {}\n", figure.value, figure.cases, figure.largest_ratio,
                          figure.median_bound_ratio, figure.largest_ratio_case);
    }
  }
  return text;
}

}  // namespace assay::reports

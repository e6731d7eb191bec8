// Finds properties that failing cases have and most others have not.
#include "reports/shared_by_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/chance.h"
#include "harness/cases/case.h"
#include "reports/axis_words.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;

bool has_failed(const CaseRecord& record) {
  return record.status && !harness::is_success(*record.status) && *record.status != harness::Status::skipped;
}
bool has_passed(const CaseRecord& record) { return record.status == harness::Status::passed; }

std::map<std::string, std::vector<const CaseRecord*>> by_variant(std::span<const CaseRecord> cases) {
  std::map<std::string, std::vector<const CaseRecord*>> variants;
  for (const CaseRecord& record : cases) variants[record.variant].push_back(&record);
  return variants;
}

std::int64_t axis_of(const CaseRecord& record, std::string_view axis) {
  const auto found = std::ranges::find(record.axes, axis, &std::pair<std::string, std::int64_t>::first);
  return found == record.axes.end() ? 0 : found->second;
}

struct Property {
  std::string words;  // "fixture query_ties", "nwg > 1"
  std::size_t failed = 0, passed = 0;
};

// How a property was chosen to fit the failures, which decides how often it fits failures without a common cause.
enum class Choice {
  value_of_the_first,  // of the first failure, so only the others can tell anything
  range,               // up to the extreme value of a failure
  subset,              // any set of values
};

// The number of ways to choose `some` of `all`.
double choices(std::size_t all, std::size_t some) {
  double ways = 1;
  for (std::size_t i = 0; i < some; ++i) ways *= static_cast<double>(all - i) / static_cast<double>(i + 1);
  return ways;
}

class Search {
 public:
  explicit Search(const std::vector<const CaseRecord*>& cases) : cases_(cases) {}

  std::vector<Property> find() {
    const auto first = std::ranges::find_if(cases_, [](const CaseRecord* record) { return has_failed(*record); });
    // Far more axes than a family has: a ledger may contain anything, and every axis is looked up in every case.
    constexpr std::size_t kMostAxes = 100;
    if (first == cases_.end() || (*first)->axes.size() > kMostAxes) return {};
    consider(fmt::format("fixture {}", (*first)->fixture), Choice::value_of_the_first,
             [&](const CaseRecord& one) { return one.fixture == (*first)->fixture; });
    for (const auto& [axis, value] : (*first)->axes) {
      const std::string text = axis_text((*first)->family, axis, value);
      consider(fmt::format("{} = {}", axis, text), Choice::value_of_the_first,
               [&](const CaseRecord& one) { return axis_of(one, axis) == value; });
      if (axis_words((*first)->family, axis).empty())
        consider_ranges(axis);
      else
        consider_words(axis);
    }
    std::ranges::sort(found_, {}, [](const Property& one) { return std::pair(one.passed, one.words); });
    // Beside one that separates well, another that does so less is a detour.
    const std::size_t best = found_.empty() ? 0 : found_.front().passed;
    std::erase_if(found_, [=](const Property& one) { return one.passed > std::max(best, one.failed / 4); });
    return found_;
  }

  // Whether failures keep to some words of an axis that says nothing of formats, such as masks, or to lengths that something does not
  // divide. Storage loses bits in all of them, a mistake in logic may not.
  bool follows_logic() {
    const auto first = std::ranges::find_if(cases_, [](const CaseRecord* record) { return has_failed(*record); });
    if (first == cases_.end()) return false;
    const families::Family& family = harness::find_family((*first)->family);
    consider("fixture", Choice::value_of_the_first, [&](const CaseRecord& one) { return one.fixture == (*first)->fixture; });
    for (const auto& [axis, value] : (*first)->axes) {
      const auto words = axis_words((*first)->family, axis);
      const auto described = std::ranges::find(family.axes, axis, &families::Axis::name);
      const bool is_length = described != family.axes.end() && described->is_length;
      // A single workgroup writes the output itself, and several write partial results.
      const bool shares_work = described != family.axes.end() && described->is_launch_choice;
      if (!is_length && !shares_work && std::ranges::find(words, "half") == words.end()) {
        consider(axis, Choice::value_of_the_first, [&](const CaseRecord& one) { return axis_of(one, axis) == value; });
        if (!words.empty()) consider_words(axis);
      }
      if (!is_length) continue;
      for (const std::int64_t divisor : {2, 4, 8, 16, 32, 64})
        consider(axis, Choice::range, [&](const CaseRecord& one) { return axis_of(one, axis) % divisor != 0; });
    }
    return !found_.empty();
  }

 private:
  void consider(const std::string& words, Choice choice, const std::function<bool(const CaseRecord&)>& holds, double sets = 1) {
    Property property{words};
    std::size_t passed = 0;
    for (const CaseRecord* record : cases_) {
      if (has_failed(*record)) {
        if (!holds(*record)) return;
        ++property.failed;
      } else if (has_passed(*record)) {
        ++passed;
        property.passed += holds(*record) ? 1U : 0U;
      }
    }
    // Nothing is said that most of the cases that passed have too, however many there are, or that failures without a common cause would
    // have more often than once in 200 times.
    constexpr std::size_t kFewest = 2;
    if (property.failed < kFewest || property.passed * 2 > passed || passed == 0) return;
    const std::size_t given = choice == Choice::value_of_the_first ? 1 : 0;
    const double chance =
        base::chance_of(property.failed + passed - given, property.failed + property.passed - given, property.failed - given);
    if (chance * sets * 200 <= 1) found_.push_back(std::move(property));
  }

  // Several words: those that fail.
  void consider_words(const std::string& axis) {
    std::set<std::int64_t> failing, all;
    for (const CaseRecord* record : cases_) {
      if (has_failed(*record)) failing.insert(axis_of(*record, axis));
      if (has_failed(*record) || has_passed(*record)) all.insert(axis_of(*record, axis));
    }
    if (failing.size() < 2) return;
    std::string list;
    for (const std::int64_t value : failing) {
      const std::string_view joint = list.empty() ? "" : value == *failing.rbegin() ? " or " : ", ";
      list += fmt::format("{}{}", joint, axis_text(cases_.front()->family, axis, value));
    }
    consider(
        fmt::format("{} = {}", axis, list), Choice::subset, [&](const CaseRecord& one) { return failing.contains(axis_of(one, axis)); },
        choices(all.size(), failing.size()));
  }

  // Values above the largest one below those that fail, and the reverse.
  void consider_ranges(const std::string& axis) {
    std::set<std::int64_t> failing, all;
    for (const CaseRecord* record : cases_) {
      if (has_failed(*record)) failing.insert(axis_of(*record, axis));
      if (has_failed(*record) || has_passed(*record)) all.insert(axis_of(*record, axis));
    }
    if (failing.size() < 2) return;
    if (const auto least = all.find(*failing.begin()); least != all.begin()) {
      const std::int64_t below = *std::prev(least);
      consider(fmt::format("{} > {}", axis, below), Choice::range, [&](const CaseRecord& one) { return axis_of(one, axis) > below; });
    }
    if (const auto above = std::next(all.find(*failing.rbegin())); above != all.end())
      consider(fmt::format("{} < {}", axis, *above), Choice::range, [&](const CaseRecord& one) { return axis_of(one, axis) < *above; });
  }

  const std::vector<const CaseRecord*>& cases_;
  std::vector<Property> found_;
};

// Whether nothing is wrong but values that are too far off.
bool is_only_off(const CaseRecord& record) {
  const harness::Judgement& judgement = record.judgement;
  return record.status == harness::Status::failed && judgement.above_bound != 0 && judgement.not_written == 0 && judgement.nans == 0 &&
         judgement.infs == 0 && judgement.guard_violations == 0 && std::ranges::all_of(record.faults, [](const harness::Fault& fault) {
           return fault.kind() == harness::FaultKind::above_bound || fault.kind() == harness::FaultKind::stored_expectation;
         });
}

double work_seconds(const CaseRecord& record) { return record.oracle_seconds + record.simulator_seconds; }

}  // namespace

std::vector<std::string> shared_by_failures(std::span<const CaseRecord> cases) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> sentences;
  for (const auto& [variant, records] : by_variant(cases)) {
    std::vector<Property> properties = Search(records).find();
    if (properties.size() > kMost) properties.resize(kMost);
    for (const Property& one : properties) {
      const auto passed = std::ranges::count_if(records, [](const CaseRecord* record) { return has_passed(*record); });
      sentences.push_back(fmt::format("{}: only {}: all {} failures, and {} of the {}cases that passed", variant, one.words, one.failed,
                                      one.passed == 0 ? std::string("none") : fmt::format("{}", one.passed),
                                      one.passed == 0 ? std::string() : fmt::format("{} ", passed)));
    }
  }
  return sentences;
}

std::vector<const CaseRecord*> failures_to_repeat(std::span<const CaseRecord> cases_of_variant) {
  constexpr std::size_t kWorst = 8, kMost = 16;
  constexpr double kLargestError = 1.0 / 16;  // of the magnitude: several roundings to 8 bits
  constexpr double kLongest = 0.5;            // seconds; a hint is not worth more
  std::vector<const CaseRecord*> cases, failed, off;
  for (const CaseRecord& record : cases_of_variant) {
    cases.push_back(&record);
    if (!has_failed(record)) continue;
    failed.push_back(&record);
    if (is_only_off(record)) off.push_back(&record);
  }
  // One in five may fail otherwise: half leaves no result of large scores and of tiny values (measured: one in ten).
  if (off.empty() || off.size() * 5 < failed.size() * 4) return {};
  if (!harness::find_family(failed.front()->family).bounds_weaker_storage || Search(cases).follows_logic()) return {};
  // The median stands for the bound of the worst element, which is not known any more.
  const auto error_of = [](const CaseRecord* record) { return record->judgement.max_ratio * record->judgement.median_bound_ratio; };
  std::ranges::sort(off, {}, error_of);
  if (error_of(off[off.size() / 2]) > kLargestError) return {};

  std::erase_if(off, [](const CaseRecord* record) { return work_seconds(*record) > kLongest; });
  std::ranges::sort(off, std::ranges::greater(), [](const CaseRecord* record) { return record->judgement.max_ratio; });
  std::vector<const CaseRecord*> repeated(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(std::min(kWorst, off.size())));
  const std::size_t others = off.size() - repeated.size(), places = std::min(kMost - kWorst, others);
  for (std::size_t i = 0; i < places; ++i) repeated.push_back(off[kWorst + i * others / places]);
  return repeated;
}

bool StorageTrial::explains() const { return passed != 0 && passed * 10 >= (passed + failed) * 9 && passed * 2 >= passed + failed + loose; }

std::string storage_hint(std::string_view variant, std::vector<StorageTrial> trials) {
  std::erase_if(trials, [](const StorageTrial& one) { return !one.explains(); });
  if (trials.empty()) return {};
  // First those that most cases pass with; of these, the one whose bounds grow least.
  std::ranges::sort(trials, {},
                    [](const StorageTrial& one) { return std::tuple(one.failed + one.loose, -one.largest_ratio, one.declaration); });
  constexpr std::size_t kMost = 6;
  std::string list;
  for (std::size_t i = 0; i < std::min(kMost, trials.size()); ++i) {
    const StorageTrial& one = trials[i];
    list += fmt::format("{}{} with {}", i == 0 ? "" : ", ", one.passed, one.declaration);
  }
  const StorageTrial& first = trials.front();
  return fmt::format(
      "{}: failures miss their bounds by no more than weaker storage would explain: of {} repeated, so many pass: {}. A kernel that stores "
      "or converts so declares it in [accuracy] of its variant.toml (docs/VARIANT_LIMITS.md); if this kernel does not, the mistake is "
      "elsewhere",
      variant, first.passed + first.failed + first.loose, list);
}

}  // namespace assay::reports

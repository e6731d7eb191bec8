// Finds properties that failing cases have and most others have not.
#include "reports/shared_by_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

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

// Logarithm of the number of ways to choose `some` of `all`.
double log_choices(std::size_t all, std::size_t some) {
  const auto log_factorial = [](std::size_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return log_factorial(all) - log_factorial(some) - log_factorial(all - some);
}

// Logarithm of the chance that `failed` of `all` cases, drawn at random, all are among the `having` that have a property.
double log_chance(std::size_t all, std::size_t having, std::size_t failed) {
  return log_choices(having, failed) - log_choices(all, failed);
}

class Search {
 public:
  explicit Search(const std::vector<const CaseRecord*>& cases) : cases_(cases) {}

  std::vector<Property> find() {
    const auto first = std::ranges::find_if(cases_, [](const CaseRecord* record) { return has_failed(*record); });
    if (first == cases_.end()) return {};
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

 private:
  void consider(const std::string& words, Choice choice, const std::function<bool(const CaseRecord&)>& holds, double log_sets = 0) {
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
    const double chance = log_chance(property.failed + passed - given, property.failed + property.passed - given, property.failed - given);
    if (chance + log_sets <= std::log(1.0 / 200)) found_.push_back(std::move(property));
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
        log_choices(all.size(), failing.size()));
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

// Formats that a kernel may store less in than its contract says, the nearest to float first.
struct Format {
  std::string_view word;
  double unit;  // of one rounding
};
constexpr std::array kFormats = {Format{"half", 0x1p-11}, Format{"bfloat", 0x1p-8}};
constexpr double kMostRoundings = 2;

// Whether nothing is wrong but values that are too far off.
bool is_only_off(const CaseRecord& record) {
  const harness::Judgement& judgement = record.judgement;
  return record.status == harness::Status::failed && judgement.above_bound != 0 && judgement.not_written == 0 && judgement.nans == 0 &&
         judgement.infs == 0 && judgement.guard_violations == 0 && std::ranges::all_of(record.faults, [](const harness::Fault& fault) {
           return fault.kind() == harness::FaultKind::above_bound || fault.kind() == harness::FaultKind::stored_expectation;
         });
}

// Looks for failures that a format of storage explains: of the size of its roundings, and wherever there is something to round. A mistake
// in logic fails in some lengths, or with some masks, or by amounts of all sizes.
class StorageSearch {
 public:
  explicit StorageSearch(std::span<const CaseRecord> cases) {
    for (const CaseRecord& record : cases) {
      if (has_failed(record)) failed_.push_back(&record);
      if (has_failed(record) || has_passed(record)) executed_.push_back(&record);
    }
  }

  std::string sentence() {
    if (failed_.empty() || !family().bounds_weaker_storage) return {};
    const Format* format = format_of_errors();
    if (format == nullptr) return {};
    keep_comparable();
    if (!fails_everywhere()) return {};
    return fmt::format(
        "{}: in {} of {} failed cases every value is off by at most {:.2g} of its magnitude, as if rounded to {} {}; {} of {} comparable "
        "cases fail. A kernel that stores keys, values or intermediate results so declares it in [accuracy] of its variant.toml "
        "(docs/VARIANT.md); if this kernel does not, the mistake is elsewhere",
        failed_.front()->variant, errors_.size(), failed_.size(), errors_.back(), format->word,
        errors_.back() <= format->unit ? "once" : "twice", failing(comparable_), comparable_.size());
  }

 private:
  [[nodiscard]] const families::Family& family() const { return harness::find_family(failed_.front()->family); }

  static std::size_t failing(const std::vector<const CaseRecord*>& cases) {
    return static_cast<std::size_t>(std::ranges::count_if(cases, [](const CaseRecord* record) { return has_failed(*record); }));
  }

  // The nearest format of which nearly all failures are one or two roundings, and most not much less than one; nullptr if there is none.
  const Format* format_of_errors() {
    // One in so many may be of another size: half leaves no result of large scores and of tiny values (measured: one in ten).
    constexpr std::size_t kOthers = 5;
    constexpr double kPart = 8;  // of a rounding: the worst of the values of a case is not far below it
    std::vector<double> all;
    for (const CaseRecord* record : failed_) {
      // The median stands for the bound of the worst element, which is not known any more.
      if (is_only_off(*record)) all.push_back(record->judgement.max_ratio * record->judgement.median_bound_ratio);
    }
    std::ranges::sort(all);
    for (const Format& format : kFormats) {
      errors_ = all;
      std::erase_if(errors_, [&](double error) { return error > kMostRoundings * format.unit; });
      if (errors_.empty() || errors_.size() * kOthers < failed_.size() * (kOthers - 1)) continue;
      return errors_[errors_.size() / 2] * kPart >= format.unit ? &format : nullptr;
    }
    return nullptr;
  }

  // Cases with the formats of some that fail, and as many keys as most of these: with one key there is little to round.
  void keep_comparable() {
    std::vector<std::string_view> formats;
    for (const auto& [axis, value] : failed_.front()->axes) {
      if (const auto words = axis_words(failed_.front()->family, axis); std::ranges::find(words, "half") != words.end())
        formats.push_back(axis);
    }
    const auto formats_of = [&](const CaseRecord& record) {
      std::vector<std::int64_t> values;
      for (const std::string_view axis : formats) values.push_back(axis_of(record, axis));
      return values;
    };
    const auto length = std::ranges::find_if(family().axes, &families::Axis::is_length);
    const auto length_of = [&](const CaseRecord& record) { return length == family().axes.end() ? 0 : axis_of(record, length->name); };
    std::set<std::vector<std::int64_t>> failing_formats;
    std::vector<std::int64_t> lengths;
    for (const CaseRecord* record : failed_) {
      failing_formats.insert(formats_of(*record));
      lengths.push_back(length_of(*record));
    }
    std::ranges::sort(lengths);
    const std::int64_t least = lengths[lengths.size() / 4];
    std::ranges::copy_if(executed_, std::back_inserter(comparable_), [&](const CaseRecord* record) {
      return failing_formats.contains(formats_of(*record)) && length_of(*record) >= least;
    });
  }

  // Whether most comparable cases fail, and with every value of every axis a part.
  [[nodiscard]] bool fails_everywhere() const {
    constexpr std::size_t kFewest = 6, kPart = 4;  // with fewer cases of a value, that all passed is chance
    if (failing(comparable_) * 2 <= comparable_.size()) return false;
    std::map<std::pair<std::string_view, std::int64_t>, std::vector<const CaseRecord*>> by_value;
    for (const CaseRecord* record : comparable_) {
      for (const auto& [axis, value] : record->axes) by_value[{axis, value}].push_back(record);
    }
    return std::ranges::none_of(
        by_value, [](const auto& one) { return one.second.size() >= kFewest && failing(one.second) * kPart < one.second.size(); });
  }

  std::vector<const CaseRecord*> failed_, executed_, comparable_;
  std::vector<double> errors_;  // of failures that the format explains, as parts of the magnitude, in increasing order
};

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

std::string storage_hint(std::span<const CaseRecord> cases) { return StorageSearch(cases).sentence(); }

}  // namespace assay::reports

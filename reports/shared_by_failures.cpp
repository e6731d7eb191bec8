// Finds properties that failing cases have and most others have not.
#include "reports/shared_by_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/cases/case.h"

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

class Search {
 public:
  explicit Search(const std::vector<const CaseRecord*>& cases) : cases_(cases) {}

  std::vector<Property> find() {
    const auto first = std::ranges::find_if(cases_, [](const CaseRecord* record) { return has_failed(*record); });
    if (first == cases_.end()) return {};
    consider(fmt::format("fixture {}", (*first)->fixture), [&](const CaseRecord& one) { return one.fixture == (*first)->fixture; });
    for (const auto& [axis, value] : (*first)->axes) {
      consider(fmt::format("{} = {}", axis, value), [&](const CaseRecord& one) { return axis_of(one, axis) == value; });
      consider_ranges(axis);
    }
    std::ranges::sort(found_, {}, [](const Property& one) { return std::pair(one.passed, one.words); });
    return found_;
  }

 private:
  void consider(const std::string& words, const std::function<bool(const CaseRecord&)>& holds) {
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
    if (property.failed > 1 && passed > 0 && 4 * property.passed <= 3 * passed) found_.push_back(std::move(property));
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
      consider(fmt::format("{} > {}", axis, below), [&](const CaseRecord& one) { return axis_of(one, axis) > below; });
    }
    if (const auto above = std::next(all.find(*failing.rbegin())); above != all.end())
      consider(fmt::format("{} < {}", axis, *above), [&](const CaseRecord& one) { return axis_of(one, axis) < *above; });
  }

  const std::vector<const CaseRecord*>& cases_;
  std::vector<Property> found_;
};

}  // namespace

std::vector<std::string> shared_by_failures(std::span<const CaseRecord> cases) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> sentences;
  for (const auto& [variant, records] : by_variant(cases)) {
    std::vector<Property> properties = Search(records).find();
    if (properties.size() > kMost) properties.resize(kMost);
    for (const Property& one : properties) {
      sentences.push_back(fmt::format("{}: only {}: all {} failures, and {} of the cases that passed", variant, one.words, one.failed,
                                      one.passed == 0 ? std::string("none") : fmt::format("{}", one.passed)));
    }
  }
  return sentences;
}

std::string storage_hint(std::span<const CaseRecord> cases) {
  constexpr double kRoundings = 8.0;  // that a declaration allows (oracles/README.md)
  constexpr double kHalf = 0x1p-11, kBfloat = 0x1p-8;
  constexpr std::size_t kOthers = 10;  // one in so many failures may have another size: where scores are large, half leaves no result
  double unit = kHalf;
  std::vector<double> errors;
  std::size_t failures = 0;
  const CaseRecord* failed = nullptr;
  for (const CaseRecord& record : cases) {
    // The median stands for the bound of the worst element, which is not known any more.
    const double bound = record.judgement.median_bound_ratio;
    if (has_passed(record) && bound > kHalf) unit = kBfloat;
    if (!has_failed(record)) continue;
    const harness::Judgement& judgement = record.judgement;
    const bool is_close =
        record.status == harness::Status::failed && judgement.above_bound != 0 && judgement.not_written == 0 && judgement.nans == 0 &&
        judgement.infs == 0 && judgement.guard_violations == 0 && std::ranges::all_of(record.faults, [](const harness::Fault& fault) {
          return fault.kind() == harness::FaultKind::above_bound || fault.kind() == harness::FaultKind::stored_expectation;
        });
    ++failures;
    failed = &record;
    if (!is_close) continue;
    if (bound > kHalf) unit = kBfloat;
    errors.push_back(judgement.max_ratio * bound);
  }
  std::erase_if(errors, [unit](double error) { return error > kRoundings * unit; });
  if (failed == nullptr || errors.size() * kOthers < failures * (kOthers - 1) ||
      !harness::find_family(failed->family).bounds_weaker_storage) {
    return {};
  }
  return fmt::format(
      "{}: in {} of {} failed cases every value is off by at most {:.2g} of its magnitude, which {} roundings to {} would explain; a "
      "kernel that stores keys, values or intermediate results so declares it in [accuracy] of its variant.toml (docs/VARIANT.md)",
      failed->variant, errors.size(), failures, *std::ranges::max_element(errors), kRoundings, unit == kHalf ? "half" : "bfloat");
}

}  // namespace assay::reports

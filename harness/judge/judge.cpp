// Compares outputs with expectations element by element, and collects the statistics.
#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/mix.h"
#include "metal/buffer.h"
#include "oracles/partials.h"

namespace assay::harness {

namespace {

constexpr double kInfiniteError = std::numeric_limits<double>::infinity();

void require_comparable(std::size_t actual_size, const oracles::Expected& expected) {
  const std::size_t size = expected.value.size();
  if (actual_size != size || expected.bound.size() != size || expected.magnitude.size() != size) {
    throw std::invalid_argument(fmt::format("cannot judge {} elements with {} values, {} bounds and {} magnitudes", actual_size, size,
                                            expected.bound.size(), expected.magnitude.size()));
  }
  for (std::size_t j = 0; j < size; ++j) {
    const bool is_exact = expected.bound[j] == 0.0;  // NaN or infinity itself is what a kernel must write
    if (!(std::isfinite(expected.value[j]) || is_exact) || !(expected.bound[j] >= 0.0) || !(expected.magnitude[j] >= 0.0)) {
      throw std::invalid_argument(fmt::format("expectation of element {} is value {}, bound {}, magnitude {}", j, expected.value[j],
                                              expected.bound[j], expected.magnitude[j]));
    }
  }
}

std::size_t changed_words(std::span<const std::uint32_t> words) {
  return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [](std::uint32_t w) { return w != metal::kPoisonWord; }));
}

template <typename Float>
ElementFault classify(Float actual) {
  if (is_unwritten(actual)) return ElementFault::not_written;
  if (std::isnan(actual)) return ElementFault::nan;
  if (std::isinf(actual)) return ElementFault::infinite;
  return ElementFault::none;
}

// Whether the expectation is NaN or infinite, and the element is the same.
template <typename Float>
bool is_expected_special(Float actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual) && !is_unwritten(actual);
  return std::isinf(expected) && static_cast<double>(actual) == expected;
}

bool worse(const WorstElement& a, const WorstElement& b) { return a.ratio != b.ratio ? a.ratio > b.ratio : a.index < b.index; }

// The `options.worst_count` worst elements so far, as a heap whose front is the least bad one.
class WorstList {
 public:
  explicit WorstList(std::size_t limit) : limit_(limit) {}
  void offer(const WorstElement& element) {
    if (limit_ == 0 || (elements_.size() == limit_ && !worse(element, elements_.front()))) return;
    if (elements_.size() == limit_) {
      std::pop_heap(elements_.begin(), elements_.end(), worse);
      elements_.pop_back();
    }
    elements_.push_back(element);
    std::push_heap(elements_.begin(), elements_.end(), worse);
  }
  [[nodiscard]] std::vector<WorstElement> sorted() && {
    std::sort(elements_.begin(), elements_.end(), worse);
    return std::move(elements_);
  }

 private:
  std::size_t limit_;
  std::vector<WorstElement> elements_;
};

// How many different numbers there are; NaN is none. A table with open addresses, at most four fifths full, takes a tenth of the time of
// sorting.
std::size_t count_distinct(std::span<const double> values) {
  constexpr std::uint64_t kFree = ~std::uint64_t{0};  // the bits of a NaN
  std::vector<std::uint64_t> table(std::bit_ceil(values.size() + values.size() / 4 + 1), kFree);
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // turns -0, which equals 0, into it
    std::size_t place = base::mix(bits) & (table.size() - 1);
    while (table[place] != kFree && table[place] != bits) place = (place + 1) & (table.size() - 1);
    if (table[place] == bits) continue;
    table[place] = bits;
    ++count;
  }
  return count;
}

double median_ratio(const oracles::Expected& expected) {
  std::vector<double> ratios;
  ratios.reserve(expected.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    if (expected.magnitude[j] > 0.0) ratios.push_back(expected.bound[j] / expected.magnitude[j]);
  }
  if (ratios.empty()) return 0.0;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

std::optional<Mistrust> distrust(const Judgement& judgement, std::size_t size, const JudgeOptions& options) {
  const auto because = [&](Distrust why) { return Mistrust{why, size, judgement.uninformative, options.informative_ratio}; };
  if (size == 0) return because(Distrust::nothing_to_compare);
  if (judgement.compared == 0) return because(Distrust::none_comparable);
  if (judgement.distinct_expected == 1 && size > 1 && !options.constant_is_expected) return because(Distrust::constant_expectation);
  if (judgement.uninformative * 10 > size) return because(Distrust::uninformative);
  return std::nullopt;
}

// Whether the bound of an element is too wide to judge it. With a magnitude of 0, only an exact 0 is right, so such an element is always
// informative.
bool is_uninformative(const oracles::Expected& expected, std::size_t j, const JudgeOptions& options) {
  double limit = options.informative_ratio * expected.magnitude[j];
  limit = std::max({limit, std::min(options.output_spacing, expected.magnitude[j] / 2), options.declared_loss});
  return !(expected.bound[j] <= limit) && expected.magnitude[j] > 0.0;
}

// Sums over all elements that are numbers.
struct Sums {
  double error_squares = 0.0;
  double expected_squares = 0.0;
  double actual_squares = 0.0;
  double products = 0.0;

  void add(const WorstElement& element, double error) {
    error_squares += error * error;
    expected_squares += element.expected * element.expected;
    actual_squares += element.actual * element.actual;
    products += element.actual * element.expected;
  }
  // Of the output and the expectation as vectors.
  [[nodiscard]] double cosine() const {
    const double norms = std::sqrt(expected_squares) * std::sqrt(actual_squares);
    return norms > 0.0 ? products / norms : (expected_squares == actual_squares ? 1.0 : 0.0);
  }
};

template <typename Float>
Judgement judge_elements(std::span<const Float> actual, const oracles::Expected& expected, const GuardBands& guards,
                         const JudgeOptions& options) {
  require_comparable(actual.size(), expected);
  if (options.keep != nullptr) *options.keep = {{actual.begin(), actual.end()}, expected.value, expected.bound};
  Judgement judgement;
  WorstList worst(options.worst_count);
  Sums sums;
  for (std::size_t j = 0; j < actual.size(); ++j) {
    WorstElement element{.index = j,
                         .expected = expected.value[j],
                         .actual = static_cast<double>(actual[j]),
                         .bound = expected.bound[j],
                         .ratio = kInfiniteError,
                         .fault = classify(actual[j])};
    if (is_uninformative(expected, j, options)) ++judgement.uninformative;
    // An infinite bound: the contract says nothing about this element.
    if ((element.bound == kInfiniteError && expected.magnitude[j] == 0.0) || is_expected_special(actual[j], element.expected)) {
      if (element.bound == 0.0) ++judgement.compared;
      continue;
    }
    if (!std::isfinite(element.expected) && element.fault == ElementFault::none) element.fault = ElementFault::above_bound;
    switch (element.fault) {
      case ElementFault::not_written:
        ++judgement.not_written;
        break;
      case ElementFault::nan:
        ++judgement.nans;
        break;
      case ElementFault::infinite:
        ++judgement.infs;
        break;
      case ElementFault::above_bound:  // a number where NaN or infinity is expected
        ++judgement.compared;
        ++judgement.above_bound;
        break;
      default: {
        ++judgement.compared;
        const double error = std::abs(element.actual - element.expected);
        if (!(error <= element.bound)) {
          ++judgement.above_bound;
          element.fault = ElementFault::above_bound;
        }
        element.ratio = ratio_of(error, element.bound);
        judgement.max_abs_error = std::max(judgement.max_abs_error, error);
        if (element.expected != 0.0) judgement.max_rel_error = std::max(judgement.max_rel_error, error / std::abs(element.expected));
        sums.add(element, error);
      }
    }
    if (element.ratio > judgement.max_ratio) {
      judgement.max_ratio = element.ratio;
      judgement.max_ratio_index = j;
    }
    worst.offer(element);
  }
  judgement.guard_violations = changed_words(guards.before) + changed_words(guards.after);
  judgement.distinct_expected = count_distinct(expected.value);
  judgement.median_bound_ratio = median_ratio(expected);
  judgement.nmse = ratio_of(sums.error_squares, sums.expected_squares);
  judgement.cosine = sums.cosine();
  judgement.worst = std::move(worst).sorted();
  judgement.mistrusted = distrust(judgement, actual.size(), options);
  return judgement;
}

}  // namespace

bool is_unwritten(float value) { return std::bit_cast<std::uint32_t>(value) == metal::kPoisonWord; }
bool is_unwritten(double value) {
  static const auto poison = std::bit_cast<std::uint64_t>(oracles::widen_nan(metal::kPoisonWord));
  return std::bit_cast<std::uint64_t>(value) == poison;
}

// In the order of Distrust.
constexpr std::array<std::string_view, 4> kDistrusts = {"nothing to compare", "none comparable", "constant expectation", "uninformative"};
static_assert(kDistrusts.size() == static_cast<std::size_t>(Distrust::uninformative) + 1);

std::string_view to_string(Distrust why) { return kDistrusts.at(static_cast<std::size_t>(why)); }

double ratio_of(double error, double bound) {
  if (error == 0.0) return 0.0;
  return bound > 0.0 && !std::isnan(error) ? error / bound : kInfiniteError;
}

bool Judgement::passed() const {
  return !mistrusted && compared > 0 && above_bound == 0 && not_written == 0 && nans == 0 && infs == 0 && guard_violations == 0;
}

Judgement judge(std::span<const float> actual, const oracles::Expected& expected, const GuardBands& guards, const JudgeOptions& options) {
  return judge_elements(actual, expected, guards, options);
}

Judgement judge(std::span<const double> actual, const oracles::Expected& expected, const GuardBands& guards, const JudgeOptions& options) {
  return judge_elements(actual, expected, guards, options);
}

}  // namespace assay::harness

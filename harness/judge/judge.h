// Compares what a kernel wrote with what is true, element by element. Knows no test framework, prints nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "oracles/expected.h"

namespace assay::harness {

// Memory next to an output that no kernel may touch: words that were poisoned before the run.
struct GuardBands {
  std::span<const std::uint32_t> before, after;
};

// An output as it was judged, element by element.
struct JudgedOutput {
  std::vector<double> actual;  // never written: the poison NaN, widened
  std::vector<double> expected, bound;
};

struct JudgeOptions {
  std::size_t worst_count = 8;        // how many of the worst elements to keep
  double informative_ratio = 1e-3;    // an element with bound > ratio * magnitude tells nothing (float outputs)
  bool constant_is_expected = false;  // the inputs were constant by intent, so that one distinct expected value is no sign of a dead check
  JudgedOutput* keep = nullptr;       // filled with what is judged
};

// Whether an element still is metal::kPoisonWord; in double, that NaN widened.
[[nodiscard]] bool is_unwritten(float value);
[[nodiscard]] bool is_unwritten(double value);

// error / bound, which decides nothing and only orders: infinite where no error is allowed, and of what is no number.
[[nodiscard]] double ratio_of(double error, double bound);

enum class ElementFault { none, above_bound, not_written, nan, infinite };

struct WorstElement {
  std::size_t index = 0;
  double expected = 0, actual = 0, bound = 0;
  double ratio = 0;  // error / bound; infinite for a value that is missing, NaN or infinite
  ElementFault fault = ElementFault::none;
};

// Why a comparison proves nothing.
enum class Distrust : std::uint8_t { nothing_to_compare, none_comparable, constant_expectation, uninformative };
[[nodiscard]] std::string_view to_string(Distrust why);

struct Mistrust {
  Distrust why = Distrust::nothing_to_compare;
  std::size_t elements = 0;
  std::size_t uninformative = 0;  // of them: with a bound above `limit` of their magnitude
  double limit = 0;
};

struct Judgement {
  std::size_t compared = 0;     // elements whose error was tested against the bound
  std::size_t above_bound = 0;  // of these: not (error <= bound)
  std::size_t not_written = 0;  // still the poison word
  std::size_t nans = 0, infs = 0;
  std::size_t guard_violations = 0;  // guard words that changed
  std::size_t uninformative = 0;
  std::size_t distinct_expected = 0;  // counted to the end, not sampled
  double max_ratio = 0;               // largest error / bound over all elements; infinite as soon as one is missing, NaN or infinite
  std::size_t max_ratio_index = 0;
  double max_abs_error = 0, max_rel_error = 0;  // over compared elements; relative to the expected value where that is not 0
  double nmse = 0;                              // sum of squared errors / sum of squared expected values, compared elements
  double cosine = 0;                            // of the compared elements; 1 if both are zero
  double median_bound_ratio = 0;                // median over elements with magnitude > 0 of bound / magnitude
  std::vector<WorstElement> worst;              // largest ratio first, ties by index
  std::optional<Mistrust> mistrusted;           // why this comparison proves nothing; nothing if it does

  // Every element compared and within its bound, guards intact, and the comparison means something.
  [[nodiscard]] bool passed() const;
};

// `actual` is the kernel's output, poisoned with metal::kPoisonWord before the run. A size that differs from `expected` throws
// std::invalid_argument, as does an expectation that is not finite or a bound that is negative.
[[nodiscard]] Judgement judge(std::span<const float> actual, const oracles::Expected& expected, const GuardBands& guards = {},
                              const JudgeOptions& options = {});

// The same for outputs merged in double; an element never written is the poison NaN widened bit by bit (oracles::merge_partials).
[[nodiscard]] Judgement judge(std::span<const double> actual, const oracles::Expected& expected, const GuardBands& guards = {},
                              const JudgeOptions& options = {});

}  // namespace assay::harness

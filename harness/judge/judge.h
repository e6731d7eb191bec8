// Compares a kernel's output with the expectation, element by element. Knows no test framework and prints nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "oracles/expected.h"

namespace assay::harness {

// Memory next to an output that no kernel may write: words that were poisoned before the run.
struct GuardBands {
  std::span<const std::uint32_t> before, after;
};

// The judged output, element by element.
struct JudgedOutput {
  std::vector<double> actual;  // unwritten elements: the poison NaN, widened
  std::vector<double> expected, bound;
};

struct JudgeOptions {
  std::size_t worst_count = 8;      // number of worst elements to keep
  double informative_ratio = 1e-3;  // an element with bound > ratio * magnitude is uninformative (float outputs)
  // The spacing of the output format's subnormals, if it is coarser than float. An element whose bound is within it, and at most half of
  // the magnitude, is informative nevertheless: no kernel can store a subnormal more exactly.
  double output_spacing = 0.0;
  // What a variant declares that values lose below the normal numbers of the format in which it stores them. An element whose bound is
  // within it is informative, whatever its magnitude: its contract is then that it is written and no larger than that.
  double declared_loss = 0.0;
  bool constant_is_expected = false;  // the inputs are constant on purpose, so a single distinct expected value does not mean that
                                      // nothing is checked
  JudgedOutput* keep = nullptr;       // is filled with the judged values
};

// Whether an element still is metal::kPoisonWord; for double, that NaN widened.
[[nodiscard]] bool is_unwritten(float value);
[[nodiscard]] bool is_unwritten(double value);

// error / bound, used only for sorting. Infinite if no error is allowed, and for NaN.
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
  std::size_t compared = 0;     // elements whose error was compared with the bound
  std::size_t above_bound = 0;  // of these: not (error <= bound)
  std::size_t not_written = 0;  // still the poison word
  std::size_t nans = 0, infs = 0;
  std::size_t guard_violations = 0;  // guard words that changed
  std::size_t uninformative = 0;
  std::size_t distinct_expected = 0;  // counted exactly, not sampled
  double max_ratio = 0;               // largest error / bound over all elements; infinite if one is missing, NaN or infinite
  std::size_t max_ratio_index = 0;
  double max_abs_error = 0, max_rel_error = 0;  // over compared elements; relative to the expected value if that is not 0
  double nmse = 0;                              // sum of squared errors / sum of squared expected values, compared elements
  double cosine = 0;                            // of the compared elements; 1 if both are zero
  double median_bound_ratio = 0;                // median over elements with magnitude > 0 of bound / magnitude
  std::vector<WorstElement> worst;              // largest ratio first, ties by index
  std::optional<Mistrust> mistrusted;           // why this comparison proves nothing; empty if it proves something

  // Whether every element was compared and is within its bound, guards are intact, and the comparison is meaningful.
  [[nodiscard]] bool passed() const;
};

// `actual` is the kernel's output, poisoned with metal::kPoisonWord before the run. Throws std::invalid_argument if its size differs
// from that of `expected`, for a negative bound, and for an expectation that is not finite, except with a bound of 0: then the element must
// be the same infinity, or NaN. An element with an infinite bound is not judged.
[[nodiscard]] Judgement judge(std::span<const float> actual, const oracles::Expected& expected, const GuardBands& guards = {},
                              const JudgeOptions& options = {});

// The same for outputs merged in double. An unwritten element is the poison NaN widened bit by bit (oracles::merge_partials).
[[nodiscard]] Judgement judge(std::span<const double> actual, const oracles::Expected& expected, const GuardBands& guards = {},
                              const JudgeOptions& options = {});

}  // namespace assay::harness

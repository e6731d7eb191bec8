// Splits errors with the help of shadows.
#include "harness/judge/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace assay::harness {
namespace {

SplitElement element_of(const ShadowedOutput& output, std::size_t index) {
  return {.index = index,
          .actual = output.values[index],
          .shadow = output.shadows[index],
          .expected = output.expected.value[index],
          .bound = output.expected.bound[index],
          .exact = output.exact.value[index],
          .exact_bound = output.exact.bound[index]};
}

void require_sizes(const ShadowedOutput& output) {
  const std::size_t size = output.values.size();
  const auto fits = [&](std::size_t other) { return other == size; };
  if (fits(output.shadows.size()) && fits(output.expected.size()) && fits(output.exact.size()) &&
      (output.is_discrete.empty() || fits(output.is_discrete.size())))
    return;
  throw std::invalid_argument(fmt::format("cannot split {} values with {} shadows, {} expected and {} exact values, and {} marks", size,
                                          output.shadows.size(), output.expected.size(), output.exact.size(), output.is_discrete.size()));
}

}  // namespace

double SplitElement::rounding_ratio() const { return ratio_of(std::abs(rounding()), bound); }
double SplitElement::logic_ratio() const { return ratio_of(std::abs(logic()), exact_bound); }

bool SplitElement::is_mostly_logic() const {
  // A value that is not finite although its shadow is has overflowed, which counts as rounding.
  if (!std::isfinite(shadow)) return true;
  return std::isfinite(actual) && std::abs(logic()) > std::abs(rounding());
}

const SplitElement* ErrorSplit::find(std::size_t index) const {
  const auto found = std::ranges::find(worst, index, &SplitElement::index);
  return found == worst.end() ? nullptr : &*found;
}

ErrorSplit split_errors(const ShadowedOutput& output, const Judgement& judgement) {
  require_sizes(output);
  ErrorSplit split;
  const auto is_discrete = [&](std::size_t index) { return !output.is_discrete.empty() && output.is_discrete[index]; };
  const auto has_split = [&](std::size_t index) { return !is_discrete(index) && !is_unwritten(output.values[index]); };
  const auto raise = [](double ratio, std::size_t index, double& largest, std::size_t& place) {
    if (ratio > largest) {
      largest = ratio;
      place = index;
    }
  };
  for (std::size_t index = 0; index < output.values.size(); ++index) {
    if (is_discrete(index)) ++split.discrete;
    if (!has_split(index)) continue;
    ++split.elements;
    const SplitElement element = element_of(output, index);
    if (!(std::abs(element.logic()) <= element.exact_bound)) ++split.above_bound;
    raise(element.rounding_ratio(), index, split.max_rounding_ratio, split.max_rounding_index);
    raise(element.logic_ratio(), index, split.max_logic_ratio, split.max_logic_index);
  }
  const auto list = [&](std::size_t index) {
    if (has_split(index) && split.find(index) == nullptr) split.worst.push_back(element_of(output, index));
  };
  for (const WorstElement& worst : judgement.worst) list(worst.index);
  if (split.max_logic_ratio > 0.0) list(split.max_logic_index);
  if (split.max_rounding_ratio > 0.0) list(split.max_rounding_index);
  return split;
}

}  // namespace assay::harness

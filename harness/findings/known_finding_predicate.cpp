// The `when` of a known finding: an expression over the axes of a case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"
#include "harness/findings/known_finding_text.h"
#include "kernels/axis_text.h"
#include "kernels/expression.h"

namespace assay::harness {
namespace {

using kernels::ValueType;

const Axis* axis_named(const Family& family, std::string_view name) {
  auto axis = std::ranges::find(family.axes, name, &Axis::name);
  if (axis == family.axes.end()) axis = std::ranges::find(family.axes, name, &Axis::brief);
  return axis == family.axes.end() || name.empty() ? nullptr : &*axis;
}

// Axes that a predicate compares with words; all others are numbers.
using WordAxes = std::set<std::string, std::less<>>;

// The names of a predicate, for one case. A quantity that cannot be determined has no value.
class CaseNames final : public kernels::Names {
 public:
  CaseNames(const Case& test_case, const WordAxes& words) : test_case_(test_case), words_(words) {}

  [[nodiscard]] std::optional<kernels::Value> value(std::string_view name) const override {
    if (name == "fixture") return test_case_.fixture;
    if (name == "seed") {
      if (test_case_.seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return static_cast<std::int64_t>(test_case_.seed);
    }
    const Family& family = *test_case_.family;
    if (const auto quantity = std::ranges::find(family.quantities, name, &families::Quantity::name); quantity != family.quantities.end())
      return quantity->of(test_case_, is_on_file(test_case_));
    const Axis* axis = axis_named(family, name);
    if (axis == nullptr) return std::nullopt;
    if (words_.contains(name)) return kernels::axis_text(family.contract, axis->name, test_case_.at(axis->name));
    return test_case_.values[static_cast<std::size_t>(axis - family.axes.data())];
  }
  [[nodiscard]] const kernels::NamedTensor* tensor(std::string_view) const override { return nullptr; }
  [[nodiscard]] std::vector<std::string> all() const override { return {}; }

 private:
  const Case& test_case_;
  const WordAxes& words_;
};

// The axes with words that are compared with texts. Throws FindingSyntaxError for a text that is no word of its axis.
WordAxes axes_by_word(const kernels::Expression& expression, const Family& family) {
  WordAxes axes;
  for (const kernels::AxisWords& known : family.contract.axis_words) {
    for (const std::string& text : expression.texts_compared_with(known.axis)) {
      if (std::ranges::find(known.words, text) == known.words.end())
        throw FindingSyntaxError(
            known.words.empty() ? fmt::format("axis {} has numbers, and no word '{}'", known.axis, text)
                                : fmt::format("axis {} has no word '{}'; accepted: {}", known.axis, text, fmt::join(known.words, ", ")));
      axes.emplace(known.axis);
    }
  }
  return axes;
}

ValueType type_of(std::string_view name, const Family& family, const WordAxes& words) {
  if (name == "fixture" || words.contains(name)) return ValueType::text;
  const bool is_quantity = std::ranges::find(family.quantities, name, &families::Quantity::name) != family.quantities.end();
  if (name == "seed" || is_quantity || axis_named(family, name) != nullptr) return ValueType::integer;
  std::vector<std::string> known;
  for (const Axis& axis : family.axes)
    known.push_back(axis.brief.empty() ? std::string(axis.name) : fmt::format("{} ({})", axis.name, axis.brief));
  for (const families::Quantity& quantity : family.quantities) known.emplace_back(quantity.name);
  throw FindingSyntaxError(
      fmt::format("family {1} has no axis '{0}'; accepted: {2}, fixture, seed", name, family.name(), fmt::join(known, ", ")));
}

}  // namespace

Predicate parse_predicate(std::string_view text, const Family& family) {
  try {
    kernels::Expression expression(std::string(text), {});
    const WordAxes words = axes_by_word(expression, family);
    const ValueType type = expression.type([&](std::string_view name) { return std::optional(type_of(name, family, words)); });
    if (type != ValueType::boolean)
      throw FindingSyntaxError("the expression is not a condition; compare it with something, as in 'n <= 32'");
    const std::vector<std::string_view> fixtures = fixtures_of(family);
    for (const std::string& name : expression.texts_compared_with("fixture")) {
      if (std::ranges::find(fixtures, name) == fixtures.end())
        throw FindingSyntaxError(
            fmt::format("family {1} has no fixture '{0}'; accepted: {2}", name, family.name(), fmt::join(fixtures, ", ")));
    }
    return [expression, words](const Case& test_case) -> std::optional<bool> {
      try {
        return expression.condition(CaseNames(test_case, words));
      } catch (const kernels::ExpressionError&) {
        return std::nullopt;  // a division by zero, an overflow, a quantity that cannot be determined
      }
    };
  } catch (const kernels::ExpressionError& error) {
    throw FindingSyntaxError(error.what());
  }
}

}  // namespace assay::harness

// The `when` of a known finding: an expression over the axes of a case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"
#include "harness/findings/known_finding_text.h"
#include "kernels/expression.h"

namespace assay::harness {
namespace {

using kernels::ValueType;

const Axis* axis_named(const Family& family, std::string_view name) {
  auto axis = std::ranges::find(family.axes, name, &Axis::name);
  if (axis == family.axes.end()) axis = std::ranges::find(family.axes, name, &Axis::brief);
  return axis == family.axes.end() || name.empty() ? nullptr : &*axis;
}

// The names of a predicate, for one case. A quantity that cannot be determined has no value.
class CaseNames final : public kernels::Names {
 public:
  explicit CaseNames(const Case& test_case) : test_case_(test_case) {}

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
    return test_case_.values[static_cast<std::size_t>(axis - family.axes.data())];
  }
  [[nodiscard]] const kernels::NamedTensor* tensor(std::string_view) const override { return nullptr; }
  [[nodiscard]] std::vector<std::string> all() const override { return {}; }

 private:
  const Case& test_case_;
};

ValueType type_of(std::string_view name, const Family& family) {
  if (name == "fixture") return ValueType::text;
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
    const ValueType type = expression.type([&](std::string_view name) { return std::optional(type_of(name, family)); });
    if (type != ValueType::boolean)
      throw FindingSyntaxError("the expression is not a condition; compare it with something, as in 'n <= 32'");
    const std::vector<std::string_view> fixtures = fixtures_of(family);
    for (const std::string& name : expression.texts_compared_with("fixture")) {
      if (std::ranges::find(fixtures, name) == fixtures.end())
        throw FindingSyntaxError(
            fmt::format("family {1} has no fixture '{0}'; accepted: {2}", name, family.name(), fmt::join(fixtures, ", ")));
    }
    return [expression](const Case& test_case) -> std::optional<bool> {
      try {
        return expression.condition(CaseNames(test_case));
      } catch (const kernels::ExpressionError&) {
        return std::nullopt;  // a division by zero, an overflow, a quantity that cannot be determined
      }
    };
  } catch (const kernels::ExpressionError& error) {
    throw FindingSyntaxError(error.what());
  }
}

}  // namespace assay::harness

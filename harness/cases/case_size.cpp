// Sizes of cases: a product of counts, and a little for everything that is not simple.
#include "harness/cases/case_size.h"

#include <algorithm>

namespace assay::harness {
namespace {

// The size that an axis adds if it is not a factor of the size.
double extra_of(const Axis& axis, std::int64_t value, std::int64_t simplest) {
  constexpr std::int64_t many = 50;
  constexpr std::int64_t far = 200;
  switch (axis.weight) {
    case families::Weight::repeat:
      return 0.02 * static_cast<double>(std::max<std::int64_t>(value, 1) - 1);
    case families::Weight::extent:
      return 0.001 * static_cast<double>(std::min(value, many));
    case families::Weight::start:
      return value == 0 ? 0.0 : 0.02 + 0.0001 * static_cast<double>(std::min(value, far));
    case families::Weight::choice:
      return value == simplest ? 0.0 : axis.simplest_as.empty() ? 0.02 : 0.03;
    case families::Weight::none:
    case families::Weight::factor:
      break;
  }
  return 0;
}

}  // namespace

std::int64_t simplest_value(const Axis& axis, const Case& test_case) {
  return axis.simplest_as.empty() ? axis.simplest : test_case.at(axis.simplest_as);
}

double size_of(const Case& test_case) {
  double size = 1;
  double extras = 0;
  for (std::size_t i = 0; i < test_case.values.size(); ++i) {
    const Axis& axis = test_case.family->axes[i];
    if (axis.weight == families::Weight::factor) size *= static_cast<double>(std::max<std::int64_t>(test_case.values[i], 1));
    extras += extra_of(axis, test_case.values[i], simplest_value(axis, test_case));
  }
  if (test_case.fixture != "gauss") extras += test_case.fixture == "poisoned" ? 0.06 : 0.04;
  if (test_case.seed != 1) extras += 0.005;
  return size * (1 + extras);
}

}  // namespace assay::harness

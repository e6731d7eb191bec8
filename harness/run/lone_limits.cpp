#include "harness/run/lone_limits.h"

#include <algorithm>
#include <set>

#include "harness/cases/suite.h"
#include "harness/run/executors.h"

namespace assay::harness {

std::vector<kernels::AxisLimit> limits_of_lone(const kernels::Variant& lone, std::span<const kernels::Variant> catalogue,
                                               const WorkbenchOptions& options) {
  const Family& family = find_family(lone.family);
  if (std::ranges::none_of(family.axes, &Axis::is_capability)) return {};
  const std::vector<Case> cases = suite_cases(Suite::smoke, lone, 0);
  const Workbench workbench(catalogue, cases, options);
  const PreparedVariant& prepared = workbench.find(lone.name);

  std::vector<kernels::AxisLimit> limits;
  for (std::size_t axis = 0; axis < family.axes.size(); ++axis) {
    if (!family.axes[axis].is_capability) continue;
    std::set<std::int64_t> asked;
    std::set<std::int64_t> fitting;
    for (const Case& value : cases) {
      asked.insert(value.values[axis]);
      const kernels::BoundKernel* kernel = prepared.kernel(family.function_key(value.values));
      if (kernel != nullptr && misfit_of(value, *kernel).empty()) fitting.insert(value.values[axis]);
    }
    if (fitting.empty()) return {};
    if (fitting.size() < asked.size()) limits.push_back({std::string(family.axes[axis].name), {fitting.begin(), fitting.end()}, 0});
  }
  return limits;
}

}  // namespace assay::harness

// Finds the limits of a lone kernel file by binding its functions for the cases of smoke.
#include "harness/execute/lone_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "families/described_launch.h"
#include "harness/cases/suite.h"
#include "harness/execute/execute_job.h"
#include "harness/findings/fault_text.h"

namespace assay::harness {
namespace {

// A function that does not receive the value of such an axis is made for one value, at which only its author can know. At any other
// value its output differs rightly, so the user must name the value.
void require_received_axis(const PreparedVariant& prepared, const Family& family, std::span<const Case> cases) {
  const auto axis = std::ranges::find_if(family.axes, [](const Axis& one) { return one.received_by.has_value(); });
  if (axis == family.axes.end()) return;
  const families::Reception& reception = *axis->received_by;
  std::map<std::string, std::set<std::int64_t>> asked_by_entry;
  for (const Case& value : cases) {
    const kernels::FunctionKey key = families::DescribedLaunch(value, prepared.variant).main_function();
    const kernels::BoundKernel* kernel = prepared.kernel(key);
    if (kernel == nullptr || kernel->has_field(reception.field) || kernel->entry().pipeline.constants.contains(reception.constant)) {
      continue;
    }
    asked_by_entry[key.entry].insert(value.at(axis->name));
  }
  for (const auto& [entry, asked] : asked_by_entry) {
    if (asked.size() < 2) continue;
    throw kernels::VariantError(
        fmt::format("{}: its function for {} receives {} neither as field {} nor as function constant {}, so it supports only one "
                    "value. Which of {} that is cannot be detected; pass it, for example --limit {}={}",
                    prepared.variant.source.string(), entry, reception.meaning, reception.field, reception.constant, fmt::join(asked, ", "),
                    axis->name, *asked.rbegin()));
  }
}

// Why the file cannot execute a case; empty if it can.
std::string misfit_with(const PreparedVariant& prepared, const Case& value) {
  const kernels::FunctionKey key = families::DescribedLaunch(value, prepared.variant).main_function();
  if (const kernels::BoundKernel* kernel = prepared.kernel(key); kernel != nullptr) {
    const auto misfit = misfit_of(value, *kernel);
    return misfit ? misfit->message : std::string();
  }
  const auto absent = prepared.absent.find(key.entry);
  return absent == prepared.absent.end() ? fmt::format("it has no function for {}", key.entry) : text_of(absent->second);
}

}  // namespace

std::vector<FoundLimit> limits_of_lone(const kernels::Variant& lone, std::span<const kernels::Variant> catalogue,
                                       const WorkbenchOptions& options) {
  const Family& family = family_of(lone);
  if (std::ranges::none_of(family.axes, &Axis::is_capability)) return {};
  const std::vector<Case> cases = suite_cases(Suite::smoke, lone, 0);
  if (cases.empty()) return {};
  const Workbench workbench(catalogue, cases, options);
  const PreparedVariant& prepared = workbench.find(lone.name);
  require_received_axis(prepared, family, cases);

  std::vector<std::string> misfits;  // by case; empty: none
  for (const Case& value : cases) misfits.push_back(misfit_with(prepared, value));
  std::vector<std::set<std::int64_t>> fitting(family.axes.size());
  for (std::size_t axis = 0; axis < family.axes.size(); ++axis) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (misfits[i].empty() || !family.axes[axis].is_capability) fitting[axis].insert(cases[i].values[axis]);
    }
    if (fitting[axis].empty()) return {};
  }
  // The axes on which the file does not support the case's value. A case with a single such axis gives the reason for that axis.
  const auto strays = [&](const Case& value) {
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < fitting.size(); ++axis) {
      if (!fitting[axis].contains(value.values[axis])) axes.push_back(axis);
    }
    return axes;
  };
  std::vector<std::pair<std::size_t, std::string>> reasons(fitting.size(), {fitting.size() + 1, std::string()});  // number of such axes of
                                                                                                                  // the case that gave the
                                                                                                                  // reason, and the reason
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<std::size_t> axes = strays(cases[i]);
    for (const std::size_t axis : axes) {
      if (axes.size() < reasons[axis].first) reasons[axis] = {axes.size(), misfits[i]};
    }
  }
  std::vector<FoundLimit> limits;
  for (std::size_t axis = 0; axis < fitting.size(); ++axis) {
    if (reasons[axis].second.empty()) continue;
    limits.push_back({{std::string(family.axes[axis].name), {fitting[axis].begin(), fitting[axis].end()}, 0, true}, reasons[axis].second});
  }
  return limits;
}

}  // namespace assay::harness

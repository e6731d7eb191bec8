// Evaluates and encodes the launch of a case.
#include "families/described_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "families/embedded_file.h"
#include "metal/errors.h"

namespace assay::families {

namespace {

const kernels::LaunchDescription& launch_for(const Case& test_case, const kernels::Variant& variant) {
  if (variant.launch) return *variant.launch;
  if (test_case.family->launch != nullptr) return *test_case.family->launch;
  throw kernels::VariantError(
      fmt::format("{}: a kernel of family {} needs a variant.toml, which says how it is launched (docs/LAUNCH.md); `assay init` drafts one",
                  variant.source.string(), test_case.family->name()));
}

}  // namespace

DescribedLaunch::DescribedLaunch(const Case& test_case, const kernels::Variant& variant)
    : DescribedLaunch(launch_for(test_case, variant), variant.fields, test_case.family->expression_names(test_case, variant)) {}

DescribedLaunch::DescribedLaunch(const kernels::LaunchDescription& launch, const kernels::FieldValues& fields,
                                 std::shared_ptr<const kernels::Names> of_case)
    : launch_(launch),
      of_case_(std::move(of_case)),
      names_(std::make_unique<kernels::LaunchNames>(launch, fields, *of_case_)),
      dispatches_(kernels::plan_launch(launch, *names_)) {}

std::vector<LaunchedFunction> DescribedLaunch::functions() const {
  std::vector<LaunchedFunction> functions;
  for (const kernels::PlannedDispatch& dispatch : dispatches_) functions.push_back({dispatch.description->family, dispatch.function});
  return functions;
}

kernels::FunctionKey DescribedLaunch::main_function() const {
  const auto is_own = [](const kernels::PlannedDispatch& dispatch) { return dispatch.description->family.empty(); };
  const auto found = std::ranges::find_if(dispatches_, is_own);
  if (found == dispatches_.end()) throw std::invalid_argument("no [[dispatch]] runs a function of the variant itself");
  return found->function;
}

std::int64_t DescribedLaunch::largest_threadgroup() const {
  std::int64_t largest = 1;
  for (const kernels::PlannedDispatch& dispatch : dispatches_) {
    const metal::Size3 threads = dispatch.threads;
    largest = std::max(largest, std::int64_t{threads.x} * threads.y * threads.z);
  }
  return largest;
}

std::vector<DescribedLaunch::Scratch> DescribedLaunch::scratch() const {
  std::vector<Scratch> buffers;
  const std::vector<std::size_t> sizes = kernels::scratch_sizes(launch_, *names_);
  for (std::size_t i = 0; i < sizes.size(); ++i) buffers.push_back({launch_.scratch[i].name, sizes[i]});
  return buffers;
}

void DescribedLaunch::encode(metal::ComputeEncoder& encoder, const FindKernel& kernel, kernels::NamedViews buffers) const {
  if (!buffers.empty()) {
    const metal::BufferView some = buffers.begin()->second;
    buffers.try_emplace(std::string(kernels::kNoBuffer), metal::BufferView{some.buffer, some.offset, 0});
  }
  for (const kernels::PlannedDispatch& dispatch : dispatches_) {
    const kernels::BoundKernel* function = kernel({dispatch.description->family, dispatch.function});
    if (function == nullptr) throw std::logic_error(fmt::format("function {} was not prepared", kernels::to_string(dispatch.function)));
    if (&dispatch != &dispatches_.front() && !dispatch.description->concurrent) encoder.memory_barrier();
    try {
      kernels::encode_dispatch(encoder, dispatch, *function, *names_, buffers);
    } catch (const kernels::ExpressionError& error) {
      throw metal::EncodeError(error.what());
    }
  }
}

std::string functions_text(const Case& test_case, const kernels::Variant& variant) {
  std::string text;
  try {
    for (const LaunchedFunction& function : DescribedLaunch(test_case, variant).functions()) {
      text += fmt::format("{} {} ", function.family, kernels::to_string(function.key));
      for (const auto& [name, value] : function.key.named) text += fmt::format("{}={:x} ", name, value.bits);
    }
  } catch (const kernels::ExpressionError&) {
  } catch (const std::invalid_argument&) {
  }
  return text;
}

FindKernel finder_of(const JobRequest& request) {
  return [function = request.function, helper = request.helper](const LaunchedFunction& wanted) {
    return wanted.family.empty() ? function(wanted.key) : helper(wanted.family, wanted.key);
  };
}

FieldNames::FieldNames(kernels::FieldValues values, const Case& test_case) : values_(std::move(values)) {
  for (std::size_t i = 0; i < test_case.values.size(); ++i) {
    const Axis& axis = test_case.family->axes[i];
    if (!axis.largest_whole) values_.emplace(axis.name, metal::FieldValue::of(test_case.values[i]));
  }
}

std::optional<kernels::Value> FieldNames::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(kernels::value_of(found->second));
}

std::vector<std::string> FieldNames::all() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

std::shared_ptr<const kernels::Names> names_of_axes(const Case& test_case, const kernels::Variant&) {
  return std::make_shared<FieldNames>(kernels::FieldValues(), test_case);
}

const kernels::LaunchDescription& launch_of_family(std::string_view family) {
  static std::mutex mutex;
  static std::map<std::string, kernels::LaunchDescription, std::less<>> launches;
  const std::scoped_lock lock(mutex);
  const auto known = launches.find(family);
  if (known != launches.end()) return known->second;
  const std::string file = fmt::format("families/{}/launch.toml", family);
  return launches.emplace(family, kernels::parse_launch_of_family(embedded_file(file), file)).first->second;
}

Pass launch_pass(const JobRequest& request, Job& job) {
  const auto launch = std::make_shared<const DescribedLaunch>(request.test_case, request.variant);
  for (const DescribedLaunch::Scratch& scratch : launch->scratch())
    job.add({.argument = scratch.name, .role = BufferRole::scratch, .size = scratch.bytes});
  std::vector<std::pair<std::string, std::optional<std::size_t>>> names;
  for (const JobBuffer& buffer : job.buffers) names.emplace_back(buffer.argument, buffer.needed);
  return {.encode = [launch, names, find = finder_of(request)](metal::ComputeEncoder& encoder, Views views) {
    kernels::NamedViews named;
    for (std::size_t i = 0; i < names.size(); ++i) {
      metal::BufferView view = views[i];
      if (names[i].second) view.needed = names[i].second;
      named.insert_or_assign(names[i].first, view);
    }
    launch->encode(encoder, find, named);
  }};
}

void encode_launch(metal::ComputeEncoder& encoder, std::string_view family, kernels::FieldValues values, const FindKernel& kernel,
                   const kernels::NamedViews& buffers) {
  const DescribedLaunch launch(launch_of_family(family), {}, std::make_shared<FieldNames>(std::move(values)));
  launch.encode(encoder, kernel, buffers);
}

}  // namespace assay::families

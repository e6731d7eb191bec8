// Evaluates and encodes the launch that a variant describes.
#include "families/described_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "metal/errors.h"

namespace assay::families {

DescribedLaunch::DescribedLaunch(const Case& test_case, const kernels::Variant& variant)
    : DescribedLaunch(test_case.family->expression_names(test_case, variant), variant) {}

DescribedLaunch::DescribedLaunch(std::shared_ptr<const kernels::Names> of_case, const kernels::Variant& variant)
    : variant_(variant),
      of_case_(std::move(of_case)),
      names_(std::make_unique<kernels::LaunchNames>(variant, *of_case_)),
      dispatches_(kernels::plan_launch(variant.launch.value(), *names_)) {}

std::vector<kernels::FunctionKey> DescribedLaunch::functions() const {
  std::vector<kernels::FunctionKey> functions;
  for (const kernels::PlannedDispatch& dispatch : dispatches_) functions.push_back(dispatch.function);
  return functions;
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
  const std::vector<std::size_t> sizes = kernels::scratch_sizes(*variant_.launch, *names_);
  for (std::size_t i = 0; i < sizes.size(); ++i) buffers.push_back({variant_.launch->scratch[i].name, sizes[i]});
  return buffers;
}

void DescribedLaunch::encode(metal::ComputeEncoder& encoder, const FindKernel& kernel, const kernels::NamedViews& buffers) const {
  for (const kernels::PlannedDispatch& dispatch : dispatches_) {
    const kernels::BoundKernel* function = kernel(dispatch.function);
    if (function == nullptr) throw std::logic_error(fmt::format("function {} was not prepared", kernels::to_string(dispatch.function)));
    if (&dispatch != &dispatches_.front()) encoder.memory_barrier();
    try {
      kernels::encode_dispatch(encoder, dispatch, *function, *names_, buffers);
    } catch (const kernels::ExpressionError& error) {
      throw metal::EncodeError(error.what());
    }
  }
}

}  // namespace assay::families

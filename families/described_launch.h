// The launch of a case whose variant describes it as data (kernels/launch.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "kernels/launch.h"

namespace assay::families {

class DescribedLaunch {
 public:
  // `variant` must outlive this. Throws kernels::ExpressionError, and std::invalid_argument if every dispatch is left out.
  DescribedLaunch(const Case& test_case, const kernels::Variant& variant);
  DescribedLaunch(std::shared_ptr<const kernels::Names> of_case, const kernels::Variant& variant);

  // The functions that the dispatches run, in order; a function may occur several times.
  [[nodiscard]] std::vector<kernels::FunctionKey> functions() const;
  // The largest number of threads of a threadgroup.
  [[nodiscard]] std::int64_t largest_threadgroup() const;
  // The scratch buffers, with the sizes in bytes.
  struct Scratch {
    std::string_view name;
    std::size_t bytes;
  };
  [[nodiscard]] std::vector<Scratch> scratch() const;

  using FindKernel = std::function<const kernels::BoundKernel*(const kernels::FunctionKey& function)>;
  // Encodes all dispatches, each ordered behind the one before it. `kernel` finds the functions. Throws what encode_dispatch() throws;
  // metal::EncodeError instead of kernels::ExpressionError.
  void encode(metal::ComputeEncoder& encoder, const FindKernel& kernel, const kernels::NamedViews& buffers) const;

 private:
  const kernels::Variant& variant_;
  std::shared_ptr<const kernels::Names> of_case_;
  std::unique_ptr<const kernels::LaunchNames> names_;
  std::vector<kernels::PlannedDispatch> dispatches_;
};

}  // namespace assay::families

// The launch of a case as data: that of its variant, else that of its family (kernels/launch.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/family.h"
#include "kernels/launch.h"

namespace assay::families {

// A function that a launch dispatches.
struct LaunchedFunction {
  std::string_view family;  // of a function that another family's contract has; empty: the variant's own
  kernels::FunctionKey key;
};

using FindKernel = std::function<const kernels::BoundKernel*(const LaunchedFunction& function)>;

class DescribedLaunch {
 public:
  // `variant` must outlive this. Throws kernels::ExpressionError, and std::invalid_argument if every dispatch is left out.
  DescribedLaunch(const Case& test_case, const kernels::Variant& variant);
  DescribedLaunch(const kernels::LaunchDescription& launch, const kernels::FieldValues& fields,
                  std::shared_ptr<const kernels::Names> of_case);

  // The functions that the dispatches run, in order; a function may occur several times.
  [[nodiscard]] std::vector<LaunchedFunction> functions() const;
  // The first function of the variant itself. Throws std::invalid_argument if there is none.
  [[nodiscard]] kernels::FunctionKey main_function() const;
  // The largest number of threads of a threadgroup.
  [[nodiscard]] std::int64_t largest_threadgroup() const;
  // The scratch buffers, with the sizes in bytes.
  struct Scratch {
    std::string_view name;
    std::size_t bytes;
  };
  [[nodiscard]] std::vector<Scratch> scratch() const;

  // Encodes all dispatches, each behind the one before it unless it is concurrent. Throws what encode_dispatch() throws;
  // metal::EncodeError instead of kernels::ExpressionError.
  // Adds the buffer `none` if there is none of that name: one of the others, without bytes.
  void encode(metal::ComputeEncoder& encoder, const FindKernel& kernel, kernels::NamedViews buffers) const;

 private:
  const kernels::LaunchDescription& launch_;
  std::shared_ptr<const kernels::Names> of_case_;
  std::unique_ptr<const kernels::LaunchNames> names_;
  std::vector<kernels::PlannedDispatch> dispatches_;
};

// The functions of a case's launch, as a text that differs where they do; empty if the launch of the case cannot be evaluated.
[[nodiscard]] std::string functions_text(const Case& test_case, const kernels::Variant& variant);

// Finds functions among those of the request. The result must not outlive the prepared kernels.
[[nodiscard]] FindKernel finder_of(const JobRequest& request);

// The names of a family's launch: fields of structs, then the axes of a case that are plain integers.
class FieldNames final : public kernels::Names {
 public:
  explicit FieldNames(kernels::FieldValues values) : values_(std::move(values)) {}
  FieldNames(kernels::FieldValues values, const Case& test_case);

  [[nodiscard]] std::optional<kernels::Value> value(std::string_view name) const override;
  [[nodiscard]] const kernels::NamedTensor* tensor(std::string_view) const override { return nullptr; }
  [[nodiscard]] std::vector<std::string> all() const override;

 private:
  kernels::FieldValues values_;
};

// Family::expression_names of a family whose launch needs only the axes.
[[nodiscard]] std::shared_ptr<const kernels::Names> names_of_axes(const Case& test_case, const kernels::Variant& variant);

// The launch in families/<family>/launch.toml. Throws std::out_of_range if there is none.
[[nodiscard]] const kernels::LaunchDescription& launch_of_family(std::string_view family);

// Adds the launch's scratch buffers to a job and returns the pass that encodes the launch. The buffers of the job have the names of their
// arguments.
[[nodiscard]] Pass launch_pass(const JobRequest& request, Job& job);

// Encodes the launch of a family outside of a case. [fields] are those of the first kernel.
void encode_launch(metal::ComputeEncoder& encoder, std::string_view family, kernels::FieldValues values, const FindKernel& kernel,
                   const kernels::NamedViews& buffers);

}  // namespace assay::families

// Parts of family `custom` that its files share.
#pragma once

#include <algorithm>

#include "families/custom/custom_case.h"
#include "families/family.h"
#include "families/job.h"

namespace assay::families {

// The innermost axis of the outputs; 1 if they differ in it.
[[nodiscard]] inline std::size_t custom_row_length(const CustomCase& own) {
  const std::vector<const CustomLayout*> outputs = own.outputs();
  const std::size_t length = outputs.front()->row_length();
  const bool is_common = std::ranges::all_of(outputs, [&](const CustomLayout* output) { return output->row_length() == length; });
  return is_common ? length : 1;
}

// `of` must outlive the job. Throws kernels::ExpressionError, std::invalid_argument and fixtures::FileError.
[[nodiscard]] Job custom_job(const CustomVariant& of, const JobRequest& request);

}  // namespace assay::families

// The job of family `attention`, and the accuracy that a variant declares.
#pragma once

#include "families/family.h"
#include "oracles/any_attention.h"

namespace assay::families::attention {

[[nodiscard]] oracles::AnyAttentionAccuracy accuracy_of(const Case& test_case, const kernels::Variant& variant,
                                                        const oracles::ArithmeticProfile& profile = oracles::simulator_profile());
[[nodiscard]] Job job(const JobRequest& request);
[[nodiscard]] Minimum minimum_of(const Case& test_case, const Source& source);
[[nodiscard]] FileRules files();
// `lse`: what the second output of the variant is.
[[nodiscard]] TriageRules triage(oracles::LogBase lse = oracles::LogBase::none);
// A variant without a description, for what does not depend on one: inputs and formula.
[[nodiscard]] const kernels::Variant& plain_variant();

}  // namespace assay::families::attention

// Family `custom`: everything comes from variant.toml.
#pragma once

#include "kernels/contract.h"

namespace assay::families {

inline constexpr kernels::FamilyContract kCustomContract{.name = "custom",
                                                         .entries = {},
                                                         .arguments = {},
                                                         .fields = {},
                                                         .has_threadgroup_memory = false,
                                                         .is_described = true,
                                                         .is_custom = true};

}  // namespace assay::families

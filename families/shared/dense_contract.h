// The struct fields of attention over bfloat keys and values.
#pragma once

#include <array>

#include "kernels/contract.h"

namespace assay::families {

// Fields that switch off what no kernel applies may be missing, and so may the output's sizes, which equal the query's.
inline constexpr std::array kBf16Fields = {
    kernels::FieldContract{"ne01", metal::ScalarType::int32},
    kernels::FieldContract{"ne02", metal::ScalarType::int32},
    kernels::FieldContract{"ne03", metal::ScalarType::int32},
    kernels::FieldContract{"nb01", metal::ScalarType::uint64},
    kernels::FieldContract{"nb02", metal::ScalarType::uint64},
    kernels::FieldContract{"nb03", metal::ScalarType::uint64},
    kernels::FieldContract{"ne11", metal::ScalarType::int32},
    kernels::FieldContract{"ne_12_2", metal::ScalarType::int32},
    kernels::FieldContract{"ne_12_3", metal::ScalarType::int32},
    kernels::FieldContract{"ns10", metal::ScalarType::int32},
    kernels::FieldContract{"nb11", metal::ScalarType::uint64},
    kernels::FieldContract{"nb12", metal::ScalarType::uint64},
    kernels::FieldContract{"nb13", metal::ScalarType::uint64},
    kernels::FieldContract{"ns20", metal::ScalarType::int32},
    kernels::FieldContract{"nb21", metal::ScalarType::uint64},
    kernels::FieldContract{"nb22", metal::ScalarType::uint64},
    kernels::FieldContract{"nb23", metal::ScalarType::uint64},
    kernels::FieldContract{"ne31", metal::ScalarType::int32},
    kernels::FieldContract{"ne32", metal::ScalarType::int32},
    kernels::FieldContract{"ne33", metal::ScalarType::int32},
    kernels::FieldContract{"nb31", metal::ScalarType::uint64},
    kernels::FieldContract{"nb32", metal::ScalarType::uint64},
    kernels::FieldContract{"nb33", metal::ScalarType::uint64},
    kernels::FieldContract{"ne1", metal::ScalarType::int32, true},
    kernels::FieldContract{"ne2", metal::ScalarType::int32, true},
    kernels::FieldContract{"ne3", metal::ScalarType::int32, true},
    kernels::FieldContract{"scale", metal::ScalarType::float32},
    kernels::FieldContract{"max_bias", metal::ScalarType::float32, true},
    kernels::FieldContract{"m0", metal::ScalarType::float32, true},
    kernels::FieldContract{"m1", metal::ScalarType::float32, true},
    kernels::FieldContract{"n_head_log2", metal::ScalarType::int32, true},
    kernels::FieldContract{"logit_softcap", metal::ScalarType::float32, true},
};

}  // namespace assay::families

// The family `prefix_sum`: dst[r][i] = src[r][0] + ... + src[r][i], for rows of floats.
#pragma once

#include "families/family.h"

namespace prefix_sum {

assay::families::Family family();

}  // namespace prefix_sum

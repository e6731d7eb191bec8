// How a kernel of several widths learns which codebook it reads.
#pragma once

#include <cstdint>

#include "families/family.h"

namespace assay::families {

inline constexpr std::uint32_t kCodebookConstant = 50;
inline constexpr Reception kCodebookReception{"the bits of the codebook", "codebook_bits", kCodebookConstant};

}  // namespace assay::families

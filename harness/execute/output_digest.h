// Adds outputs to the digest of a case, so that every machine gets the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "metal/argument_layout.h"

namespace assay::harness {

// Continues `digest` (base/digest.h) with elements of this type: every bit counts, with one exception. An invalid operation such as 0/0
// gives a negative NaN on x86-64 and a positive one on ARM; these two, and no other NaN, count as equal. Bytes behind the last whole
// element count too.
void add_output_to_digest(std::uint64_t& digest, std::span<const std::byte> bytes, metal::ScalarType type);

}  // namespace assay::harness

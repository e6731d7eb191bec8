// The number formats of rows, as the runs of author A bind them.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/foreign/a_prelude.h"

namespace assay::foreign::a {
namespace {

enum class Kind { f32, f16, bf16 };

[[maybe_unused]] double rounding(Kind k) { return k == Kind::f32 ? 0x1p-24 : k == Kind::f16 ? 0x1p-11 : 0x1p-8; }

[[maybe_unused]] Format format(Kind k) { return k == Kind::f32 ? Format::f32 : k == Kind::f16 ? Format::f16 : Format::bf16; }

// Binds the values, rounded to the kind, and returns them.
[[maybe_unused]] std::vector<double> put(Run& run, std::uint32_t index, Kind k, const std::vector<float>& x) {
  if (k == Kind::f32) return run.buffer(index, x), from_float(x);
  if (k == Kind::f16) return run.buffer(index, to_half(x)), from_half(to_half(x));
  return run.buffer(index, to_bfloat(x)), from_bfloat(to_bfloat(x));
}

}  // namespace
}  // namespace assay::foreign::a

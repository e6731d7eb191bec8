// The formats in which a wrong kernel may keep values that should be float.
#pragma once

#include "oracles/arithmetic.h"

namespace assay::families {

enum class Precision { full, half, bfloat };

// `value` rounded to the format; to bfloat through float. `full` keeps it.
[[nodiscard]] inline double rounded(double value, Precision precision) {
  switch (precision) {
    case Precision::half:
      return oracles::round_to_half(value);
    case Precision::bfloat:
      return oracles::round_to_bfloat(static_cast<float>(value));
    case Precision::full:
      break;
  }
  return value;
}

}  // namespace assay::families

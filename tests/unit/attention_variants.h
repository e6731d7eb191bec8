// Variants of family `attention` by their text, without a kernel.
#pragma once

#include <string>

#include "families/registry.h"
#include "kernels/variant.h"

namespace assay::tests {

// A variant `mine` with this text and some launch.
[[nodiscard]] inline kernels::Variant attention_variant(const std::string& toml) {
  const std::string launch = "[[dispatch]]\nfunction = \"f\"\ngrid = [1]\nthreads = [32]\n";
  return kernels::parse_variant("family = \"attention\"\nsource = \"k.metal\"\n" + toml + launch, "mine", "mine/variant.toml",
                                families::contracts());
}

}  // namespace assay::tests

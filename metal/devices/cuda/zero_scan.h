// Finds what a kernel has written into gigabytes that were 0, on the GPU, so that they need not be copied to be looked at.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "metal/devices/cuda/driver.h"

namespace assay::metal::cuda {

class ZeroScan {
 public:
  // It looks at pieces of so many bytes.
  static constexpr std::size_t kPiece = std::size_t{64} << 10;
  // The kernel, as PTX. Its parameter is a Parameter; a threadgroup looks at one piece.
  static const std::string& ptx();
  struct Parameter {
    Address first, flags;  // of the first piece; of a byte for each piece, which becomes 1 where something is not 0
  };

  explicit ZeroScan(Driver& driver) : driver_(driver) {}
  ZeroScan(const ZeroScan&) = delete;
  ZeroScan& operator=(const ZeroScan&) = delete;

  // `flags[i]` says whether the i-th of so many pieces behind `first`, a multiple of 4, has a byte other than 0. `scratch` is memory of the
  // GPU, a byte for each piece.
  [[nodiscard]] Status run(Address first, std::size_t pieces, Address scratch, std::vector<char>& flags);

 private:
  [[nodiscard]] Status load();

  Driver& driver_;
  Handle function_ = nullptr;  // its module stays loaded until the context ends
};

}  // namespace assay::metal::cuda

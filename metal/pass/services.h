// The runtime functions of metal/shader/runtime.h, by name.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>

#include <optional>

#include "metal/lane_abi.h"
#include "metal/pass/lockstep.h"

namespace assay::metal::pass {

// Attributes of the calls of the runtime: the service, and Site::operation of a reduction or shuffle of one word. Optimisers keep them.
inline constexpr llvm::StringLiteral kServiceAttribute = "assay-service";
inline constexpr llvm::StringLiteral kOperationAttribute = "assay-operation";
// How many loops were around a meeting point in the source.
inline constexpr llvm::StringLiteral kDepthAttribute = "assay-depth";

inline std::optional<abi::Service> service_of(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<abi::Service>>(name)
      .Case("__assay_simd_reduce", abi::kSimdReduce)
      .Case("__assay_simd_shuffle", abi::kSimdShuffle)
      .Case("__assay_simd_ballot", abi::kSimdBallot)
      .Case("__assay_simd_active", abi::kSimdActive)
      .Case("__assay_barrier", abi::kBarrier)
      .Case("__assay_matrix_multiply", abi::kMatrixMultiply)
      .Case("__assay_atomic", abi::kAtomic)
      .Case(kReconvergeCall, abi::kReconverge)
      .Default(std::nullopt);
}

}  // namespace assay::metal::pass

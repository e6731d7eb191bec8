// The axes and cases of attention over bfloat keys and values with head dimension 512, common to bf16_prefill and bf16_vec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "families/family.h"

namespace assay::families::dense {

// Each family may add its own axes after kScale.
enum AxisIndex : std::size_t {
  kBatches,
  kHeads,
  kKvHeads,
  kQueries,
  kKvLen,
  kRoom,
  kMaskType,
  kWindow,
  kMaskBatches,
  kMaskHeads,
  kHidesLowest,
  kScale,
  kKvBatches,
  kKvLayout,
  kFar,
  kOwnAxis
};

enum FactorIndex : std::size_t {
  kFactorBatches,
  kFactorHeads,
  kFactorQueries,
  kFactorLength,
  kFactorRoom,
  kFactorMask,
  kFactorSpread,
  kFactorScale,
  kOwnFactor
};

// The values of axis mask_type, in the order of fixtures::DenseMask.
enum MaskType : std::int64_t { kNoMask, kZeroMask, kCausal, kWindowed, kRandom, kOneRow, kSingle, kTiles };

inline constexpr std::int64_t kHeadDim = 512;
inline constexpr std::int64_t kTileQueries = 8;
inline constexpr std::int64_t kTileKeys = 64;

using Values = std::span<const std::int64_t>;

// The value of an axis, `least` if it is open.
[[nodiscard]] std::int64_t at_least(Values values, AxisIndex axis, std::int64_t least);
[[nodiscard]] inline std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }
// At least this many rows: of keys, including the room behind them; and of queries, in all batches and heads.
[[nodiscard]] std::int64_t key_rows(Values values);
[[nodiscard]] std::int64_t query_rows(Values values);

// The differences between the two families; see Family and TriageRules.
struct DenseKind {
  const kernels::FamilyContract& contract;
  std::string_view description;
  std::function<std::int64_t(Values values)> work;
  std::function<kernels::FieldValues(const Case& test_case)> launch_values;
  void (*validate)(const Case& test_case);
  std::int64_t (*simdgroups)(const Case& test_case);
  Job (*job)(const JobRequest& request);
  std::shared_ptr<const Model> (*model)(const Case& test_case, const Source& source);
};

// The common part of both families; each adds the rest in its own file.
[[nodiscard]] Family dense_family(const DenseKind& kind);

}  // namespace assay::families::dense

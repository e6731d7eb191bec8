// The axes and cases of decode attention over a TurboQuant cache, common to tq4 and tqhb.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "families/family.h"
#include "families/shared/decode_inputs.h"
#include "families/shared/scales.h"

namespace assay::families::decode {

// Each family adds its own axes and factors after kNormFactor.
enum AxisIndex : std::size_t {
  kHeadDim,
  kHeads,
  kKvHeads,
  kKvLen,
  kKvCapacity,
  kRingStart,
  kMaskType,
  kWindow,
  kNwg,
  kScale,
  kNormFactor,
  kOwnAxis
};
enum FactorIndex : std::size_t {
  kFactorD,
  kFactorHeads,
  kFactorLength,
  kFactorCapacity,
  kFactorRing,
  kFactorMask,
  kFactorNwg,
  kFactorScale,
  kFactorNorm,
  kOwnFactor
};

struct Norms {
  std::string_view label;
  bool per_block;
  std::int64_t factor;
};
// Norms of blocks, except for the first.
inline constexpr std::array<Norms, 4> kNorms = {
    {{"one per position", false, 1}, {"1", true, 1}, {"16", true, 16}, {"sqrt(512)", true, kScaleFactorRoot}}};

using Values = std::span<const std::int64_t>;

// The differences between the two families.
struct DecodeKind {
  const kernels::FamilyContract& contract;
  std::string_view description;
  std::span<const Norms> norms;
  // Whether a case has these norms, as far as the family's own axes determine it; empty if they do not.
  std::function<bool(const Norms& norms, Values values)> has_norms;
  // Sets the axes from kOwnAxis on, like Family::realise.
  std::function<void(std::span<const int> levels, std::span<std::int64_t> values)> realise_rest;
  std::function<std::int64_t(Values values)> banks;  // number of simdgroups per workgroup, from axis values
  bool is_4bit;
  FormatOf format_of;
  // See Family.
  void (*validate)(const Case& test_case);
  std::int64_t (*simdgroups)(const Case& test_case);
  Job (*job)(const JobRequest& request);
  Minimum (*minimum)(const Case& test_case, const Source& source);
};

// A class for each value of the table, which must outlive the result.
[[nodiscard]] Classifier class_of(std::size_t axis, std::string_view name, std::span<const std::int64_t> table);

// The common part of both families; each adds the rest in its own file.
[[nodiscard]] Family decode_family(const DecodeKind& kind);

}  // namespace assay::families::decode

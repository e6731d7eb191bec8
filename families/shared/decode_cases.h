// The axes and cases of decode attention over a TurboQuant cache: what tq4 and tqhb have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "families/family.h"

namespace assay::families::decode {

// Behind kNormFactor each family has axes and factors of its own.
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
// Of blocks, but for the first.
inline constexpr std::array<Norms, 4> kNorms = {
    {{"one per position", false, 1}, {"1", true, 1}, {"16", true, 16}, {"sqrt(512)", true, kScaleFactorRoot}}};

using Values = std::span<const std::int64_t>;

// In what the two families differ.
struct DecodeKind {
  const kernels::FamilyContract& contract;
  std::string_view about;
  std::span<const Norms> norms;
  // Whether a case has these norms, as far as axes of the family's own say; empty if none does.
  std::function<bool(const Norms& norms, Values values)> has_norms;
  // Sets the axes from kOwnAxis on, as Family::realise.
  std::function<void(std::span<const int> levels, std::span<std::int64_t> values)> realise_rest;
  std::function<std::int64_t(Values values)> banks;  // simdgroups of a workgroup, of values
  bool is_4bit;
  // As Family has them.
  std::function<kernels::FunctionKey(Values values)> function_key;
  void (*validate)(const Case& about);
  std::int64_t (*simdgroups)(const Case& about);
  Job (*job)(const JobRequest& request);
  Minimum (*minimum)(const Case& about, const Source& source);
};

// A class for each value of the table, which outlives the result.
[[nodiscard]] Classifier class_of(std::size_t axis, std::string_view name, std::span<const std::int64_t> table);

// All that the kinds have in common; what each has of its own is added by its own file.
[[nodiscard]] Family decode_family(const DecodeKind& kind);

}  // namespace assay::families::decode

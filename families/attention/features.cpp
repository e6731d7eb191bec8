// The features of cases of family `attention`.
#include "families/attention/features.h"

#include <algorithm>
#include <initializer_list>

#include "families/attention/shape.h"
#include "families/mistakes.h"

namespace assay::families::attention {
namespace {

template <AxisIndex kAxis>
bool is_used(const Case& test_case) {
  return test_case.values[kAxis] != 0;
}

template <AxisIndex kAxis>
bool has_several(const Case& test_case) {
  return test_case.values[kAxis] > 1;
}

template <Cache kCache_>
bool has_cache(const Case& test_case) {
  return test_case.values[kCache] == static_cast<std::int64_t>(kCache_);
}

bool is_one_of(std::int64_t value, std::initializer_list<Mask> masks) {
  return std::ranges::any_of(masks, [value](Mask mask) { return value == static_cast<std::int64_t>(mask); });
}

template <Mask... kMasks>
bool has_mask(const Case& test_case) {
  return is_one_of(test_case.values[kMask], {kMasks...});
}

bool shares_keys_among_heads(const Case& test_case) { return test_case.values[kHeads] > test_case.values[kKvHeads]; }

constexpr Feature kAttentionFeatures[] = {
    {"keys or values in blocks with a scale", mistake::kNorm,
     [](const Case& test_case) { return test_case.values[kKType] >= kFirstOfBlocks || test_case.values[kVType] >= kFirstOfBlocks; }},
    {"a mask", mistake::kMask, is_used<kMask>},
    {"a causal mask", mistake::kMask, has_mask<Mask::causal, Mask::causal_window, Mask::causal_alibi>},
    {"a causal mask without a window", mistake::kMask, has_mask<Mask::causal, Mask::causal_alibi>},
    {"a window", mistake::kWindow, has_mask<Mask::window, Mask::causal_window>},
    {"a window on both sides", mistake::kWindow, has_mask<Mask::window>},
    {"a causal window", mistake::kWindow, has_mask<Mask::causal_window>},
    {"a mask in memory", mistake::kMask, has_mask<Mask::boolean, Mask::additive>},
    {"a boolean mask", mistake::kMask, has_mask<Mask::boolean>},
    {"an additive mask", mistake::kMask, has_mask<Mask::additive>},
    {"slopes", mistake::kMask, has_mask<Mask::alibi, Mask::causal_alibi>},
    {"several masks", mistake::kMask, is_used<kMaskPlanes>},
    {"gaps in the mask", mistake::kMask, is_used<kMaskGaps>},
    {"a soft cap", mistake::kSoftcap, is_used<kSoftcap>},
    {"sinks", mistake::kSinks, is_used<kSinks>},
    {"a scale of 1", mistake::kScale, is_used<kScale>},
    {"room behind the keys", mistake::kStride, has_cache<Cache::capacity>},
    {"a ring", mistake::kRing, [](const Case& test_case) { return test_case.values[kRingStart] > 0; }},
    {"pages", mistake::kStride, has_cache<Cache::paged>},
    {"another layout", mistake::kStride, is_used<kLayout>},
    {"gaps between rows", mistake::kStride, is_used<kGaps>},
    {"several batches", mistake::kStride, has_several<kBatch>},
    {"batches that share keys", mistake::kHead, is_used<kSharedKv>},
    {"batches of different lengths", {}, is_used<kRagged>},
    {"query heads that share keys", mistake::kHead, shares_keys_among_heads},
    {"several key heads", mistake::kStride, has_several<kKvHeads>},
    {"several queries", {}, has_several<kQueries>},
    {"several blocks", mistake::kWorkgroup, has_several<kBlocks>},
    {"several simdgroups", mistake::kSimdgroup, has_several<kNsg>},
    {"values of another width", {}, [](const Case& test_case) { return test_case.values[kDk] != test_case.values[kDv]; }},
};

}  // namespace

std::span<const Feature> features() { return kAttentionFeatures; }

}  // namespace assay::families::attention

// The table of usual names.
#include "families/mistake_words.h"

#include <array>

#include "families/mistakes.h"

namespace assay::families {
namespace {

constexpr auto kParts = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"stride", mistake::kStride},   {"step", mistake::kStride},      {"pitch", mistake::kStride},      {"norm", mistake::kNorm},
     {"window", mistake::kWindow},   {"ring", mistake::kRing},        {"slot", mistake::kRing},         {"sink", mistake::kSinks},
     {"softcap", mistake::kSoftcap}, {"mask", mistake::kMask},        {"bias", mistake::kMask},         {"slope", mistake::kMask},
     {"causal", mistake::kMask},     {"sign", mistake::kSigns},       {"centroid", mistake::kCodebook}, {"codebook", mistake::kCodebook},
     {"gqa", mistake::kHead},        {"infinity", mistake::kMaximum}, {"flt_max", mistake::kMaximum},   {"shuffle", mistake::kCoordinates},
     {"scale", mistake::kScale},     {"log2e", mistake::kScale},      {"exp2", mistake::kScale},        {"exp", mistake::kScale}});

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> mistake_words() { return kParts; }

}  // namespace assay::families

// The tables of usual names.
#include "families/mistake_words.h"

#include <array>

#include "families/mistakes.h"

namespace assay::families {
namespace {

constexpr auto kParts =
    std::to_array<MistakeWord>({{"stride", mistake::kStride},     {"step", mistake::kStride},       {"pitch", mistake::kStride},
                                {"norm", mistake::kNorm},         {"window", mistake::kWindow},     {"ring", mistake::kRing},
                                {"slot", mistake::kRing},         {"sink", mistake::kSinks},        {"softcap", mistake::kSoftcap},
                                {"capped", mistake::kSoftcap},    {"mask", mistake::kMask},         {"bias", mistake::kMask},
                                {"slope", mistake::kMask},        {"causal", mistake::kMask},       {"sign", mistake::kSigns},
                                {"centroid", mistake::kCodebook}, {"codebook", mistake::kCodebook}, {"gqa", mistake::kHead},
                                {"infinity", mistake::kMaximum},  {"flt_max", mistake::kMaximum},   {"shuffle", mistake::kCoordinates},
                                {"scale", mistake::kScale},       {"log2e", mistake::kScale},       {"exp2", mistake::kScale},
                                {"exp", mistake::kScale}});

constexpr auto kBuffers = std::to_array<MistakeWord>(
    {{"norm", mistake::kNorm},     {"mask", mistake::kMask},         {"bias", mistake::kMask},         {"slope", mistake::kMask},
     {"alibi", mistake::kMask},    {"sink", mistake::kSinks},        {"codebook", mistake::kCodebook}, {"centroid", mistake::kCodebook},
     {"sign", mistake::kSigns},    {"partial", mistake::kWorkgroup}, {"stat", mistake::kWorkgroup},    {"scratch", mistake::kWorkgroup},
     {"tmp", mistake::kWorkgroup}, {"temp", mistake::kWorkgroup},    {"dst", mistake::kLayout},        {"out", mistake::kLayout},
     {"page", mistake::kStride},   {"table", mistake::kStride},      {"cache", mistake::kStride},      {"key", mistake::kStride},
     {"value", mistake::kStride},  {"^k", mistake::kStride},         {"^v", mistake::kStride},         {"^q", mistake::kStride}});

}  // namespace

std::span<const MistakeWord> mistake_words() { return kParts; }

std::span<const MistakeWord> buffer_words() { return kBuffers; }

}  // namespace assay::families

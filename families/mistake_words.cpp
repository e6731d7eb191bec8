// The tables of usual names.
#include "families/mistake_words.h"

#include <algorithm>
#include <array>
#include <iterator>

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

constexpr SubjectName kOfWindow[] = {{"window", "window"}, {"offset", "offset"}};
constexpr SubjectName kOfRing[] = {{"ring_start", "ring"}, {"cache", "ring"}, {"capacity", "capacity"}};
constexpr SubjectName kOfHead[] = {{"g", "group"}, {"h", "head"}};
constexpr SubjectName kOfScale[] = {{"scale", "scale"}};
constexpr SubjectName kOfSoftcap[] = {{"softcap", "soft cap"}};
constexpr SubjectName kOfSinks[] = {{"sinks", "sink"}, {"h", "head", false, true}};
constexpr SubjectName kOfMask[] = {
    {"mask", "mask is"}, {"max_bias", "slope"}, {"offset", "offset of the queries is that", true}, {"offset", "offset"}};
constexpr SubjectName kOfNewest[] = {{"lk", "last key"}, {"offset", "offset"}, {"blocks", "part"}};
constexpr SubjectName kOfOldest[] = {{"window", "window"}, {"ring_start", "first key"}};
constexpr SubjectName kOfChunk[] = {{"blocks", "part"}, {"lk", "chunk"}};
constexpr SubjectName kOfWorkgroup[] = {{"blocks", "workgroup"}};
constexpr SubjectName kOfSimdgroup[] = {{"simdgroups_per_threadgroup", "simdgroup"}, {"nsg", "simdgroup"}};
// Masks of half a byte.
constexpr std::string_view kOfNibbles[] = {"15", "0xF", "0xf", "0x0F", "0x0f"};
constexpr std::string_view kExponentials[] = {"exp2", "exp"};
constexpr std::string_view kTangents[] = {"tanh"};

constexpr MistakeSubject kSubjects[] = {
    {.kind = mistake::kWindow, .names = kOfWindow, .calls = {}, .chooses_rows = true},
    {.kind = mistake::kRing, .names = kOfRing, .calls = {}, .chooses_rows = true},
    {.kind = mistake::kHead, .names = kOfHead, .calls = {}, .chooses_rows = true},
    {.kind = mistake::kScale, .names = kOfScale, .calls = kExponentials},
    {.kind = mistake::kSoftcap, .names = kOfSoftcap, .calls = kTangents},
    {.kind = mistake::kSinks, .names = kOfSinks, .calls = {}},
    {.kind = mistake::kMask, .names = kOfMask, .calls = {}, .chooses_rows = true},
    {.kind = mistake::kNewest, .names = kOfNewest, .calls = {}, .limits_loops = true, .chooses_rows = true},
    {.kind = mistake::kOldest, .names = kOfOldest, .calls = {}, .limits_loops = true, .chooses_rows = true},
    {.kind = mistake::kChunk, .names = kOfChunk, .calls = {}, .limits_loops = true},
    {.kind = mistake::kWorkgroup, .names = kOfWorkgroup, .calls = {}, .limits_loops = true},
    {.kind = mistake::kSimdgroup, .names = kOfSimdgroup, .calls = {}, .limits_loops = true},
    {.kind = mistake::kNibbles, .names = {}, .calls = {}, .chooses_rows = true, .marks = kOfNibbles},
    {.kind = mistake::kRescale, .names = {}, .calls = kExponentials},
};

}  // namespace

const MistakeSubject* subject_of(std::string_view kind) {
  const auto* const found = std::ranges::find(kSubjects, kind, &MistakeSubject::kind);
  return found == std::end(kSubjects) ? nullptr : found;
}

std::span<const MistakeWord> mistake_words() { return kParts; }

std::span<const MistakeWord> buffer_words() { return kBuffers; }

}  // namespace assay::families

// The triage rules of decode attention.
#include <cstdint>

#include "base/code_bytes.h"
#include "families/mistakes.h"
#include "families/shared/attention_model.h"
#include "families/shared/attention_smaller.h"
#include "families/shared/decode_inputs.h"
#include "families/shared/landmark_families.h"
#include "families/shared/probes.h"
#include "oracles/attention.h"

namespace assay::families {
namespace {

std::vector<Case> decode_probes(const Case& test_case) {
  Probes probes(test_case, {{"n_heads", 1},
                            {"n_kv_heads", 1},
                            {"kv_len", 33},
                            {"kv_capacity", 33},
                            {"ring_start", 0},
                            {"mask_type", 0},
                            {"sliding_window", 0},
                            {"nwg", 1},
                            {"nsg", 1}});
  probes.add({{"kv_len", 1}, {"kv_capacity", 1}}, "gauss");
  probes.add({}, "gauss");
  probes.add({{"n_heads", 8}, {"n_kv_heads", 2}, {"kv_len", 70}, {"kv_capacity", 70}, {"ring_start", 13}}, "gauss");
  probes.add({{"n_heads", 4}, {"n_kv_heads", 4}, {"kv_len", 40}, {"kv_capacity", 64}}, "gauss");
  probes.add({{"n_heads", 2}, {"kv_len", 65}, {"kv_capacity", 65}, {"ring_start", 31}, {"mask_type", 2}, {"sliding_window", 33}}, "gauss");
  probes.add({{"kv_len", 65}, {"kv_capacity", 65}, {"mask_type", 2}, {"sliding_window", 33}}, "gauss");
  probes.add({{"kv_len", 65}, {"kv_capacity", 65}, {"ring_start", 31}, {"mask_type", 2}, {"sliding_window", 20}}, "needle");
  probes.add({{"kv_len", 65}, {"kv_capacity", 65}, {"mask_type", 2}, {"sliding_window", 0}}, "gauss");
  probes.add({{"kv_len", 65}, {"kv_capacity", 65}, {"mask_type", 1}, {"sliding_window", 33}}, "gauss");
  probes.add({{"kv_len", 64}, {"kv_capacity", 64}, {"ring_start", 10}}, "uniform");
  probes.add({{"kv_len", 257}, {"kv_capacity", 257}}, "gauss");
  probes.add({{"kv_len", 160}, {"kv_capacity", 160}, {"nwg", 3}}, "uniform");
  probes.add({{"kv_len", 257}, {"kv_capacity", 257}, {"nwg", 4}}, "gauss");
  probes.add({{"kv_len", 257}, {"kv_capacity", 257}, {"nsg", 2}}, "gauss");
  probes.add({{"kv_len", 257}, {"kv_capacity", 300}, {"nsg", 4}, {"nwg", 2}}, "gauss");
  probes.add({{"kv_len", 64}, {"kv_capacity", 64}}, "all_negative");
  probes.add({{"kv_len", 64}, {"kv_capacity", 64}}, "all_negative_deep");
  probes.add({{"n_heads", 2}, {"head_dim", other_dim(test_case)}}, "gauss");
  probes.add({{"n_heads", 2}, {"n_kv_heads", 2}}, "structured");
  probes.add({{"kv_len", 512}, {"kv_capacity", 512}}, "drift");
  probes.add({{"scale", 1}, {"kv_len", 40}, {"kv_capacity", 40}}, "gauss");
  return probes.take();
}

bool has_window(const Case& test_case) {
  return test_case.at("mask_type") == static_cast<std::int64_t>(oracles::MaskType::sliding_window) && test_case.at("sliding_window") > 0;
}

constexpr Feature kDecodeFeatures[] = {
    {"a window", mistake::kWindow, has_window},
    {"a ring", mistake::kRing, [](const Case& test_case) { return test_case.at("ring_start") > 0; }},
    {"room behind the keys", mistake::kStride, [](const Case& test_case) { return test_case.at("kv_capacity") > test_case.at("kv_len"); }},
    {"query heads that share keys", mistake::kHead,
     [](const Case& test_case) { return test_case.at("n_heads") > test_case.at("n_kv_heads"); }},
    {"several key heads", mistake::kStride, [](const Case& test_case) { return test_case.at("n_kv_heads") > 1; }},
    {"several workgroups", mistake::kWorkgroup, [](const Case& test_case) { return test_case.at("nwg") > 1; }},
};

// Elements of keys. The model keeps every slot in double, and a cache of more than 2^32 bytes, which shows indices that are too short,
// would need 64 GiB.
constexpr std::size_t kMostModelled = std::size_t{1} << 26;

// [G, capacity] rows of codes.
template <int kBits>
Place place_in_cache(const Case& test_case, std::uint64_t byte) {
  const std::uint64_t row = byte / base::code_bytes(kBits, test_case.size("head_dim"));
  return key_place(row / test_case.size("kv_capacity"), row % test_case.size("kv_capacity"), "slot");
}

}  // namespace

TriageRules decode_triage(FormatOf format_of, bool is_4bit) {
  return {.model = [=](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            const DecodeFormat format = format_of(test_case);
            if (test_case.size("n_kv_heads") * test_case.size("kv_capacity") * test_case.size("head_dim") > kMostModelled) return nullptr;
            return std::make_shared<AttentionModel>(test_case, decode_request(test_case, format).shape,
                                                    decode_inputs(test_case, format, source));
          },
          .mistakes = [] { return attention_mistakes(true); },
          .landmarks = decode_landmarks(format_of),
          .codebook_mistakes = attention_mistakes_of_codebook,
          .features = kDecodeFeatures,
          .probes = decode_probes,
          .smaller = smaller_attention,
          .steps = attention_steps(),
          .followed = "K_packed",
          .place = is_4bit ? place_in_cache<4> : place_in_cache<8>,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"heads", test_case.size("n_heads")}}; }};
}

}  // namespace assay::families

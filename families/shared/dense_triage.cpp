// The triage rules of attention over bfloat keys and values.
#include <cstdint>

#include "families/mistakes.h"
#include "families/shared/attention_model.h"
#include "families/shared/attention_smaller.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/landmark_families.h"
#include "families/shared/probes.h"

namespace assay::families {
namespace {

std::vector<Case> dense_probes(const Case& test_case) {
  Probes probes(test_case, {{"batches", 1},
                            {"n_heads", 1},
                            {"n_kv_heads", 1},
                            {"queries", 2},
                            {"kv_len", 64},
                            {"kv_room", 0},
                            {"mask_type", 0},
                            {"sliding_window", 0},
                            {"mask_batches", 1},
                            {"mask_heads", 1},
                            {"hides_lowest", 0},
                            {"nsg", 1}});
  constexpr std::int64_t causal = 2;
  constexpr std::int64_t windowed = 3;
  constexpr std::int64_t random = 4;
  probes.add({{"kv_len", 1}, {"queries", 1}}, "gauss");
  probes.add({}, "gauss");
  probes.add({{"kv_len", 100}, {"kv_room", 28}}, "gauss");
  probes.add({{"n_heads", 8}, {"n_kv_heads", 2}, {"kv_len", 65}, {"kv_room", 7}}, "gauss");
  probes.add({{"batches", 2}, {"n_heads", 2}, {"queries", 1}}, "gauss");
  probes.add({{"queries", 9}, {"kv_len", 40}, {"mask_type", causal}}, "gauss");
  probes.add({{"queries", 8}, {"kv_len", 8}, {"mask_type", causal}}, "gauss");
  probes.add({{"queries", 4}, {"kv_len", 80}, {"mask_type", windowed}, {"sliding_window", 33}}, "gauss");
  probes.add({{"n_heads", 2}, {"mask_heads", 2}, {"kv_len", 80}, {"mask_type", random}}, "gauss");
  probes.add({{"batches", 2}, {"mask_batches", 2}, {"kv_len", 70}, {"mask_type", random}, {"hides_lowest", 1}}, "gauss");
  probes.add({{"kv_len", 200}}, "gauss");
  probes.add({{"kv_len", 200}, {"nsg", 2}, {"queries", 1}}, "gauss");
  probes.add({{"kv_len", 300}, {"nsg", 4}, {"queries", 1}}, "uniform");
  probes.add({{"kv_len", 130}}, "needle");
  probes.add({{"kv_len", 80}}, "all_negative");
  probes.add({{"kv_len", 80}}, "all_negative_deep");
  probes.add({{"kv_len", 300}, {"queries", 1}}, "drift");
  probes.add({{"scale", 1}, {"kv_len", 40}}, "gauss");
  return probes.take();
}

constexpr Feature kDenseFeatures[] = {
    {"a mask", mistake::kMask, [](const Case& test_case) { return test_case.at("mask_type") > 1; }},
    {"several masks", mistake::kMask, [](const Case& test_case) { return test_case.at("mask_batches") * test_case.at("mask_heads") > 1; }},
    {"several batches", mistake::kStride, [](const Case& test_case) { return test_case.at("batches") > 1; }},
    {"batches that share keys", mistake::kHead, [](const Case& test_case) { return test_case.at("kv_batches") > 0; }},
    {"room behind the keys", mistake::kStride, [](const Case& test_case) { return test_case.at("kv_room") > 0; }},
    {"another layout", mistake::kStride, [](const Case& test_case) { return test_case.at("kv_layout") > 0; }},
    {"query heads that share keys", mistake::kHead,
     [](const Case& test_case) { return test_case.at("n_heads") > test_case.at("n_kv_heads"); }},
    {"several key heads", mistake::kStride, [](const Case& test_case) { return test_case.at("n_kv_heads") > 1; }},
    {"several queries", {}, [](const Case& test_case) { return test_case.at("queries") > 1; }},
};

// [B, G, n + room] rows, and one row between batches for seeds with gaps (dense_inputs.cpp).
Place place_in_dense_keys(const Case& test_case, std::uint64_t byte) {
  if (test_case.at("kv_layout") == kTokensOfHeads) {
    const RowStrides strides = dense_parameters(test_case, metal::ScalarType::float32).k;
    const std::uint64_t in_batch = byte % strides.batch;
    return key_place(in_batch % strides.token / strides.head, in_batch / strides.token, "key");
  }
  constexpr std::uint64_t kDenseSeeds = 4;
  const std::uint64_t rows_of_head = test_case.size("kv_len") + test_case.size("kv_room");
  const std::uint64_t rows_of_batch =
      test_case.size("n_kv_heads") * rows_of_head + (test_case.seed % kDenseSeeds == kDenseSeeds - 1 ? 0 : 1);
  const std::uint64_t row = byte / kBf16RowBytes;
  return key_place(row % rows_of_batch / rows_of_head, row % rows_of_batch % rows_of_head, "key");
}

}  // namespace

TriageRules dense_triage(std::shared_ptr<const Model> (*model)(const Case& test_case, const Source& source)) {
  return {.model = model,
          .mistakes = [] { return attention_mistakes(false); },
          .landmarks = dense_landmarks,
          .features = kDenseFeatures,
          .probes = dense_probes,
          .smaller = smaller_attention,
          .steps = attention_steps(),
          .followed = "k",
          .place = place_in_dense_keys,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> {
            return {{"batches", test_case.size("batches")}, {"heads", test_case.size("n_heads")}, {"queries", test_case.size("queries")}};
          }};
}

}  // namespace assay::families

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "harness/cases/file_case.h"
#include "harness/triage/case_name.h"
#include "harness/triage/triage.h"

namespace assay::harness {
namespace {

using Settings = std::initializer_list<std::pair<std::string_view, std::int64_t>>;

class Probes {
 public:
  // Everything at its simplest but for what a kernel is made for.
  Probes(const Case& about, Settings simplest) : base_(about) {
    base_.seed = 1;
    base_.fixture = "gauss";
    put(base_, simplest);
  }

  void add(Settings settings, std::string_view fixture) {
    Case next = base_;
    put(next, settings);
    next.fixture = fixture;
    if (name_of(next) && std::ranges::find(cases_, next) == cases_.end()) cases_.push_back(std::move(next));
  }

  [[nodiscard]] std::vector<Case> take() { return std::move(cases_); }
  [[nodiscard]] const Case& base() const { return base_; }

 private:
  static void put(Case& about, Settings settings) {
    for (const auto& [axis, value] : settings) {
      if (about.family->has_axis(axis)) about.values[about.family->axis_index(axis)] = value;
    }
  }

  Case base_;
  std::vector<Case> cases_;
};

std::int64_t other_dim(const Case& about) { return about.at("head_dim") == 256 ? 512 : 256; }

std::vector<Case> decode_probes(const Case& about) {
  Probes probes(about, {{"n_heads", 1},
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
  probes.add({{"n_heads", 2}, {"head_dim", other_dim(about)}}, "gauss");
  probes.add({{"n_heads", 2}, {"n_kv_heads", 2}}, "structured");
  probes.add({{"kv_len", 512}, {"kv_capacity", 512}}, "drift");
  probes.add({{"scale", 1}, {"kv_len", 40}, {"kv_capacity", 40}}, "gauss");
  return probes.take();
}

std::vector<Case> dense_probes(const Case& about) {
  Probes probes(about, {{"batches", 1},
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

std::vector<Case> reduce_probes(const Case& about) {
  Probes probes(about, {{"nrows", 2}, {"nwg", 4}});
  for (const std::int64_t nwg : {1, 2, 3, 8, 31, 32}) probes.add({{"nwg", nwg}}, "gauss");
  probes.add({{"nrows", 5}}, "gauss");
  for (const std::string_view fixture : {"uniform", "needle", "all_negative", "all_negative_deep", "drift", "idle", "cancel"})
    probes.add({{"nrows", 3}}, fixture);
  probes.add({{"nwg", 32}}, "drift");
  probes.add({{"head_dim", other_dim(about)}}, "gauss");
  return probes.take();
}

std::vector<Case> fwht_probes(const Case& about) {
  Probes probes(about, {{"num_heads", 1}});
  for (const std::int64_t mode : {0, 1, 2}) {
    probes.add({{"mode", mode}}, "gauss");
    probes.add({{"mode", mode}, {"num_heads", 3}}, "gauss");
    probes.add({{"mode", mode}, {"head_dim", other_dim(about)}}, "gauss");
  }
  for (const std::string_view fixture : {"uniform", "needle", "heavy", "cancel"}) probes.add({{"num_heads", 2}}, fixture);
  return probes.take();
}

std::vector<Case> quantize_probes(const Case& about) {
  Probes probes(about, {{"num_kv_heads", 1}, {"write_pos", 0}, {"cache_capacity", 1}, {"is_sliding", 0}, {"rms_probe", 0}});
  probes.add({}, "gauss");
  probes.add({{"num_kv_heads", 3}, {"write_pos", 1}, {"cache_capacity", 4}}, "gauss");
  probes.add({{"rms_probe", 1}}, "gauss");
  probes.add({{"write_pos", 5}, {"cache_capacity", 4}, {"is_sliding", 1}}, "gauss");
  for (const std::string_view fixture : {"structured", "ties", "heavy", "tiny", "zero", "outlier"})
    probes.add({{"num_kv_heads", 2}, {"rms_probe", 1}}, fixture);
  probes.add({{"head_dim", other_dim(about)}}, "gauss");
  probes.add({{"head_dim", 512}, {"scale_factor_d512", 16}, {"rms_probe", 1}}, "gauss");
  return probes.take();
}

std::vector<Case> dequantize_probes(const Case& about) {
  Probes probes(about, {{"num_kv_heads", 1}, {"read_pos", 0}, {"cache_capacity", 1}});
  probes.add({}, "gauss");
  probes.add({{"num_kv_heads", 3}, {"read_pos", 1}, {"cache_capacity", 4}}, "gauss");
  probes.add({{"num_kv_heads", 2}, {"read_pos", 2}, {"cache_capacity", 4}}, "structured");
  probes.add({}, "ladder");
  probes.add({{"head_dim", other_dim(about)}, {"num_kv_heads", 2}}, "gauss");
  probes.add({{"head_dim", 512}, {"scale_factor_d512", 16}}, "gauss");
  probes.add({{"num_kv_heads", 2}}, "zero");
  return probes.take();
}

struct Row {
  std::string_view family;
  std::vector<Case> (*probes)(const Case&);
};
constexpr Row kRows[] = {{"tq4", decode_probes},         {"tqhb", decode_probes},       {"reduce", reduce_probes},
                         {"fwht", fwht_probes},          {"quantize", quantize_probes}, {"dequantize", dequantize_probes},
                         {"bf16_prefill", dense_probes}, {"bf16_vec", dense_probes}};

}  // namespace

std::vector<Case> probes_near(const Case& about) {
  const auto row = std::ranges::find(kRows, about.family->name(), &Row::family);
  if (row == std::end(kRows)) return {};
  return row->probes(about);
}

}  // namespace assay::harness

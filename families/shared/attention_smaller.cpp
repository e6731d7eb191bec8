// Smaller cases of attention: shorter lengths, with the axes that depend on them.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "families/shared/attention_smaller.h"
#include "families/shared/probes.h"

namespace assay::families {
namespace {

std::int64_t get(const Case& test_case, std::string_view name, std::int64_t otherwise) {
  return test_case.family->has_axis(name) ? test_case.at(name) : otherwise;
}

void set(Case& test_case, std::string_view name, std::int64_t value) { put(test_case, {{name, value}}); }

// Lengths below a given one: all short ones, both sides of every edge, and some in between.
std::vector<std::int64_t> lengths_below(std::int64_t length) {
  std::set<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 8; ++n) lengths.insert(n);
  for (const std::int64_t edge : {16, 32, 64, 96, 128, 160, 192, 256, 384, 512, 768, 1024, 2048})
    lengths.insert({edge - 1, edge, edge + 1});
  for (std::int64_t part = 1; part < 8; ++part) lengths.insert(length * part / 8);
  lengths.insert({12, 20, 24, 40, 48, length - 1, length - 2, length - 4, length - 8});
  std::erase_if(lengths, [&](std::int64_t n) { return n < 1 || n >= length; });
  return {lengths.begin(), lengths.end()};
}

// The case with another length, and with the capacity, ring, window and room that are then possible.
Case with_length(const Case& test_case, std::int64_t length) {
  Case result = test_case;
  const std::int64_t old = test_case.at("kv_len");
  const std::int64_t capacity = get(test_case, "kv_capacity", old);
  const std::int64_t now = capacity == old ? length : length + std::max<std::int64_t>(1, (capacity - old) * length / old);
  put(result, {{"kv_len", length}, {"kv_capacity", now}, {"ring_start", std::min(get(test_case, "ring_start", 0), now - 1)}});
  return result;
}

void add_heads(std::vector<Case>& cases, const Case& test_case) {
  for (const auto& [heads, kv_heads] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                        {2, 1},
                                        {2, 2},
                                        {3, 1},
                                        {3, 3},
                                        {4, 2},
                                        {4, 1},
                                        {4, 4},
                                        {6, 3},
                                        {6, 2},
                                        {8, 2},
                                        {8, 4}}) {
    Case next = test_case;
    set(next, "n_heads", heads);
    set(next, "n_kv_heads", kv_heads);
    if (get(next, "mask_heads", 1) > 1) set(next, "mask_heads", heads);
    cases.push_back(std::move(next));
  }
}

// Lengths with the axes that depend on them: at small lengths, a mistake in a window shows only in small windows.
void add_lengths(std::vector<Case>& cases, const Case& test_case) {
  const std::int64_t old = test_case.at("kv_len");
  const std::int64_t window = get(test_case, "sliding_window", 0);
  const bool on_ring = get(test_case, "kv_capacity", 0) == old;
  std::vector<std::string> fixtures = {test_case.fixture, "gauss"};
  for (const std::string_view other : {"needle", "uniform", "cancel"}) {
    if (old <= 96) fixtures.emplace_back(other);
  }
  std::vector<std::int64_t> lengths = lengths_below(old);
  lengths.push_back(old);
  std::vector<Case> bases;
  for (const std::int64_t length : lengths) {
    bases.push_back(with_length(test_case, length));
    // Instead of a ring that has turned: one that is not full, with empty slots behind the last position.
    if (!on_ring || length > 4) continue;
    bases.push_back(bases.back());
    set(bases.back(), "kv_capacity", length + 1);
  }
  for (const Case& base : bases) {
    const std::int64_t length = base.at("kv_len");
    std::set<std::int64_t> windows = {window};
    if (window > 0) windows.insert({1, 2, window * length / old, length - 1, length - (old - window)});
    std::set<std::int64_t> rings = {get(base, "ring_start", 0)};
    if (on_ring && get(test_case, "ring_start", 0) > 0) rings.insert({1, length - 1, length / 2});
    for (const std::int64_t w : windows) {
      for (const std::int64_t ring : rings) {
        for (const std::string& fixture : fixtures) {
          if (w < 0 || (window > 0 && w < 1) || ring < 0 || (ring != 0 && ring >= length)) continue;
          Case next = base;
          set(next, "sliding_window", w);
          set(next, "ring_start", ring);
          next.fixture = fixture;
          cases.push_back(std::move(next));
        }
      }
    }
  }
}

// A mistake in the transition from one chunk to the next shows only if the maximum grows there, which depends on the data.
void add_seeds(std::vector<Case>& cases, const Case& test_case) {
  for (const std::int64_t length : {1, 2, 8, 16, 33, 65, 97, 129}) {
    if (length >= test_case.at("kv_len")) break;
    for (std::uint64_t seed = 2; seed <= 8; ++seed) {
      Case next = with_length(test_case, length);
      next.seed = seed;
      cases.push_back(std::move(next));
    }
  }
}

ShrinkStep keys(std::int64_t count) { return {{{"kv_len", count}, {"kv_capacity", count}, {"ring_start", 0}}, true}; }

}  // namespace

std::vector<Case> smaller_attention(const Case& test_case, Smaller how) {
  std::vector<Case> cases;
  if (how == Smaller::in_several) add_lengths(cases, test_case);
  if (how == Smaller::in_seed) add_seeds(cases, test_case);
  if (how == Smaller::in_length) {
    for (const std::int64_t length : lengths_below(test_case.at("kv_len"))) cases.push_back(with_length(test_case, length));
  }
  if (how != Smaller::in_one_axis) return cases;
  add_heads(cases, test_case);
  if (test_case.at("mask_type") != 0) {
    cases.push_back(test_case);
    put(cases.back(), {{"mask_type", 0}, {"sliding_window", 0}, {"mask_heads", 1}, {"mask_batches", 1}});
  }
  return cases;
}

std::vector<std::vector<ShrinkStep>> attention_steps() {
  std::vector<ShrinkStep> lengths;
  for (const std::int64_t count : {1, 2, 8, 16, 31, 32, 33, 48, 64, 65, 96, 128, 256, 512, 1024, 2048}) lengths.push_back(keys(count));
  return {{{{{"n_heads", 1}, {"n_kv_heads", 1}}},
           {{{"n_heads", 2}, {"n_kv_heads", 1}}},
           {{{"n_heads", 2}, {"n_kv_heads", 2}}},
           {{{"n_heads", 4}, {"n_kv_heads", 2}}}},
          {{{{"batches", 1}}}},
          steps_of("queries", {1, 2, 8, 9, 16, 32}),
          {{{{"mask_type", 0}, {"sliding_window", 0}, {"mask_batches", 1}, {"mask_heads", 1}}}, {{{"mask_batches", 1}, {"mask_heads", 1}}}},
          steps_of("sliding_window", {0}),
          steps_of("kv_room", {0}),
          steps_of("ring_start", {0}),
          lengths,
          steps_of("nwg", {1, 2, 4, 8}),
          steps_of("nsg", {1, 2}),
          steps_of("head_dim", {256})};
}

Place key_place(std::uint64_t head, std::uint64_t slot, std::string_view what) {
  const std::uint64_t chunk = slot / kKeysOfChunk;
  return {fmt::format("{} {} of KV head {}, chunk {} of {} keys", what, slot, head, chunk, kKeysOfChunk), chunk};
}

}  // namespace assay::families

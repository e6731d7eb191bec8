#include "harness/triage/minimise.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "harness/cases/file_case.h"
#include "harness/triage/case_name.h"
#include "harness/triage/ordered.h"

namespace assay::harness {
namespace {

constexpr std::size_t kMostTried = 400;  // a round

std::int64_t get(const Case& about, std::string_view name, std::int64_t otherwise) {
  return about.family->has_axis(name) ? about.at(name) : otherwise;
}

void set(Case& about, std::string_view name, std::int64_t value) {
  if (about.family->has_axis(name)) about.values[about.family->axis_index(name)] = value;
}

// Lengths below a given one: all short ones, both sides of every edge, and a few in between.
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

std::vector<std::int64_t> counts_below(std::int64_t count) {
  std::vector<std::int64_t> counts;
  for (std::int64_t n = 1; n < count; n = n < 5 ? n + 1 : n * 2) counts.push_back(n);
  if (count > 2) counts.push_back(count - 1);
  return counts;
}

// A case with other lengths, its capacity, ring, window and room as they can be then.
Case with_length(const Case& about, std::int64_t length) {
  Case result = about;
  const std::int64_t old = about.at("kv_len");
  set(result, "kv_len", length);
  if (!about.family->has_axis("kv_capacity")) return result;
  const std::int64_t capacity = about.at("kv_capacity");
  const std::int64_t now = capacity == old ? length : length + std::max<std::int64_t>(1, (capacity - old) * length / old);
  set(result, "kv_capacity", now);
  set(result, "ring_start", std::min(about.at("ring_start"), now - 1));
  return result;
}

class Neighbours {
 public:
  explicit Neighbours(const Case& about) : about_(about), size_(size_of(about)) {}

  void add(Case value) {
    const std::optional<std::string> name = name_of(value);
    if (name && size_of(value) < size_ && names_.insert(*name).second) cases_.push_back(std::move(value));
  }

  void add_axis(std::string_view name, std::span<const std::int64_t> values) {
    if (!about_.family->has_axis(name)) return;
    for (const std::int64_t value : values) {
      Case next = about_;
      set(next, name, value);
      add(std::move(next));
    }
  }

  [[nodiscard]] std::vector<Case> take() {
    order_by(cases_, size_of);
    if (cases_.size() > kMostTried) cases_.resize(kMostTried);
    return std::move(cases_);
  }

 private:
  const Case& about_;
  double size_;
  std::set<std::string> names_;
  std::vector<Case> cases_;
};

void add_heads(Neighbours& neighbours, const Case& about) {
  if (!about.family->has_axis("n_heads")) return;
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
    Case next = about;
    set(next, "n_heads", heads);
    set(next, "n_kv_heads", kv_heads);
    if (get(next, "mask_heads", 1) > 1) set(next, "mask_heads", heads);
    neighbours.add(std::move(next));
  }
}

// Lengths with what must go along with them: a mistake in a window shows at small lengths in small windows only.
void add_lengths(Neighbours& neighbours, const Case& about) {
  if (!about.family->has_axis("kv_len")) return;
  const std::int64_t old = about.at("kv_len");
  const std::int64_t window = get(about, "sliding_window", 0);
  const bool on_ring = get(about, "kv_capacity", 0) == old;
  std::vector<std::string> fixtures = {about.fixture, "gauss"};
  for (const std::string_view other : {"needle", "uniform", "cancel"}) {
    if (old <= 96) fixtures.emplace_back(other);
  }
  std::vector<std::int64_t> lengths = lengths_below(old);
  lengths.push_back(old);
  std::vector<Case> bases;
  for (const std::int64_t length : lengths) {
    bases.push_back(with_length(about, length));
    // In place of a ring that has turned: one that is not full, whose slots behind the last position hold nothing.
    if (!on_ring || length > 4) continue;
    bases.push_back(bases.back());
    set(bases.back(), "kv_capacity", length + 1);
  }
  for (const Case& base : bases) {
    const std::int64_t length = base.at("kv_len");
    std::set<std::int64_t> windows = {window};
    if (window > 0) windows.insert({1, 2, window * length / old, length - 1, length - (old - window)});
    std::set<std::int64_t> rings = {get(base, "ring_start", 0)};
    if (on_ring && get(about, "ring_start", 0) > 0) rings.insert({1, length - 1, length / 2});
    for (const std::int64_t w : windows) {
      for (const std::int64_t ring : rings) {
        for (const std::string& fixture : fixtures) {
          if (w < 0 || (window > 0 && w < 1) || ring < 0 || (ring != 0 && ring >= length)) continue;
          Case next = base;
          set(next, "sliding_window", w);
          set(next, "ring_start", ring);
          next.fixture = fixture;
          neighbours.add(std::move(next));
        }
      }
    }
  }
}

// A mistake in what goes from one chunk to the next shows only if the maximum grows there, and that is luck of the data.
void add_seeds(Neighbours& neighbours, const Case& about) {
  if (!about.family->has_axis("kv_len")) return;
  for (const std::int64_t length : {1, 2, 8, 16, 33, 65, 97, 129}) {
    if (length >= about.at("kv_len")) break;
    for (std::uint64_t seed = 2; seed <= 8; ++seed) {
      Case next = with_length(about, length);
      next.seed = seed;
      neighbours.add(std::move(next));
    }
  }
}

std::vector<std::int64_t> only(std::initializer_list<std::int64_t> values) { return values; }

}  // namespace

double size_of(const Case& about) {
  const auto factor = [&](std::string_view name) { return static_cast<double>(std::max<std::int64_t>(get(about, name, 1), 1)); };
  double size = 1;
  for (const std::string_view name : {"n_heads", "batches", "queries", "kv_len", "nrows", "num_heads", "num_kv_heads", "head_dim"})
    size *= factor(name);
  double extras = 0;
  for (const std::string_view name : {"nwg", "nsg", "mask_heads", "mask_batches"}) extras += 0.02 * (factor(name) - 1);
  for (const std::string_view name : {"n_kv_heads", "cache_capacity", "write_pos", "read_pos", "kv_room"})
    extras += 0.001 * static_cast<double>(std::min<std::int64_t>(get(about, name, 0), 50));
  for (const std::string_view name : {"ring_start", "sliding_window"}) {
    if (get(about, name, 0) != 0) extras += 0.02 + 0.0001 * static_cast<double>(std::min<std::int64_t>(about.at(name), 200));
  }
  for (const std::string_view name :
       {"mask_type", "fuse_fwht_pre", "block_norms", "is_sliding", "rms_probe", "hides_lowest", "mode", "scale"}) {
    if (get(about, name, 0) != 0) extras += 0.02;
  }
  if (about.family->has_axis("scale_factor_d512") && about.at("scale_factor_d512") != 1) extras += 0.02;
  if (about.family->has_axis("kv_capacity") && about.at("kv_capacity") != about.at("kv_len")) extras += 0.03;
  if (about.fixture != "gauss") extras += about.fixture == "poisoned" ? 0.06 : 0.04;
  if (about.seed != 1) extras += 0.005;
  return size * (1 + extras);
}

std::vector<Case> smaller_cases(const Case& about, Smaller how) {
  Neighbours neighbours(about);
  if (is_on_file(about)) {
    // A captured case is its file's but for how a host splits the work.
    for (const Axis& axis : about.family->axes) {
      if (axis.is_launch_choice) neighbours.add_axis(axis.name, counts_below(about.at(axis.name)));
    }
    return neighbours.take();
  }
  if (how == Smaller::in_several) {
    add_lengths(neighbours, about);
    return neighbours.take();
  }
  if (how == Smaller::in_seed) {
    add_seeds(neighbours, about);
    return neighbours.take();
  }
  if (how == Smaller::in_length) {
    if (about.family->has_axis("kv_len")) {
      for (const std::int64_t length : lengths_below(about.at("kv_len"))) neighbours.add(with_length(about, length));
    }
    return neighbours.take();
  }
  add_heads(neighbours, about);
  for (const std::string_view name :
       {"nwg", "nsg", "batches", "queries", "nrows", "num_heads", "num_kv_heads", "mask_heads", "mask_batches"}) {
    if (about.family->has_axis(name)) neighbours.add_axis(name, counts_below(about.at(name)));
  }
  for (const std::string_view name : {"ring_start", "sliding_window", "mask_type", "fuse_fwht_pre", "block_norms", "rms_probe",
                                      "hides_lowest", "mode", "scale", "kv_room"}) {
    neighbours.add_axis(name, only({0}));
  }
  neighbours.add_axis("head_dim", only({256}));
  neighbours.add_axis("scale_factor_d512", only({1}));
  if (about.family->has_axis("mask_type") && about.at("mask_type") != 0) {
    Case next = about;
    for (const std::string_view name : {"mask_type", "sliding_window"}) set(next, name, 0);
    for (const std::string_view name : {"mask_heads", "mask_batches"}) set(next, name, 1);
    neighbours.add(std::move(next));
  }
  if (about.family->has_axis("kv_capacity")) {
    Case next = about;
    set(next, "kv_capacity", about.at("kv_len"));
    neighbours.add(std::move(next));
  }
  for (const std::string_view position : {"write_pos", "read_pos"}) {
    if (!about.family->has_axis(position)) continue;
    for (const auto& [at, capacity] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {0, 2}, {1, 2}, {1, 4}, {2, 4}}) {
      Case next = about;
      set(next, position, at);
      set(next, "cache_capacity", capacity);
      neighbours.add(next);
      set(next, "is_sliding", 0);
      neighbours.add(std::move(next));
    }
  }
  Case next = about;
  next.fixture = "gauss";
  neighbours.add(next);
  next.fixture = about.fixture;
  next.seed = 1;
  neighbours.add(std::move(next));
  return neighbours.take();
}

bool fails_alike(const Verdict& one, const Verdict& other) {
  if (one.status != other.status) return false;
  if (one.status == Status::hazard)
    return !one.hazards.empty() && !other.hazards.empty() && one.hazards.front().kind == other.hazards.front().kind;
  if (one.status != Status::failed) return true;
  const auto fault = [](const Verdict& verdict) {
    return verdict.judgement.worst.empty() ? ElementFault::none : verdict.judgement.worst.front().fault;
  };
  return fault(one) == fault(other);
}

Minimised minimise(Laboratory& laboratory, const Verdict& failure, std::chrono::duration<double> budget) {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t before = laboratory.runs();
  Minimised result{.verdict = failure, .tried = 0};
  while (std::chrono::steady_clock::now() - start < budget) {
    const Verdict* found = nullptr;
    for (const Smaller how : {Smaller::in_one_axis, Smaller::in_length, Smaller::in_several, Smaller::in_seed}) {
      const std::vector<Case> smaller = smaller_cases(result.verdict.about, how);
      found = laboratory.first_failure(smaller, [&](const Verdict& verdict) { return fails_alike(verdict, failure); });
      if (found != nullptr || std::chrono::steady_clock::now() - start > budget) break;
    }
    if (found == nullptr) break;
    result.verdict = *found;
  }
  result.tried = laboratory.runs() - before;
  return result;
}

}  // namespace assay::harness

#include "harness/cases/covering.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace assay::harness {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): small, seedable, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

// One value of a combination; never 0, so that combinations of different sizes differ.
constexpr Combination packed(std::size_t index, int value) {
  return (static_cast<Combination>(index + 1) << 8U) | static_cast<Combination>(value);
}

constexpr Combination pair_of(std::size_t a, int level_a, std::size_t b, int level_b) {
  return a < b ? (packed(a, level_a) << 16U) | packed(b, level_b) : (packed(b, level_b) << 16U) | packed(a, level_a);
}

// The pairs not met so far, by direct lookup: every step of the search asks for them.
class OpenPairs {
 public:
  explicit OpenPairs(const CoveringDesign& design) {
    for (const int levels : design.levels) {
      offsets_.push_back(total_);
      total_ += static_cast<std::size_t>(levels);
    }
    open_.assign(total_ * total_, false);
    Row row(design.levels.size(), -1);
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        for (row[a] = 0; row[a] < design.levels[a]; ++row[a]) {
          for (row[b] = 0; row[b] < design.levels[b]; ++row[b]) {
            if (completable(design, row)) pairs_.push_back({a, row[a], b, row[b]});
          }
          row[b] = -1;
        }
        row[a] = -1;
      }
    }
    for (const Pair& pair : pairs_) at(pair.a, pair.level_a, pair.b, pair.level_b) = true;
  }

  struct Pair {
    std::size_t a;
    int level_a;
    std::size_t b;
    int level_b;
  };
  [[nodiscard]] const std::vector<Pair>& all() const { return pairs_; }  // met or not
  [[nodiscard]] bool contains(std::size_t a, int level_a, std::size_t b, int level_b) const {
    return a < b ? open_[index(a, level_a, b, level_b)] : open_[index(b, level_b, a, level_a)];
  }
  void erase(const Row& row) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) at(a, row[a], b, row[b]) = false;
    }
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t a, int level_a, std::size_t b, int level_b) const {
    return (offsets_[a] + static_cast<std::size_t>(level_a)) * total_ + offsets_[b] + static_cast<std::size_t>(level_b);
  }
  std::vector<bool>::reference at(std::size_t a, int level_a, std::size_t b, int level_b) { return open_[index(a, level_a, b, level_b)]; }

  static bool completable(const CoveringDesign& design, const Row& row);

  std::vector<std::size_t> offsets_;
  std::size_t total_ = 0;
  std::vector<bool> open_;
  std::vector<Pair> pairs_;
};

// Completes the open factors of `row`, in ascending order; false (and `row` unchanged) if there is no completion.
bool complete(const CoveringDesign& design, Row& row, std::size_t from = 0) {
  if (!design.allowed(row)) return false;
  while (from < row.size() && row[from] >= 0) ++from;
  if (from == row.size()) return true;
  for (int level = 0; level < design.levels[from]; ++level) {
    row[from] = level;
    if (complete(design, row, from + 1)) return true;
  }
  row[from] = -1;
  return false;
}

bool completable(const CoveringDesign& design, const Row& row) {
  Row copy = row;
  return complete(design, copy);
}

bool OpenPairs::completable(const CoveringDesign& design, const Row& row) { return harness::completable(design, row); }

class Cover {
 public:
  explicit Cover(const CoveringDesign& design) : design_(design), random_(design.seed), pairs_(design) {}

  std::vector<Row> rows() {
    cover_triples();
    for (const OpenPairs::Pair& pair : pairs_.all()) {
      if (!pairs_.contains(pair.a, pair.level_a, pair.b, pair.level_b)) continue;
      Row start(design_.levels.size(), -1);
      start[pair.a] = pair.level_a;
      start[pair.b] = pair.level_b;
      add(best_of(start));
    }
    return std::move(rows_);
  }

 private:
  static constexpr int kCandidates = 24;

  int gain(const Row& row, std::size_t factor, int level) const {
    int count = 0;
    for (std::size_t other = 0; other < row.size(); ++other) {
      if (other != factor && row[other] >= 0 && pairs_.contains(other, row[other], factor, level)) ++count;
    }
    return count;
  }

  // Fills the open factors in random order, each with the level that meets most pairs not yet met; ties at random.
  Row fill(Row row) {
    std::vector<std::size_t> order;
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (row[factor] < 0) order.push_back(factor);
    }
    random_.shuffle(order);
    for (const std::size_t factor : order) {
      std::vector<int> levels(static_cast<std::size_t>(design_.levels[factor]));
      std::iota(levels.begin(), levels.end(), 0);
      random_.shuffle(levels);
      std::vector<std::pair<int, int>> ranked;  // (pairs met, level)
      for (const int level : levels) ranked.emplace_back(gain(row, factor, level), level);
      // Insertion keeps the random order among equals, which std::sort would not on every machine.
      for (std::size_t i = 1; i < ranked.size(); ++i) {
        for (std::size_t k = i; k > 0 && ranked[k].first > ranked[k - 1].first; --k) std::swap(ranked[k], ranked[k - 1]);
      }
      // `row` can be completed, so one of the levels fits.
      for (const auto& [count, level] : ranked) {
        row[factor] = level;
        if (completable(design_, row)) break;
      }
    }
    return row;
  }

  int new_pairs(const Row& row) const {
    int count = 0;
    for (std::size_t factor = 0; factor < row.size(); ++factor) count += gain(row, factor, row[factor]);
    return count;  // each pair twice
  }

  Row best_of(const Row& start) {
    Row best = fill(start);
    int most = new_pairs(best);
    for (int candidate = 1; candidate < kCandidates; ++candidate) {
      Row row = fill(start);
      if (const int count = new_pairs(row); count > most) {
        best = std::move(row);
        most = count;
      }
    }
    return best;
  }

  void add(const Row& row) {
    pairs_.erase(row);
    rows_.push_back(row);
  }

  // The rows of the class factors that hold any triple, and of these a small choice that holds all.
  void cover_triples() {
    if (!design_.classify) return;
    std::vector<Row> candidates = class_rows();
    random_.shuffle(candidates);
    std::vector<std::vector<Combination>> triples;
    std::unordered_set<Combination> open;
    for (const Row& row : candidates) {
      triples.push_back(triples_of(design_, row));
      open.insert(triples.back().begin(), triples.back().end());
    }

    // Lazy greedy choice: what a row still adds can only shrink, so an old figure is an upper limit.
    std::vector<std::pair<std::size_t, std::size_t>> heap;  // (triples it added when last counted, candidate)
    for (std::size_t i = 0; i < candidates.size(); ++i) heap.emplace_back(triples[i].size(), i);
    std::ranges::make_heap(heap);
    while (!open.empty()) {
      std::ranges::pop_heap(heap);
      auto& [limit, candidate] = heap.back();
      const auto count = static_cast<std::size_t>(
          std::ranges::count_if(triples[candidate], [&](const Combination triple) { return open.contains(triple); }));
      if (count < limit) {
        limit = count;
        std::ranges::push_heap(heap);
        continue;
      }
      for (const Combination triple : triples[candidate]) open.erase(triple);
      add(best_of(candidates[candidate]));
      heap.pop_back();
    }
  }

  std::vector<Row> class_rows() const;

  const CoveringDesign& design_;
  Random random_;
  OpenPairs pairs_;
  std::vector<Row> rows_;
};

// Calls visit(row) for every row whose class factors are set, the others open, and that can be completed.
template <typename Visit>
void for_each_class_row(const CoveringDesign& design, Row& row, std::size_t next, const Visit& visit) {
  if (!design.allowed(row)) return;
  if (next == design.class_factors.size()) {
    if (completable(design, row)) visit(row);
    return;
  }
  const std::size_t factor = design.class_factors[next];
  for (int level = 0; level < design.levels[factor]; ++level) {
    row[factor] = level;
    for_each_class_row(design, row, next + 1, visit);
  }
  row[factor] = -1;
}

std::vector<Row> Cover::class_rows() const {
  std::vector<Row> rows;
  Row row(design_.levels.size(), -1);
  for_each_class_row(design_, row, 0, [&](const Row& full) { rows.push_back(full); });
  return rows;
}

}  // namespace

std::vector<Combination> pairs_of(std::span<const int> row) {
  std::vector<Combination> pairs;
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) pairs.push_back(pair_of(a, row[a], b, row[b]));
  }
  return pairs;
}

std::vector<Combination> triples_of(const CoveringDesign& design, std::span<const int> row) {
  const std::vector<int> classes = design.classify(row);
  std::vector<Combination> present;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] >= 0) present.push_back(packed(i, classes[i]));
  }
  std::vector<Combination> triples;
  for (std::size_t a = 0; a < present.size(); ++a) {
    for (std::size_t b = a + 1; b < present.size(); ++b) {
      for (std::size_t c = b + 1; c < present.size(); ++c) triples.push_back((present[a] << 32U) | (present[b] << 16U) | present[c]);
    }
  }
  return triples;
}

std::set<Combination> possible_pairs(const CoveringDesign& design) {
  std::set<Combination> pairs;
  const OpenPairs open(design);
  for (const OpenPairs::Pair& pair : open.all()) pairs.insert(pair_of(pair.a, pair.level_a, pair.b, pair.level_b));
  return pairs;
}

std::set<Combination> possible_triples(const CoveringDesign& design) {
  std::set<Combination> triples;
  if (!design.classify) return triples;
  Row row(design.levels.size(), -1);
  for_each_class_row(design, row, 0, [&](const Row& full) {
    for (const Combination triple : triples_of(design, full)) triples.insert(triple);
  });
  return triples;
}

std::vector<Row> covering_rows(const CoveringDesign& design) { return Cover(design).rows(); }

}  // namespace assay::harness

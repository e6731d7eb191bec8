#include "harness/cases/covering.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

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

class Cover {
 public:
  explicit Cover(const CoveringDesign& design) : design_(design), random_(design.seed), pairs_(possible_pairs(design)) {}

  std::vector<Row> rows() {
    cover_triples();
    while (!pairs_.empty()) add(best_row(*pairs_.begin()));
    return std::move(rows_);
  }

 private:
  static constexpr int kCandidates = 24;

  std::size_t gain(const Row& row, std::size_t factor, int level) const {
    std::size_t count = 0;
    for (std::size_t other = 0; other < row.size(); ++other) {
      if (other == factor || row[other] < 0) continue;
      Combination pair = {{static_cast<int>(other), row[other]}, {static_cast<int>(factor), level}};
      std::ranges::sort(pair);
      count += pairs_.count(pair);
    }
    return count;
  }

  // Fills the open factors in random order, each with the level that meets most pairs not yet met; ties at random.
  std::optional<Row> fill(Row row) {
    std::vector<std::size_t> order;
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (row[factor] < 0) order.push_back(factor);
    }
    random_.shuffle(order);
    for (const std::size_t factor : order) {
      std::vector<int> levels(static_cast<std::size_t>(design_.levels[factor]));
      std::iota(levels.begin(), levels.end(), 0);
      random_.shuffle(levels);
      std::ranges::sort(levels, std::ranges::greater{},
                        [&](int level) { return std::pair(gain(row, factor, level), -position(levels, level)); });
      const auto fits = std::ranges::find_if(levels, [&](int level) {
        row[factor] = level;
        return completable(design_, row);
      });
      if (fits == levels.end()) return std::nullopt;
      row[factor] = *fits;
    }
    return row;
  }

  static int position(const std::vector<int>& levels, int level) {
    return static_cast<int>(std::ranges::find(levels, level) - levels.begin());
  }

  std::size_t new_pairs(const Row& row) const {
    return static_cast<std::size_t>(std::ranges::count_if(pairs_of(row), [&](const Combination& pair) { return pairs_.contains(pair); }));
  }

  Row best_of(const Row& start) {
    std::optional<Row> best;
    std::size_t most = 0;
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const std::optional<Row> row = fill(start);
      if (!row) continue;
      const std::size_t count = new_pairs(*row);
      if (!best || count > most) {
        best = row;
        most = count;
      }
    }
    return *best;  // `start` is completable, and fill() only takes levels that keep it so
  }

  Row best_row(const Combination& pair) {
    Row start(design_.levels.size(), -1);
    for (const auto& [factor, level] : pair) start[static_cast<std::size_t>(factor)] = level;
    return best_of(start);
  }

  void add(const Row& row) {
    for (const Combination& pair : pairs_of(row)) pairs_.erase(pair);
    rows_.push_back(row);
  }

  // The rows of the class factors that hold any triple, and of these a small choice that holds all.
  void cover_triples() {
    if (!design_.classify) return;
    std::vector<Row> candidates = class_rows();
    random_.shuffle(candidates);
    std::vector<std::vector<Combination>> triples;
    for (const Row& row : candidates) triples.push_back(triples_of(design_, row));
    std::set<Combination> open;
    for (const auto& of_row : triples) open.insert(of_row.begin(), of_row.end());

    // Lazy greedy choice: what a row still adds can only shrink, so an old figure is an upper limit.
    std::vector<std::pair<std::size_t, std::size_t>> heap;  // (triples it added when last counted, candidate)
    for (std::size_t i = 0; i < candidates.size(); ++i) heap.emplace_back(triples[i].size(), i);
    std::ranges::make_heap(heap);
    while (!open.empty()) {
      std::ranges::pop_heap(heap);
      auto& [limit, candidate] = heap.back();
      const auto count = static_cast<std::size_t>(
          std::ranges::count_if(triples[candidate], [&](const Combination& triple) { return open.contains(triple); }));
      if (count < limit) {
        limit = count;
        std::ranges::push_heap(heap);
        continue;
      }
      for (const Combination& triple : triples[candidate]) open.erase(triple);
      add(best_of(candidates[candidate]));
      heap.pop_back();
    }
  }

  std::vector<Row> class_rows() const;

  const CoveringDesign& design_;
  Random random_;
  std::set<Combination> pairs_;
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
    for (std::size_t b = a + 1; b < row.size(); ++b) {
      pairs.push_back({{static_cast<int>(a), row[a]}, {static_cast<int>(b), row[b]}});
    }
  }
  return pairs;
}

std::vector<Combination> triples_of(const CoveringDesign& design, std::span<const int> row) {
  const std::vector<int> classes = design.classify(row);
  std::vector<std::pair<int, int>> present;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] >= 0) present.emplace_back(static_cast<int>(i), classes[i]);
  }
  std::vector<Combination> triples;
  for (std::size_t a = 0; a < present.size(); ++a) {
    for (std::size_t b = a + 1; b < present.size(); ++b) {
      for (std::size_t c = b + 1; c < present.size(); ++c) triples.push_back({present[a], present[b], present[c]});
    }
  }
  return triples;
}

std::set<Combination> possible_pairs(const CoveringDesign& design) {
  std::set<Combination> pairs;
  Row row(design.levels.size(), -1);
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) {
      for (row[a] = 0; row[a] < design.levels[a]; ++row[a]) {
        for (row[b] = 0; row[b] < design.levels[b]; ++row[b]) {
          if (completable(design, row)) pairs.insert({{static_cast<int>(a), row[a]}, {static_cast<int>(b), row[b]}});
        }
        row[b] = -1;
      }
      row[a] = -1;
    }
  }
  return pairs;
}

std::set<Combination> possible_triples(const CoveringDesign& design) {
  std::set<Combination> triples;
  if (!design.classify) return triples;
  Row row(design.levels.size(), -1);
  for_each_class_row(design, row, 0, [&](const Row& full) {
    for (const Combination& triple : triples_of(design, full)) triples.insert(triple);
  });
  return triples;
}

std::vector<Row> covering_rows(const CoveringDesign& design) { return Cover(design).rows(); }

}  // namespace assay::harness

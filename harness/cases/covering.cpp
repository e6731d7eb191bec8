// Covering designs: few cases in which every wanted combination of levels occurs.
// Long because the search, what it has covered and how it completes a row share one state.
#include "harness/cases/covering.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/mix.h"

namespace assay::harness {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(base::next_random(state_) % count); }

  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

constexpr std::size_t kPartBits = 16;

// Appends one part to a combination of lower indices. Never 0, so that combinations of different sizes differ.
constexpr Combination joined(Combination combination, std::size_t index, int value) {
  return (combination << kPartBits) | (static_cast<Combination>(index + 1) << 8U) | static_cast<Combination>(value);
}

constexpr std::size_t kLargestCombination = 3;

std::size_t combination_size(const CoveringDesign& design) { return std::min(design.strength, kLargestCombination); }

// Completes the open factors of `row`, in ascending order. Returns false, and leaves `row` unchanged, if there is no completion.
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

// Whether rows can be completed. Neighbouring questions of a search mostly have the same answer: the last completion, with the factors that
// are set now, is tried before others are searched for, which asks for every open factor.
class Completions {
 public:
  explicit Completions(const CoveringDesign& design) : design_(design) {}

  bool exists_of(const Row& row) {
    if (!last_.empty()) {
      Row candidate = last_;
      for (std::size_t factor = 0; factor < row.size(); ++factor) {
        if (row[factor] >= 0) candidate[factor] = row[factor];
      }
      if (design_.allowed(candidate)) {
        last_ = std::move(candidate);
        return true;
      }
    }
    Row completed = row;
    if (!complete(design_, completed)) return false;
    last_ = std::move(completed);
    return true;
  }

 private:
  const CoveringDesign& design_;
  Row last_;
};

// Calls visit(row) for every way to set the factors of `factors` from `next` on, other factors unchanged, that can be completed.
template <typename Visit>
void for_each_setting(const CoveringDesign& design, Completions& completions, std::span<const std::size_t> factors, Row& row,
                      const Visit& visit) {
  if (!design.allowed(row)) return;
  if (factors.empty()) {
    if (completions.exists_of(row)) visit(row);
    return;
  }
  const std::size_t factor = factors.front();
  for (int level = 0; level < design.levels[factor]; ++level) {
    row[factor] = level;
    for_each_setting(design, completions, factors.subspan(1), row, visit);
  }
  row[factor] = -1;
}

// Calls visit(row) for every choice of `size` factors and their levels that can be completed, with the other factors open.
template <typename Visit>
void for_each_possible(const CoveringDesign& design, std::size_t size, const Visit& visit) {
  Row row(design.levels.size(), -1);
  Completions completions(design);
  std::vector<std::size_t> chosen;
  const auto choose = [&](const auto& self, std::size_t from) -> void {
    if (chosen.size() == size) {
      for_each_setting(design, completions, chosen, row, visit);
      return;
    }
    for (std::size_t factor = from; factor < row.size(); ++factor) {
      chosen.push_back(factor);
      self(self, factor + 1);
      chosen.pop_back();
    }
  };
  choose(choose, 0);
}

// The combinations of levels that are not met yet. Every step of the search looks them up, so each combination is stored in all its
// orders and nothing has to be sorted.
class OpenLevels {
 public:
  explicit OpenLevels(const CoveringDesign& design) : size_(combination_size(design)) {
    for (const int levels : design.levels) {
      offsets_.push_back(total_);
      total_ += static_cast<std::size_t>(levels);
    }
    std::size_t entries = total_ * total_;
    if (size_ == 3) entries *= total_;
    open_.assign(entries, false);
    for_each_possible(design, size_, [&](const Row& row) {
      starts_.push_back(row);
      mark(row, true);
    });
  }

  // One partial row per possible combination, met or not.
  [[nodiscard]] const std::vector<Row>& starts() const { return starts_; }

  // Whether the combination of a partial row is not met yet.
  [[nodiscard]] bool is_open(const Row& start) const {
    std::size_t index = 0;
    for (std::size_t factor = 0; factor < start.size(); ++factor) {
      if (start[factor] >= 0) index = index * total_ + cell(factor, start[factor]);
    }
    return open_[index];
  }

  // The number of open combinations that `level` would meet together with the factors that are set.
  [[nodiscard]] int gain(const Row& row, std::size_t factor, int level) const {
    const std::size_t base = cell(factor, level) * total_;
    int count = 0;
    for (std::size_t a = 0; a < row.size(); ++a) {
      if (a == factor || row[a] < 0) continue;
      const std::size_t pair = base + cell(a, row[a]);
      if (size_ == 2) {
        count += open_[pair] ? 1 : 0;
        continue;
      }
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        if (b != factor && row[b] >= 0 && open_[pair * total_ + cell(b, row[b])]) ++count;
      }
    }
    return count;
  }

  void erase(const Row& row) { mark(row, false); }

 private:
  [[nodiscard]] std::size_t cell(std::size_t factor, int level) const { return offsets_[factor] + static_cast<std::size_t>(level); }

  void mark(const Row& row, bool open) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = 0; b < row.size(); ++b) {
        if (a == b || row[a] < 0 || row[b] < 0) continue;
        const std::size_t pair = cell(a, row[a]) * total_ + cell(b, row[b]);
        if (size_ == 2) {
          open_[pair] = open;
          continue;
        }
        for (std::size_t c = 0; c < row.size(); ++c) {
          if (c != a && c != b && row[c] >= 0) open_[pair * total_ + cell(c, row[c])] = open;
        }
      }
    }
  }

  std::size_t size_;
  std::vector<std::size_t> offsets_;
  std::size_t total_ = 0;
  std::vector<bool> open_;
  std::vector<Row> starts_;
};

using Classes = std::vector<int>;

// Rows in which the class factors are set, by their classes.
std::map<Classes, std::vector<Row>> class_rows(const CoveringDesign& design) {
  std::map<Classes, std::vector<Row>> rows;
  Row row(design.levels.size(), -1);
  Completions completions(design);
  for_each_setting(design, completions, design.class_factors, row, [&](const Row& full) { rows[design.classify(full)].push_back(full); });
  return rows;
}

// Calls visit(classes, levels) for every way to extend `classes` by levels of the level_classes.
template <typename Visit>
void for_each_level_class(const CoveringDesign& design, const Classes& classes, const Visit& visit) {
  Classes all = classes;
  const auto extend = [&](const auto& self, std::size_t next) -> void {
    if (next == design.level_classes.size()) {
      visit(all);
      return;
    }
    for (int level = 0; level < design.levels[design.level_classes[next]]; ++level) {
      all.push_back(level);
      self(self, next + 1);
      all.pop_back();
    }
  };
  extend(extend, 0);
}

std::vector<Combination> triples_of(const CoveringDesign& design, std::span<const int> classes) {
  const std::size_t first_level = classes.size() - design.level_classes.size();
  std::vector<Combination> triples;
  for (std::size_t a = 0; a < classes.size(); ++a) {
    for (std::size_t b = a + 1; b < classes.size(); ++b) {
      for (std::size_t c = b + 1; c < classes.size(); ++c) {
        if (classes[a] < 0 || classes[b] < 0 || classes[c] < 0) continue;
        if (c >= first_level && b >= design.structural_classes) continue;
        triples.push_back(joined(joined(joined(0, a, classes[a]), b, classes[b]), c, classes[c]));
      }
    }
  }
  return triples;
}

class Cover {
 public:
  Cover(const CoveringDesign& design, std::vector<Row> given)
      : design_(design), completions_(design), random_(design.seed), open_(design), rows_(std::move(given)) {
    for (const Row& row : rows_) open_.erase(row);
  }

  std::vector<Row> rows() {
    if (design_.classify) cover_triples();
    for (const Row& start : open_.starts()) {
      if (open_.is_open(start)) add(best_of([&] { return start; }));
    }
    return std::move(rows_);
  }

 private:
  // More candidates make designs a few percent smaller, but take more time.
  [[nodiscard]] int candidates() const { return design_.strength == 2 ? 24 : 3; }

  // Fills the open factors in random order. Each gets the level that meets most open combinations, and of several such levels the
  // cheapest; with cheapest_first, the other way round. Remaining ties are resolved at random.
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
      std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, int>> ranked;  // (combinations met, saving) or the reverse; level
      for (const int level : levels) {
        row[factor] = level;
        const std::int64_t saving = design_.cost ? -design_.cost(row) : 0;
        row[factor] = -1;
        const std::int64_t gain = open_.gain(row, factor, level);
        ranked.emplace_back(design_.cheapest_first ? std::pair(saving, gain) : std::pair(gain, saving), level);
      }
      // Insertion sort keeps the random order of equal elements. std::sort would not keep it, nor give the same order on every machine.
      for (std::size_t i = 1; i < ranked.size(); ++i) {
        for (std::size_t k = i; k > 0 && ranked[k].first > ranked[k - 1].first; --k) std::swap(ranked[k], ranked[k - 1]);
      }
      // `row` can be completed, so one of the levels is possible.
      for (const auto& [rank, level] : ranked) {
        row[factor] = level;
        if (completions_.exists_of(row)) break;
      }
    }
    return row;
  }

  int new_combinations(const Row& row) const {
    int count = 0;
    for (std::size_t factor = 0; factor < row.size(); ++factor) count += open_.gain(row, factor, row[factor]);
    return count;  // each counts once per part
  }

  // The best of several ways to fill the result of start().
  template <typename Start>
  Row best_of(const Start& start) {
    Row best = fill(start());
    int most = new_combinations(best);
    for (int candidate = 1; candidate < candidates(); ++candidate) {
      Row row = fill(start());
      if (const int count = new_combinations(row); count > most) {
        best = std::move(row);
        most = count;
      }
    }
    return best;
  }

  void add(const Row& row) {
    open_.erase(row);
    rows_.push_back(row);
  }

  // Chooses a small set of possible class combinations that contains all triples. Each becomes a row.
  void cover_triples() {
    const std::map<Classes, std::vector<Row>> representatives = class_rows(design_);
    struct Candidate {
      const std::vector<Row>* rows;
      Classes levels;  // of the level_classes
      std::vector<Combination> triples;
    };
    std::vector<Candidate> candidates;
    Combinations open;
    for (const auto& [classes, rows] : representatives) {
      for_each_level_class(design_, classes, [&](const Classes& all) {
        const auto own = all.begin() + static_cast<std::ptrdiff_t>(classes.size());
        candidates.push_back({&rows, Classes(own, all.end()), triples_of(design_, all)});
        open.insert(candidates.back().triples.begin(), candidates.back().triples.end());
      });
    }
    for (const Row& row : rows_) {
      Classes classes = design_.classify(row);
      for (const std::size_t factor : design_.level_classes) classes.push_back(row[factor]);
      for (const Combination triple : triples_of(design_, classes)) open.erase(triple);
    }
    random_.shuffle(candidates);

    // Lazy greedy choice: the number of triples that a candidate adds can only shrink, so an old figure is an upper limit.
    std::vector<std::pair<std::size_t, std::size_t>> heap;  // (triples added when last counted, candidate)
    for (std::size_t i = 0; i < candidates.size(); ++i) heap.emplace_back(candidates[i].triples.size(), i);
    std::ranges::make_heap(heap);
    while (!open.empty()) {
      std::ranges::pop_heap(heap);
      auto& [limit, index] = heap.back();
      const Candidate& candidate = candidates[index];
      const auto count = static_cast<std::size_t>(
          std::ranges::count_if(candidate.triples, [&](const Combination triple) { return open.contains(triple); }));
      if (count < limit) {
        limit = count;
        std::ranges::push_heap(heap);
        continue;
      }
      for (const Combination triple : candidate.triples) open.erase(triple);
      add(best_of([&] {
        Row start = (*candidate.rows)[random_.below(candidate.rows->size())];
        for (std::size_t i = 0; i < candidate.levels.size(); ++i) start[design_.level_classes[i]] = candidate.levels[i];
        return start;
      }));
      heap.pop_back();
    }
  }

  const CoveringDesign& design_;
  Completions completions_;
  Random random_;
  OpenLevels open_;
  std::vector<Row> rows_;
};

// All allowed rows, without the given ones.
std::vector<Row> all_rows(const CoveringDesign& design, std::vector<Row> given) {
  std::vector<std::size_t> factors(design.levels.size());
  std::iota(factors.begin(), factors.end(), std::size_t{0});
  Row row(design.levels.size(), -1);
  Completions completions(design);
  const std::size_t known = given.size();
  for_each_setting(design, completions, factors, row, [&](const Row& full) {
    const auto end = given.begin() + static_cast<std::ptrdiff_t>(known);
    if (std::find(given.begin(), end, full) == end) given.push_back(full);
  });
  return given;
}

}  // namespace

std::vector<CombinationPart> unpack(Combination combination) {
  std::vector<CombinationPart> parts;
  for (; combination != 0; combination >>= kPartBits) {
    parts.insert(parts.begin(), {static_cast<std::size_t>((combination >> 8U) & 0xffU) - 1, static_cast<int>(combination & 0xffU)});
  }
  return parts;
}

void add_levels(std::span<const std::vector<int>> row, std::size_t size, Combinations& met) {
  const auto choose = [&](const auto& self, std::size_t from, std::size_t left, Combination so_far) -> void {
    if (left == 0) {
      met.insert(so_far);
      return;
    }
    for (std::size_t factor = from; factor < row.size(); ++factor) {
      for (const int level : row[factor]) self(self, factor + 1, left - 1, joined(so_far, factor, level));
    }
  };
  choose(choose, 0, size, 0);
}

void add_triples(const CoveringDesign& design, std::span<const int> classes, Combinations& met) {
  for (const Combination triple : triples_of(design, classes)) met.insert(triple);
}

Combinations possible_levels(const CoveringDesign& design) {
  Combinations possible;
  for_each_possible(design, combination_size(design), [&](const Row& row) {
    Combination combination = 0;
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (row[factor] >= 0) combination = joined(combination, factor, row[factor]);
    }
    possible.insert(combination);
  });
  return possible;
}

Combinations possible_triples(const CoveringDesign& design) {
  Combinations possible;
  if (!design.classify) return possible;
  for (const auto& [classes, rows] : class_rows(design)) {
    for_each_level_class(design, classes, [&](const Classes& all) { add_triples(design, all, possible); });
  }
  return possible;
}

std::vector<Row> covering_rows(const CoveringDesign& design, std::vector<Row> given) {
  if (design.strength >= design.levels.size()) return all_rows(design, std::move(given));
  return Cover(design, std::move(given)).rows();
}

}  // namespace assay::harness

// Sums over tiles of keys and values, in a fixed order.
#include "oracles/attention_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/tally.h"

namespace assay::oracles {
namespace {

// Operations apply to each of the eight elements, for any vector width of the processor.
using EightLanes = double __attribute__((vector_size(kTile * sizeof(double))));
using EightLaneBits = std::uint64_t __attribute__((vector_size(kTile * sizeof(double))));

void load_lanes(EightLanes& lanes, const double* place) { std::memcpy(&lanes, place, sizeof(lanes)); }

void drop_signs(EightLanes& lanes) {
  EightLaneBits bits;
  std::memcpy(&bits, &lanes, sizeof(bits));
  bits &= ~(std::uint64_t{1} << 63U);
  std::memcpy(&lanes, &bits, sizeof(bits));
}

std::array<double, kTile> stored_lanes(const EightLanes& lanes) {
  std::array<double, kTile> result;
  std::memcpy(result.data(), &lanes, sizeof(lanes));
  return result;
}

// How often the most frequent number other than 0 occurs, at least 1.
double most_equal(std::span<const double> sizes, base::Tally& tally) {
  tally.begin(sizes.size());
  std::size_t most = 1;
  for (const double size : sizes) {
    if (size > 0.0) most = std::max(most, tally.add(size));
  }
  return static_cast<double>(most);
}

std::size_t tiles_for(std::size_t count) { return (count + kTile - 1) / kTile; }

}  // namespace

KeyTiles::KeyTiles(const Reals& numbers, std::size_t first, std::size_t count, std::size_t dim, bool counts)
    : dim_(dim), tiles_(tiles_for(count) * dim * kTile) {
  for (std::size_t row = 0; row < count; ++row) {
    double* const place = tiles_.data() + row / kTile * dim * kTile + row % kTile;
    for (std::size_t c = 0; c < dim; ++c) place[c * kTile] = numbers[first + row * dim + c];
  }
  if (!counts) return;
  base::Tally tally;
  std::vector<double> sizes(dim);
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t c = 0; c < dim; ++c) sizes[c] = std::abs(numbers[first + row * dim + c]);
    alike_.push_back(most_equal(sizes, tally));
  }
  sizes.resize(count);
  for (std::size_t c = 0; c < dim; ++c) {
    for (std::size_t row = 0; row < count; ++row) sizes[row] = std::abs(numbers[first + row * dim + c]);
    const double equal = most_equal(sizes, tally);
    if (equal > 1.0) shared_ = std::max(shared_, equal / static_cast<double>(count));
  }
}

KeyTiles::Products KeyTiles::products(std::span<const double> query, std::size_t tile) const {
  const double* place = tiles_.data() + tile * dim_ * kTile;
  EightLanes k, sum = {}, squares = {}, prefix = {}, blocks = {}, before = {};
  std::size_t looks = 0;
  for (std::size_t begin = 0; begin < dim_; begin += kDotStep, ++looks) {
    const std::size_t end = std::min(begin + kDotStep, dim_);
    for (std::size_t c = begin; c < end; ++c, place += kTile) {
      load_lanes(k, place);
      const EightLanes product = query[c] * k;
      sum += product;
      squares += product * product;
    }
    prefix += sum * sum;
    before = sum - before;
    blocks += before * before;
    before = sum;
  }
  prefix /= static_cast<double>(looks);
  return {stored_lanes(sum), stored_lanes(squares), stored_lanes(prefix), stored_lanes(blocks)};
}

ValueTiles::ValueTiles(const Reals& numbers, std::size_t first, std::size_t count, std::size_t dim, bool counts)
    : rows_(count), tiles_(tiles_for(dim) * count * kTile), finite_(count, 1), largest_(dim), sizes_(dim) {
  for (std::size_t row = 0; row < count; ++row) {
    bool is_finite = true;
    for (std::size_t c = 0; c < dim; ++c) {
      const double value = numbers[first + row * dim + c];
      is_finite = is_finite && std::isfinite(value);
      tiles_[(c / kTile * count + row) * kTile + c % kTile] = value;
    }
    finite_[row] = is_finite ? 1 : 0;
    for (std::size_t c = 0; is_finite && c < dim; ++c) {
      const double size = std::abs(tiles_[(c / kTile * count + row) * kTile + c % kTile]);
      largest_[c] = std::max(largest_[c], size);
      sizes_[c] += size;
    }
  }
  if (!counts) return;
  base::Tally tally;
  std::vector<double> column(count);
  for (std::size_t c = 0; c < dim; ++c) {
    for (std::size_t row = 0; row < count; ++row) column[row] = finite_[row] == 0 ? 0.0 : std::abs(numbers[first + row * dim + c]);
    alike_.push_back(most_equal(column, tally));
  }
}

ValueTiles::Sums ValueTiles::sums(std::span<const KeyTerm> keys, std::size_t tile) const {
  const double* const rows = tiles_.data() + tile * rows_ * kTile;
  EightLanes v, size, magnitude = {}, small = {}, square = {}, squares = {}, error = {}, errors = {}, prefix = {}, halves = {}, mean = {};
  EightLanes most = {};
  for (std::size_t lane = 0; lane < kTile && tile * kTile + lane < largest_.size(); ++lane)
    most[lane] = kFloatUnit * largest_[tile * kTile + lane];
  EightLanes value[2] = {};  // of every second key
  std::size_t looks = 0;
  for (std::size_t begin = 0; begin < keys.size(); begin += kKeyStep, ++looks) {
    const std::size_t end = std::min(begin + kKeyStep, keys.size());
    const auto add = [&](const KeyTerm& term, EightLanes& sum) {
      load_lanes(v, rows + term.key * kTile);
      const EightLanes weighted = term.weight * v;
      const EightLanes off = term.error * v;
      sum += weighted;
      size = weighted;
      drop_signs(size);
      magnitude += size;
      const EightLanes lost = term.small * most;
      small += size < lost ? size : lost;
      square += weighted * v;
      squares += weighted * weighted;
      error += off;
      errors += off * v;
    };
    std::size_t t = begin;
    for (; t + 2 <= end; t += 2) {
      add(keys[t], value[0]);
      add(keys[t + 1], value[1]);
    }
    if (t < end) add(keys[t], value[0]);
    const EightLanes all = value[0] + value[1];
    prefix += all * all;
    mean += all;
    halves += value[0] * value[0] + value[1] * value[1];
  }
  if (looks != 0) {
    prefix /= static_cast<double>(looks);
    mean /= static_cast<double>(looks);
    halves /= 2.0 * static_cast<double>(looks);
  }
  // A sum from the last key is all less the sum from the first.
  const EightLanes all = value[0] + value[1];
  Sums sums{stored_lanes(all),    stored_lanes(magnitude), stored_lanes(small),
            stored_lanes(square), stored_lanes(squares),   stored_lanes(error),
            stored_lanes(errors), stored_lanes(prefix),    stored_lanes(all * all - 2.0 * all * mean + prefix)};
  const std::array<double, kTile> of_halves = stored_lanes(halves);
  for (std::size_t lane = 0; lane < kTile; ++lane) sums.prefix[lane] = std::max(sums.prefix[lane], of_halves[lane]);
  return sums;
}

}  // namespace assay::oracles

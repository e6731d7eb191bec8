// Keys and values in tiles of eight, and the sums over them that an exact attention and its bound need. Internal to oracles/.
//
// Every sum runs in one fixed order, key after key or coordinate after coordinate, for any width of the processor's vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracles/any_attention.h"

namespace assay::oracles {

inline constexpr std::size_t kTile = 8;

// Coordinates of a dot product, and keys of an output, between two looks at the partial sum.
inline constexpr std::size_t kDotStep = 16;
inline constexpr std::size_t kKeyStep = 32;

// Rows of keys; a tile holds eight of them, coordinate after coordinate.
class KeyTiles {
 public:
  // `count` rows of `dim` numbers, the first of which is number `first`. `counts` says whether equal ones are counted.
  KeyTiles(const Reals& numbers, std::size_t first, std::size_t count, std::size_t dim, bool counts);

  // Eight dot products with a query.
  struct Products {
    std::array<double, kTile> sum;      // of the products
    std::array<double, kTile> squares;  // of their squares
    std::array<double, kTile> prefix;   // mean square of the partial sums, in the order of the coordinates
    std::array<double, kTile> blocks;   // sum of the squares of the sums of kDotStep products each
  };
  [[nodiscard]] Products products(std::span<const double> query, std::size_t tile) const;

  // The most coordinates of a row that are equal but for their signs, and the largest share of the rows that are so in some coordinate;
  // 1 and 0 where all are different, or not counted.
  [[nodiscard]] double alike(std::size_t row) const { return alike_.empty() ? 1.0 : alike_[row]; }
  [[nodiscard]] double shared() const { return shared_; }

 private:
  std::size_t dim_;
  std::vector<double> tiles_;
  std::vector<double> alike_;
  double shared_ = 0;
};

// A visible key in the sums over values.
struct KeyTerm {
  std::size_t key;
  double weight;  // pi_t
  double error;   // the square of how far the weight may be off
  double small;   // if a sum may not notice the weight: the weight of all keys; else 0
};

// Rows of values; a tile holds eight coordinates of them, row after row.
class ValueTiles {
 public:
  ValueTiles(const Reals& numbers, std::size_t first, std::size_t count, std::size_t dim, bool counts);

  struct Sums {
    std::array<double, kTile> value;      // sum pi v
    std::array<double, kTile> magnitude;  // sum pi |v|
    std::array<double, kTile> small;      // sum min(pi |v|, u max |v| small) of the keys that a sum may not notice
    std::array<double, kTile> square;     // sum pi v^2
    std::array<double, kTile> squares;    // sum pi^2 v^2
    std::array<double, kTile> error;      // sum e v
    std::array<double, kTile> errors;     // sum e v^2
    std::array<double, kTile> prefix;     // mean square of the partial sums of pi v: key after key, or every second key, if larger
    std::array<double, kTile> suffix;     // the same key after key from the last one
  };
  [[nodiscard]] Sums sums(std::span<const KeyTerm> keys, std::size_t tile) const;

  [[nodiscard]] bool is_finite(std::size_t row) const { return finite_[row] != 0; }
  // Over all rows that are finite: the largest |v| and the sum of |v| of a coordinate.
  [[nodiscard]] double largest(std::size_t coordinate) const { return largest_[coordinate]; }
  [[nodiscard]] double size(std::size_t coordinate) const { return sizes_[coordinate]; }
  // The most rows that are equal in it but for their signs; 1 where not counted.
  [[nodiscard]] double alike(std::size_t coordinate) const { return alike_.empty() ? 1.0 : alike_[coordinate]; }

 private:
  std::size_t rows_;
  std::vector<double> tiles_;
  std::vector<std::uint8_t> finite_;
  std::vector<double> largest_, sizes_, alike_;
};

}  // namespace assay::oracles

// Exact attention of any shape over real numbers, however they are stored, with a bound for every output element. The bound is statistical:
// it holds for any order of the sums, and a correct kernel exceeds it with negligible probability (README.md, "Any attention").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "oracles/arithmetic.h"
#include "oracles/expected.h"

namespace assay::oracles {

enum class EmptyRow : std::uint8_t { zero, nan, any };  // what the output of a row is that sees nothing
enum class LogBase : std::uint8_t { none, natural, two };

struct AnyAttentionShape {
  std::size_t batches = 0;            // B
  std::size_t heads = 0;              // H
  std::size_t kv_heads = 0;           // G, divides H; query head h reads key/value head h / (H / G)
  std::size_t queries = 0;            // nq
  std::size_t kv_rows = 0;            // n, rows of a key/value head
  std::size_t head_dim = 0;           // Dk
  std::size_t value_dim = 0;          // Dv
  std::vector<std::size_t> kv_len;    // [B], each up to n, 0 allowed: what lies behind is never looked at. Empty: n for each
  std::vector<std::size_t> kv_batch;  // [B]: which of the batches of k and v each batch reads. Empty: its own
  double scale = 1.0;
  double softcap = 0.0;  // 0: none
  EmptyRow empty_row = EmptyRow::zero;
  LogBase lse = LogBase::none;  // what `AnyExpected::lse` is
};

// Exact real numbers, held as float or double.
class Reals {
 public:
  Reals() = default;
  Reals(std::span<const float> values) : floats_(values) {}                            // NOLINT(google-explicit-constructor)
  Reals(std::span<const double> values) : doubles_(values) {}                          // NOLINT(google-explicit-constructor)
  Reals(const std::vector<float>& values) : floats_(values) {}                         // NOLINT(google-explicit-constructor)
  Reals(const std::vector<double>& values) : doubles_(values) {}                       // NOLINT(google-explicit-constructor)
  [[nodiscard]] std::size_t size() const { return floats_.size() + doubles_.size(); }  // one of them is empty
  [[nodiscard]] double operator[](std::size_t i) const { return floats_.empty() ? doubles_[i] : static_cast<double>(floats_[i]); }

 private:
  std::span<const float> floats_;
  std::span<const double> doubles_;
};

// Fills what is added to the scores of one query: `bias` has an element for each of the batch's keys and is 0 on entry. Minus infinity
// hides the key: it has no weight, and its row is never looked at.
using BiasRow = std::function<void(std::size_t batch, std::size_t head, std::size_t query, std::span<double> bias)>;

struct AnyAttentionInputs {
  Reals q;            // [B, H, nq, Dk]
  Reals k;            // [kv batches, G, n, Dk]
  Reals v;            // [kv batches, G, n, Dv]
  Reals sinks = {};   // [H], or empty
  BiasRow bias = {};  // may be empty: no bias, and every key is seen
};

// What a kernel may do beyond the formula in float. Every part only widens the bound: a kernel that is more exact passes too. q times the
// scale rounded to float, log2(e) folded into the scale, and tanh by way of exp are always allowed.
struct AnyAttentionAccuracy {
  ArithmeticProfile profile = simulator_profile();
  std::optional<std::size_t> dot_depth = {};  // roundings from a product to the finished dot product; default Dk, which any order has
  double bias_error = 0.0;  // of a bias that the kernel computes itself, relative, in units of 2^-24: slope times distance

  OutputFormat keys = float_format();         // to which keys are rounded before their products
  OutputFormat values = float_format();       // and values
  OutputFormat query = float_format();        // to which q times the scale is rounded
  OutputFormat dot = float_format();          // in which the products of q and k are summed
  OutputFormat scores = float_format();       // in which they are stored, once, before or after softcap and bias
  OutputFormat weights = float_format();      // of the exponentials, before they multiply the values
  OutputFormat accumulator = float_format();  // of the running output
  std::size_t accumulator_keys = 1;           // keys that it takes up between two roundings
  OutputFormat statistics = float_format();   // of the running maximum and sum
  std::vector<OutputFormat> stores = {};      // further roundings of the output on its way, as of partial results, each to its format

  OutputFormat output = float_format();
  OutputFormat lse_output = float_format();
};

// The same with every format float: for a kernel's shadow, which converts nothing.
[[nodiscard]] AnyAttentionAccuracy without_conversions(AnyAttentionAccuracy accuracy);

// The unit roundoff of the coarsest declared format, output included: bounds are informative up to a few of it.
[[nodiscard]] double weakest_unit(const AnyAttentionAccuracy& accuracy);

struct AnyExpected {
  Expected output;  // [B, H, nq, Dv]
  // [B, H, nq], empty without `shape.lse`. A row without any weight has minus infinity, with a bound of 0.
  Expected lse;
  // [B, H, nq]: 1 for rows that see no key and no sink. Their output is 0 (zero), NaN with a bound of 0 (nan), or 0 with an infinite bound
  // (any). With a sink and no key the output is exactly 0, whatever `empty_row` says.
  std::vector<std::uint8_t> is_empty;
};

// Throws std::invalid_argument with the offending values if shape and spans do not fit together, or if a q, a sink, a bias other than minus
// infinity, a score, or a visible key or value is not finite.
[[nodiscard]] AnyExpected any_attention(const AnyAttentionShape& shape, const AnyAttentionInputs& inputs,
                                        const AnyAttentionAccuracy& accuracy = {});

}  // namespace assay::oracles

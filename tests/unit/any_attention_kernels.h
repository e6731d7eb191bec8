// Attention in float as kernels of several shapes compute it, and inputs for it, to hold the bound of any_attention() against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oracles/any_attention.h"

namespace assay::tests {

struct AnyScene {
  oracles::AnyAttentionShape shape;
  std::vector<float> q, k, v;
  std::vector<float> sinks;
  std::vector<float> bias;  // [B, H, nq, n], or empty; minus infinity hides

  [[nodiscard]] oracles::AnyAttentionInputs inputs() const;
  [[nodiscard]] oracles::AnyExpected exact(const oracles::AnyAttentionAccuracy& accuracy = {}) const;
};

// What the rows of a scene look like. Those after `gauss` are made to break the model of independent roundings.
enum class AnyRows : std::uint8_t {
  gauss,
  positive,       // values are positive
  equal_keys,     // all scores are equal
  equal_all,      // values too
  few_keys,       // five different keys with their values, in turn
  needle,         // one key has nearly all of the weight
  ascending,      // scores grow with the key
  descending,     // scores fall with the key
  drift,          // values grow with the key
  flip,           // values are positive in the first half of the keys and negative in the second
  constant_rows,  // the coordinates of a key are equal, those of a query too
  block_signs,    // and the keys change sign in the middle
  alternating,    // values change sign with every key
  loud,           // scores of some hundreds
  common,         // scores of 3,000, and differences of some units
  faint,          // one key far above many equal ones
};
inline constexpr std::size_t kAnyRows = 16;
[[nodiscard]] const char* name_of(AnyRows rows);

[[nodiscard]] AnyScene any_scene(const oracles::AnyAttentionShape& shape, AnyRows rows, std::uint32_t seed);

enum class AnyMistake : std::uint8_t {
  none,
  drops_key,         // key `which` of each row
  exchanges_values,  // of keys `which` and `which` + 1
  no_sink,
  sink_has_value,  // of the first key
  cap_after_bias,
  bias_of_next_key,
  scale_twice,
  kv_head_by_modulo,
  no_rescale,
};

struct AnyKernel {
  enum class Dot : std::uint8_t { in_turn, lanes, backwards, blocks };
  Dot dot = Dot::in_turn;
  std::size_t chunk = 1;  // keys between two looks at the maximum; 0: the maximum of all first
  std::size_t parts = 1;  // keys are dealt to so many parts, which are merged
  bool deals_in_turn = false;
  bool merges_in_tree = false;
  bool normalises_parts = false;
  bool backwards = false;  // over the keys
  bool scales_query = false;
  bool base_two = false;
  bool tanh_by_exp = false;
  bool divides = false;  // by the sum; else times its reciprocal
  bool sums_rounded_weights = true;
  int exp_steps = 0;  // every exponential is so many floats off
  oracles::OutputFormat keys = oracles::float_format();
  oracles::OutputFormat values = oracles::float_format();
  oracles::OutputFormat query = oracles::float_format();
  oracles::OutputFormat dots = oracles::float_format();
  oracles::OutputFormat scores = oracles::float_format();
  oracles::OutputFormat weights = oracles::float_format();
  oracles::OutputFormat accumulator = oracles::float_format();
  oracles::OutputFormat statistics = oracles::float_format();
  oracles::OutputFormat partials = oracles::float_format();
  std::size_t accumulator_keys = 1;
  AnyMistake mistake = AnyMistake::none;
  std::size_t which = 0;
};

struct AnyOutput {
  std::vector<float> output, lse;
};
[[nodiscard]] AnyOutput run_any_kernel(const AnyScene& scene, const AnyKernel& kernel = {});

// `value` in that format.
[[nodiscard]] float in_format(const oracles::OutputFormat& format, float value);

// The largest error / bound. A NaN counts as infinite.
[[nodiscard]] double largest_ratio(const std::vector<float>& output, const oracles::Expected& exact,
                                   const oracles::OutputFormat& format = oracles::float_format());
// The median of bound / magnitude.
[[nodiscard]] double median_sharpness(const oracles::Expected& exact);

}  // namespace assay::tests

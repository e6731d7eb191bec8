// Exact decode attention over a TurboQuant cache, computed from the stored bits, with a bound for every output element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracles/arithmetic.h"
#include "oracles/expected.h"
#include "oracles/partials.h"

namespace assay::oracles {

enum class MaskType : std::uint32_t { none = 0, causal = 1, sliding_window = 2 };

// One query token per head. Positions are counted by age: 0 is the newest. The ring maps them to slots: the oldest of the kv_len
// positions is at slot ring_start, each newer one a slot further, modulo kv_capacity.
struct DecodeShape {
  std::size_t heads = 0;        // H
  std::size_t kv_heads = 0;     // G, divides H; query head h reads key/value head h / (H / G)
  std::size_t head_dim = 0;     // D, 256 or 512
  std::size_t kv_len = 0;       // n, >= 1
  std::size_t kv_capacity = 0;  // cap, >= n
  std::size_t ring_start = 0;   // < cap; 0 unless n == cap or partial_ring
  MaskType mask_type = MaskType::none;
  std::size_t sliding_window = 0;  // W in positions; only with MaskType::sliding_window; 0 means no window
  float scale = 1.0F;
  float softcap = 0.0F;         // a score s becomes softcap tanh(s / softcap); 0: none
  bool partial_ring = false;    // whether ring_start may be other than 0 before the ring is full
  bool fused_rotation = false;  // q arrives as it is, and the kernel rotates it (FwhtMode::signs_first) before the rounding to half
};

// How a value is computed from norm and centroid. With D = 256 both layouts have one norm per position and value = c * norm / sqrt(256).
enum class NormLayout {
  one_per_position,  // norms [G, cap];    value = c * norm / sqrt(D)
  one_per_block,     // norms [G, cap, D/256]; with D = 512 value = c * norm_b / scale_factor_d512, b = coordinate / 256
};

// The cache as stored. 4 bits: codes [G, cap, D/2], coordinate 2i in the low nibble of byte i. 5, 6, 8 bits: codes [G, cap, D].
struct TurboQuantCache {
  int bits = 4;
  NormLayout norm_layout = NormLayout::one_per_position;
  float scale_factor_d512 = 1.0F;
  std::span<const std::uint8_t> k_codes, v_codes;
  std::span<const float> k_norms, v_norms;
};

struct AttentionAccuracy {
  ArithmeticProfile profile = simulator_profile();
  // Number of roundings from a product q_i k_i to the finished dot product. Default D, which holds for every order of summation; a variant
  // may declare the smaller depth of its own tree. Values above D are ignored.
  std::optional<std::size_t> dot_depth;
  OutputFormat output = float_format();

  // Declared storage that is weaker than the contract's float (README.md, "Weaker storage"). It adds at most 8 weakest_unit() times the
  // element's magnitude to the bound.
  OutputFormat accumulator = float_format();  // of the running output, rounded after each rescale and each accumulator_keys
  std::size_t accumulator_keys = 32;          // keys of a chunk that it takes up between two roundings, 1 .. 32
  std::vector<OutputFormat> stores = {};      // further roundings of the output on its way, each to its format

  // To which keys and values are rounded between dequantisation and their products.
  OutputFormat keys = float_format(), values = float_format();

  // Whether q is rounded to the format of the contract: half, or bfloat in dense attention.
  bool rounds_queries = true;
};

// The same without format conversions: q is used as float, and keys, values, output, accumulator and stores are float. This is the
// reference for shadows, which convert nothing either. The bound is that of float only; it also allows that constants and host-computed
// values are rounded to float.
[[nodiscard]] AttentionAccuracy without_conversions(AttentionAccuracy accuracy);

// The unit roundoff of the coarsest declared format, the output's own included.
[[nodiscard]] double weakest_unit(const AttentionAccuracy& accuracy);

// Visible slots, newest first: age a is visible if a < n and, with a window W > 0, a < W.
[[nodiscard]] std::vector<std::size_t> visible_slots(const DecodeShape& shape);

// Bytes of codes and number of norms (for K and for V each) that a cache of this shape holds.
[[nodiscard]] std::size_t cache_code_bytes(const DecodeShape& shape, int bits);
[[nodiscard]] std::size_t norm_count(const DecodeShape& shape, NormLayout layout);

// The exact attention output [H, D] in the rotated domain. `q` is float [H, D], already rotated unless shape.fused_rotation; the
// contract's rounding of q to half happens inside. Where a fused rotation in float may come out on either side of a rounding boundary of
// half, the bound covers both halves; where q is not rounded (without_conversions), it covers the rotation's float error. Only visible
// positions are read (and the norms, never the codes, of the others; those that are not finite are ignored). Throws
// std::invalid_argument with the offending values if shape, spans or value rule do not fit together, if a visible norm or a q is not
// finite, or if the rotated q leaves the domain |q| <= 65504.
[[nodiscard]] Expected decode_attention(const DecodeShape& shape, std::span<const float> q, const TurboQuantCache& cache,
                                        const AttentionAccuracy& accuracy = {});

// Conditions under which the mask value -65504 acts like minus infinity (the domain): every visible score is above -65400, and no invisible
// score of a position with a finite norm exceeds the largest visible one of its head by more than 65400.
struct DomainReport {
  double smallest_visible_score = 0;
  double largest_visible_score = 0;
  double largest_excess = 0;  // largest over heads of (invisible score - largest visible score of that head); -inf if none
  bool inside = true;
};
[[nodiscard]] DomainReport decode_domain(const DecodeShape& shape, std::span<const float> q, const TurboQuantCache& cache);

}  // namespace assay::oracles

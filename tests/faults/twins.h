// Faulty twins: copies of our variants with one planted mistake each, the kind that real kernels were shipped with.
//
// A twin is a row: what to replace in the variant's own kernel.metal, a case in which the mistake must be caught, as what and
// where, and a case in which it has no effect, so that the twin must pass. The tables are in families/<name>/twins.cpp, what the kernels
// for decode attention share in families/shared/decode_twins.cpp; a new twin touches one of them. No library has them.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string_view>

#include "harness/findings/verdict.h"
#include "harness/judge/judge.h"

namespace assay::tests {

// One element that was found wrong.
struct FaultyElement {
  std::size_t row = 0, coordinate = 0;  // head or row of the output, and the place in it
  harness::ElementFault fault = harness::ElementFault::none;
  double expected = 0, actual = 0;
};

// Where a mistake shows: what must hold for every faulty element, in words and as a test.
struct Where {
  std::string_view words = "anywhere";
  bool (*holds)(const FaultyElement& element) = [](const FaultyElement&) { return true; };
};

struct Caught {
  std::string_view case_words;  // of a case name, without the variant
  harness::Status status = harness::Status::failed;
  Where where = {};
  std::string_view reason = {};  // must be part of the verdict's reason
  std::size_t elements = 0;      // how many elements must be faulty; 0: at least one, or none if `where` does not speak of any
};

struct Quiet {
  std::string_view case_words;
  std::string_view schedule = {};  // the only one under which it passes; empty: the harness's own
};

struct Twin {
  std::string_view name;
  std::string_view planted;  // what is wrong with it, as one would say it in a review
  std::string_view from;     // occurs once in kernel.metal
  std::string_view to;
  Caught caught;
  Quiet quiet;
};

void PrintTo(const Twin& twin, std::ostream* stream);

[[nodiscard]] std::span<const Twin> decode_twins();      // of tq4_v1, tq4_v2, tqhb_v1 and tqhb_v2
[[nodiscard]] std::span<const Twin> block_norm_twins();  // of all of these but tq4_v1
[[nodiscard]] std::span<const Twin> tq4_twins();
[[nodiscard]] std::span<const Twin> tqhb_v1_twins();
[[nodiscard]] std::span<const Twin> tqhb_twins();
[[nodiscard]] std::span<const Twin> reduce_twins();
[[nodiscard]] std::span<const Twin> fwht_twins();
[[nodiscard]] std::span<const Twin> quantize4_twins();
[[nodiscard]] std::span<const Twin> quantizehb_twins();
[[nodiscard]] std::span<const Twin> dequantize_twins();
[[nodiscard]] std::span<const Twin> bf16_prefill_twins();
[[nodiscard]] std::span<const Twin> bf16_vec_twins();
[[nodiscard]] std::span<const Twin> attn_simd_twins();
[[nodiscard]] std::span<const Twin> attn_split_twins();
[[nodiscard]] std::span<const Twin> attn_blocks_twins();
[[nodiscard]] std::span<const Twin> attn_nwg_twins();
[[nodiscard]] std::span<const Twin> attn_paged_twins();
[[nodiscard]] std::span<const Twin> attn_tiles_twins();

}  // namespace assay::tests

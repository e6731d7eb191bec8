// A case: one variant at one point of its family's axes, with one fixture and one seed; and the name that replays it.
//
// Grammar of a name: words joined by '/'. The first is the variant; the others are the family's words (families/family.h), a
// fixture's name and `s<seed>`, in any order and each once. format_case() writes them in the family's order, followed by
// fixture and seed:
//
//   tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
//     d<head_dim>  h<heads>x<kv_heads>  kv<length>c<capacity>  ring<slot of the oldest position>
//     nomask | causal | win<W> | nomaskwin<W> | causalwin<W>     mask type 0, 1, 2; a window W with mask types 0 and 1
//     nwg<workgroups per head>   scale1 (score scale 1; left out: 1/sqrt(D); scale<N>: the float whose bits are N)
//     h5-<stem> in the place of a fixture: inputs from the file <stem>.h5 (harness/cases/file_case.h)
//   reduce_v1/d256/rows8/nwg16/gauss/s7
//   fwht_v1/d512/h8/premult/gauss/s7     standalone | premult | undo
//   quantize4_v1/d512/b4/g8/pos31c64/sliding/sf16/probe/gauss/s7
//     b<bits>  g<kv_heads>  pos<position>c<capacity>  linear | sliding (left out: linear)  noprobe | probe (left out: noprobe)
//     sf<scale_factor_d512> (left out: 1; sfroot512: sqrt(512); above 65536: the float whose bits are the number)
//   dequantize_v1/d512/b6/g8/pos31c64/sf16/gauss/s7
//
//   bf16_prefill_v1/b2/h8x2/q33/kv257r7/causal1x8/low/gauss/s7
//     b<batches>  q<queries>  kv<length>r<rows behind the last key>
//     nomask | zero<B'>x<H'> | causal... | win<W>m<B'>x<H'> | random... | row...     what a mask of B' batches and H' heads hides
//     low (hidden keys get -65504; left out: -infinity)
//   bf16_vec_v1/b1/h8x2/q1/kv257r64/nomask/nsg4/gauss/s7     nsg<simdgroups per threadgroup>
//
// Numbers are decimal without sign and without leading zeros. parse_case(format_case(c)) == c for every case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "families/registry.h"

namespace assay::harness {

using families::all_families;
using families::Axis;
using families::Case;
using families::Family;
using families::find_family;

[[nodiscard]] std::string format_case(const Case& value);

// Reads the words behind the variant's. Throws std::invalid_argument that names the offending word and what is accepted.
[[nodiscard]] Case parse_case(std::string_view name, const Family& family);

// The words that stand behind the variant's in a name, as people write them: "d<head_dim>/h<heads>.../<fixture>/s<seed>"; those
// that may be left out in brackets.
[[nodiscard]] std::string name_grammar(const Family& family);

// The first word of a name.
[[nodiscard]] std::string_view variant_of(std::string_view name);

}  // namespace assay::harness

// The faulty twins of `dequantize`.
#include "tests/faults/twins.h"

namespace assay::tests {
namespace dequantize_faults {
namespace {

using harness::ElementFault;
using harness::Status;

bool in_second_block(const FaultyElement& e) { return e.coordinate >= 256; }
bool is_nan(const FaultyElement& e) { return e.fault == ElementFault::nan; }
bool is_the_largest_centroid(const FaultyElement& e) { return e.actual / e.expected > 1.0003 && e.actual / e.expected < 1.0004; }
bool of_head_3(const FaultyElement& e) { return e.row == 3 && e.actual == 0.0; }
bool of_coordinate_21(const FaultyElement& e) { return e.coordinate == 21; }
bool is_last_of_a_thousand(const FaultyElement& e) { return e.row * 256 + e.coordinate == 999 && e.actual == 0.0; }
bool a_hundredth_large(const FaultyElement& e) { return e.actual / e.expected > 1.009 && e.actual / e.expected < 1.011; }
bool is_16_times(const FaultyElement& e) { return e.actual / e.expected > 15.9 && e.actual / e.expected < 16.1; }

constexpr Twin kTwins[] = {
    {"slots_numbered_in_16_bits",
     "the slot is a ushort",
     "params.cache_capacity + params.read_pos;\n    const uchar byte = packed[position * (params.head_dim / 2)",
     "params.cache_capacity + ushort(params.read_pos);\n    const uchar byte = packed[position * (params.head_dim / 2)",
     {"d512/b4/g1/pos65541c65600/gauss/s9"},
     {"d512/b4/g1/pos5c6/gauss/s9"}},
    {"nibbles_swapped",
     "the even coordinate is read from the high half of the byte",
     "coordinate % 2 == 0 ? byte & 0xF : byte >> 4",
     "coordinate % 2 != 0 ? byte & 0xF : byte >> 4",
     {"d256/b4/g2/pos1c4/gauss/s1"},
     {"d256/b8/g2/pos1c4/gauss/s1"}},
    {"norm_of_the_first_block",
     "all coordinates are multiplied with the first block's norm",
     "min(coordinate / 256, params.norms_per_pos - 1)",
     "0u",
     {"d512/b4/g2/pos1c4/structured/s1", Status::failed, {"coordinates from 256 on", in_second_block}},
     {"d256/b4/g2/pos1c4/structured/s1"}},
    {"norm_of_the_other_block",
     "each half of a row takes the norm of the other",
     "params.norms_per_pos + block]",
     "params.norms_per_pos + params.norms_per_pos - 1 - block]",
     {"d512/b5/g2/pos1c4/gauss/s1"},
     {"d256/b5/g2/pos1c4/gauss/s1"}},
    {"root_missing",
     "1/sqrt(D) is missing at 256",
     "norm * rsqrt(256.0f) :",
     "norm :",
     {"d256/b8/g2/pos1c4/gauss/s1", Status::failed, {"elements that are 16 times too large", is_16_times}},
     {"d512/b8/g2/pos1c4/gauss/s1"}},
    {"root_instead_of_the_factor",
     "at 512 norms are divided by 16 whatever the scale factor",
     "params.head_dim == 256 ?",
     "true ?",
     {"d512/b6/g2/pos1c4/sfroot512/gauss/s2"},
     {"d512/b6/g2/pos1c4/sf16/gauss/s2"}},
    {"scale_factor_ignored",
     "scale_factor_d512 is taken as 1",
     "norm / params.scale_factor_d512",
     "norm",
     {"d512/b4/g2/pos1c4/sf16/gauss/s2"},
     {"d512/b4/g2/pos1c4/gauss/s2"}},
    {"codebook_of_another_width",
     "five bits are looked up among six",
     "kCodebook5[index & 0x1F]",
     "kCodebook6[index & 0x3F]",
     {"d256/b5/g2/pos1c4/gauss/s3"},
     {"d256/b6/g2/pos1c4/gauss/s3"}},
    {"wrong_entry",
     "one of sixteen centroids is mistyped",
     "2.0690172f,  2.7325896f",
     "2.0690172f,  2.7335896f",
     {"d256/b4/g1/pos0c4/ladder/s3", Status::failed, {"values 0.04 % too large", is_the_largest_centroid}, {}, 14},
     {"d256/b5/g1/pos0c4/ladder/s3"}},
    {"next_slot",
     "the slot behind the one asked for is read",
     "+ params.read_pos;\n    const uchar byte",
     "+ (params.read_pos + 1) % params.cache_capacity;\n    const uchar byte",
     {"d256/b4/g2/pos31c32/poisoned/s4", Status::failed, {"NaN", is_nan}, {}, 512},
     {"d256/b4/g2/pos0c1/poisoned/s4"}},
    {"signed_offset",
     "the byte offset of five bits and more is computed as int",
     "packed[position * params.head_dim + coordinate]",
     "packed[int(position * params.head_dim + coordinate)]",
     {"d256/b5/g32/pos40c524288/huge/s3", Status::hazard, {}, "invalid access in tq_dequantize_hb_kv"},
     {"d256/b5/g8/pos40c64/gauss/s3"}},
    {"norms_one_per_position",
     "norms are looked for as if there were one per position",
     "norms[position * params.norms_per_pos + block]",
     "norms[position + block]",
     {"d512/b8/g1/pos2c4/gauss/s5"},
     {"d512/b8/g1/pos0c4/gauss/s5"}},
    {"heads_without_room",
     "heads are taken to follow each other without the unused slots of the cache",
     "+ params.read_pos;\n    const uchar index",
     "- head * (params.cache_capacity - params.read_pos - 1) + params.read_pos;\n    const uchar index",
     {"d256/b8/g2/pos1c4/poisoned/s5"},
     {"d256/b8/g2/pos3c4/poisoned/s5"}},
    {"token_major_cache",
     "of four bits, the heads of a slot are taken to stand together in the cache",
     "head * params.cache_capacity + params.read_pos;\n    const uchar byte",
     "params.read_pos * params.num_kv_heads + head;\n    const uchar byte",
     {"d256/b4/g2/pos1c4/gauss/s5"},
     {"d256/b8/g2/pos1c4/gauss/s5"}},
    {"head_zero",
     "head 3 comes out as zeros",
     "= centroid * multiplier",
     "= (head == 3 ? 0.0f : centroid) * multiplier",
     {"d256/b8/g5/pos1c4/gauss/s6", Status::failed, {"zeros in head 3", of_head_3}, {}, 256},
     {"d256/b8/g2/pos1c4/gauss/s6"}},
    {"output_times_1_01",
     "values of five bits and more are 1 % too large",
     "= centroid * multiplier",
     "= 1.01f * centroid * multiplier",
     {"d256/b6/g2/pos1c4/gauss/s6", Status::failed, {"elements that are 1 % too large", a_hundredth_large}, {}, 512},
     {"d256/b4/g2/pos1c4/gauss/s6"}},
    {"coordinate_10_percent_off",
     "of four bits, one coordinate is 10 % too large",
     "kCodebook4[index] * multiplier",
     "kCodebook4[index] * (coordinate == 21 ? 1.1f : 1.0f) * multiplier",
     {"d256/b4/g2/pos1c4/gauss/s6", Status::failed, {"coordinate 21", of_coordinate_21}, {}, 2},
     {"d256/b5/g2/pos1c4/gauss/s6"}},
    {"thousandth_zero",
     "one element in a thousand is zero",
     "kCodebook4[index] * multiplier",
     "((head * params.head_dim + coordinate) % 1000 == 999 ? 0.0f : kCodebook4[index]) * multiplier",
     {"d256/b4/g5/pos1c4/gauss/s6", Status::failed, {"a zero at element 999", is_last_of_a_thousand}, {}, 1},
     {"d256/b4/g2/pos1c4/gauss/s6"}},
};

}  // namespace
}  // namespace dequantize_faults

std::span<const Twin> dequantize_twins() { return dequantize_faults::kTwins; }

}  // namespace assay::tests

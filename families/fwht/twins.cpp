// The faulty twins of `fwht`.
#include "tests/faults/twins.h"

namespace assay::tests {
namespace fwht_faults {
namespace {

using harness::Status;

bool in_upper_half(const FaultyElement& e) { return e.coordinate >= 256; }
bool behind_first_row(const FaultyElement& e) { return e.row > 0; }
bool is_negated(const FaultyElement& e) { return e.actual * e.expected < 0.0; }
bool is_doubled(const FaultyElement& e) { return e.actual / e.expected > 1.4 && e.actual / e.expected < 1.42; }
bool of_row_3(const FaultyElement& e) { return e.row == 3 && e.actual == 0.0; }
bool of_coordinate_21(const FaultyElement& e) { return e.row > 0 && e.coordinate == 21; }
bool is_last_of_a_thousand(const FaultyElement& e) { return e.row * 256 + e.coordinate == 999 && e.actual == 0.0; }
bool a_hundredth_large(const FaultyElement& e) { return e.row > 0 && e.actual / e.expected > 1.009 && e.actual / e.expected < 1.011; }
bool is_16_times(const FaultyElement& e) { return e.actual / e.expected > 15.9 && e.actual / e.expected < 16.1; }

bool is_nan(const FaultyElement& e) { return e.fault == harness::ElementFault::nan; }

constexpr Twin kTwins[] = {
    {"local_element_not_loaded",
     "an element of a local array is read, but never written",
     "        x[e] = row[e];\n    }\n\n    if (SIGNS == SIGNS_BEFORE)",
     "        if (D != 256 || e != 3) x[e] = row[e];\n    }\n\n    if (SIGNS == SIGNS_BEFORE)",
     {"d256/h2/standalone/gauss/s1", Status::failed, {"only NaN", is_nan}},
     {"d512/h2/standalone/gauss/s1"}},
    {"rows_numbered_in_16_bits",
     "the number of a row is a ushort",
     "uint   head [[threadgroup_position_in_grid]]",
     "ushort head [[threadgroup_position_in_grid]]",
     {"d256/h65540/standalone/gauss/s1"},
     {"d256/h4/standalone/gauss/s1"}},
    {"signs_on_the_wrong_side",
     "the rotation of 256 applies the signs behind the transform",
     "\"fwht_sign_premult_f32\", 256, SIGNS_BEFORE",
     "\"fwht_sign_premult_f32\", 256, SIGNS_AFTER",
     {"d256/h2/premult/gauss/s1"},
     {"d512/h2/premult/gauss/s1"}},
    {"undo_without_signs",
     "the inverse rotation leaves the signs out",
     "if (SIGNS == SIGNS_AFTER) {",
     "if (SIGNS == SIGNS_AFTER && false) {",
     {"d256/h2/undo/gauss/s1", Status::failed, {"negated elements", is_negated}},
     {"d256/h2/premult/gauss/s1"}},
    {"last_stage_missing",
     "with 512 the last butterflies are missing",
     "mask < SIMD_WIDTH",
     "mask < (D == 512 ? SIMD_WIDTH / 2 : SIMD_WIDTH)",
     {"d512/h2/standalone/gauss/s2"},
     {"d256/h2/standalone/gauss/s2"}},
    {"normalised_by_16",
     "every head dimension is divided by sqrt(256)",
     "rsqrt(float(D))",
     "rsqrt(256.0f)",
     {"d512/h2/standalone/gauss/s2", Status::failed, {"elements that are sqrt(2) too large", is_doubled}},
     {"d256/h2/standalone/gauss/s2"}},
    {"not_normalised",
     "1/sqrt(D) is missing at 256",
     "x[e] *= scale;",
     "x[e] *= D == 256 ? 1.0f : scale;",
     {"d256/h2/standalone/gauss/s2", Status::failed, {"elements that are 16 times too large", is_16_times}},
     {"d512/h2/standalone/gauss/s2"}},
    {"partner_of_another_stage",
     "at distance 8 the lane meets its partner of distance 4, in all heads but the first",
     "simd_shuffle_xor(x[e], mask)",
     "simd_shuffle_xor(x[e], ushort(mask == 8 && head > 0 ? 4 : mask))",
     {"d256/h3/standalone/gauss/s3", Status::failed, {"rows behind the first", behind_first_row}},
     {"d256/h1/standalone/gauss/s3"}},
    {"difference_turned_round",
     "the upper element becomes b - a",
     "other - x[e]",
     "x[e] - other",
     {"d256/h2/standalone/gauss/s3"},
     {"d256/h2/standalone/uniform/s3"}},
    {"local_difference_turned_round",
     "inside a lane the upper element becomes b - a",
     "= a - b;",
     "= b - a;",
     {"d256/h2/standalone/gauss/s4"},
     {"d256/h2/standalone/uniform/s4"}},
    {"sign_bits_from_the_top",
     "bit j of the sign table is counted from the most significant",
     ">> (j % 8)",
     ">> (7 - j % 8)",
     {"d256/h1/undo/gauss/s4", Status::failed, {"negated elements", is_negated}},
     {"d256/h1/standalone/gauss/s4"}},
    {"signs_of_the_lower_half",
     "the upper half of a row of 512 takes the signs of the lower",
     "kSigns[j / 8]",
     "kSigns[j / 8 % 32]",
     {"d512/h1/undo/gauss/s5", Status::failed, {"coordinates from 256 on", in_upper_half}},
     {"d256/h1/undo/gauss/s5"}},
    {"first_row_again",
     "every head transforms the first row",
     "data + head * D + lane * E",
     "data + lane * E",
     {"d256/h3/standalone/gauss/s5"},
     {"d256/h1/standalone/gauss/s5"}},
    {"ordered_by_sequency",
     "the result leaves in reversed bit order of the lane",
     "row[e] = x[e];",
     "row[e] = simd_shuffle(x[e], ushort(reverse_bits(uint(lane)) >> 27));",
     {"d256/h2/standalone/gauss/s6"},
     {"d256/h2/standalone/uniform/s6"}},
    {"half_precision",
     "elements beyond the range of half become infinite",
     "x[e] *= scale;",
     "x[e] = float(half(x[e] * scale * 0x1p-20f)) * 0x1p20f;",
     {"d256/h1/standalone/gauss/s7"},
     {"d256/h1/standalone/uniform/s7"}},
    {"head_zero",
     "head 3 comes out as zeros",
     "row[e] = x[e];",
     "row[e] = head == 3 ? 0.0f : x[e];",
     {"d256/h5/standalone/gauss/s8", Status::failed, {"zeros in head 3", of_row_3}, {}, 256},
     {"d256/h3/standalone/gauss/s8"}},
    {"output_times_1_01",
     "all rows but the first are 1 % too large",
     "row[e] = x[e];",
     "row[e] = x[e] * (head == 0 ? 1.0f : 1.01f);",
     {"d256/h5/undo/gauss/s8", Status::failed, {"elements that are 1 % too large", a_hundredth_large}},
     {"d256/h1/undo/gauss/s8"}},
    {"coordinate_10_percent_off",
     "in all rows but the first one coordinate is 10 % too large",
     "row[e] = x[e];",
     "row[e] = x[e] * (head > 0 && lane * E + e == 21 ? 1.1f : 1.0f);",
     {"d256/h5/premult/gauss/s8", Status::failed, {"coordinate 21", of_coordinate_21}, {}, 4},
     {"d256/h1/premult/gauss/s8"}},
    {"thousandth_zero",
     "one element in a thousand is zero",
     "row[e] = x[e];",
     "row[e] = (head * D + lane * E + e) % 1000 == 999 ? 0.0f : x[e];",
     {"d256/h5/premult/gauss/s8", Status::failed, {"a zero at element 999", is_last_of_a_thousand}, {}, 1},
     {"d256/h3/premult/gauss/s8"}},
};

}  // namespace
}  // namespace fwht_faults

std::span<const Twin> fwht_twins() { return fwht_faults::kTwins; }

}  // namespace assay::tests

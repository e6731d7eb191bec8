// The policy `checked`: conversions that lose bits of an index, and twins of them that lose none or lose them on purpose.
//
// Each row names the line of the body where the finding must be, counted by hand.
#include <gtest/gtest.h>

#include "tests/conformance/checked_kernel.h"
#include "tests/conformance/checked_rows.h"

namespace assay::tests::checked_indices_test {
namespace {

using metal::HazardKind;

constexpr HazardKind kLost = HazardKind::lost_index_bits;

INSTANTIATE_TEST_SUITE_P(
    Indices, Checked,
    ::testing::Values(
        CheckedRow{"a_position_in_16_bits", kLost,
                   "const uint position = 65530 + t;\nconst ushort slot = ushort(position);\n" + kOut + "in[slot < 64 ? slot : 0];", 2, 0,
                   "to ushort, of which"},
        CheckedRow{"a_position_below_2_to_the_16", kLost,
                   "const uint position = 65472 + t;\nconst ushort slot = ushort(position);\n" + kOut + "in[slot - 65472];"},
        CheckedRow{
            "a_component_in_16_bits", kLost,
            "const uint3 position = uint3(65530 + t, tg, 0);\nconst ushort slot = position[tg];\n" + kOut + "in[slot < 64 ? slot : 0];", 2,
            0, "to ushort, of which"},
        CheckedRow{"a_component_that_is_copied", kLost,
                   "uint3 position = uint3(t, tg, 0);\nconst uint3 copy = position;\n" + kOut + "in[copy[tg * 0]];"},
        CheckedRow{"an_offset_in_short", kLost, "const short offset = tg * 64 * 512;\n" + kOut + "in[(offset + 32768) / 32768];", 1, 0,
                   "converts 32768 to short, of which -32768 is left"},
        CheckedRow{"an_offset_that_fits_short", kLost, "const short offset = tg * 63 * 512;\n" + kOut + "in[offset / 32256];"},
        CheckedRow{"an_offset_beyond_2_gib", kLost,
                   "const long offset = long(tg) << 31;\nconst int narrow = int(offset);\n" + kOut + "in[narrow / 1073741824 + 2];", 2, 0,
                   "converts 2147483648 to int, of which -2147483648 is left"},
        CheckedRow{"an_offset_of_2_gib_in_uint", kLost,
                   "const ulong offset = ulong(tg) << 31;\nconst uint narrow = uint(offset);\n" + kOut + "in[narrow / 2147483648u];"},
        CheckedRow{"a_loop_in_uchar", kLost,
                   "uint sum = 0;\nuint rounds = 0;\nfor (uchar i = 250; rounds < 8; i += 2) {\nrounds += 1;\n"
                   "sum += in[i % 63];\n}\n" +
                       kOut + "sum;",
                   3, 0, "to uchar, of which"},
        CheckedRow{"a_loop_that_ends_below_zero", kLost, "uint sum = 0;\nfor (ushort i = 63; i < 64; --i) sum += in[i];\n" + kOut + "sum;"},
        CheckedRow{
            "a_struct_field", kLost,
            "struct S { uint first; };\nconst uchar first = uchar(((device const S*)in)->first * 37 + t);\n" + kOut + "in[first / 4];", 2,
            0, "to uchar, of which"},
        CheckedRow{"a_position_that_is_compared", kLost,
                   "const uint position = 65530 + t;\nconst ushort slot = position;\n" + kOut + "slot >= 65530 ? 1 : 0;", 2, 0,
                   "to ushort, of which"},
        CheckedRow{"a_question_of_low_bits", kLost, "const uint position = 65530 + t;\n" + kOut + "ushort(position) == 0 ? 1 : 0;"},
        CheckedRow{"a_mask", kLost, "const uint hash = t * 2654435761u;\n" + kOut + "in[ushort(hash & 0xffff) % 64];"},
        CheckedRow{"a_mask_afterwards", kLost, kOut + "in[ushort(65530 + t) & 63];"},
        CheckedRow{"a_hash", kLost, "const uint hash = t * 2654435761u;\n" + kOut + "in[uchar(hash) / 4];"},
        CheckedRow{"a_code_of_data", kLost,
                   "const uint word = in[t] * 1000;\n" + kOut + "in[uchar(word) % 63] + in[uchar(word >> 8) / 4];"},
        CheckedRow{"a_byte_of_a_position", kLost, "const uint place = 1000 + t;\n" + kOut + "in[uchar(place >> 2) / 4];"},
        CheckedRow{"both_bytes_of_a_position", kLost,
                   "const uint place = 250 + t;\nconst uchar low = uchar(place);\n"
                   "const uchar high = uchar(place >> 8);\n" +
                       kOut + "in[low / 4] + in[high];"},
        CheckedRow{"what_is_stored", kLost, "((device ushort*)out)[tg * 128 + t] = ushort(65530 + t);"}),
    kNameOfRow);

}  // namespace
}  // namespace assay::tests::checked_indices_test

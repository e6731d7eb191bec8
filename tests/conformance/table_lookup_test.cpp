// Lookups in constant tables by fields of packed codes, which the pass turns into permutations of registers (metal/pass/table_lookup.h):
// they must be what the same lookups are in a table that the compiler does not know.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/conformance/execute.h"

namespace assay::tests::table_lookup_test {
namespace {

struct Lookup {
  std::string name;
  std::string indices;  // four of them, of `x` and `y`, which are of `type`
  std::string type = "ushort";
};

class TableLookups : public testing::TestWithParam<Lookup> {};

constexpr std::size_t kLength = 16;

// Bits that no arithmetic makes, so that a lookup that computes is seen: a NaN with a payload, -0, subnormals.
std::vector<std::uint32_t> table() {
  std::vector<std::uint32_t> words = {0x80000000, 0x7fc01234, 0x00000001, 0xff800000};
  for (std::uint32_t i = 4; i < kLength; ++i) words.push_back(0x3f000000 + i * 0x00012345);
  return words;
}

std::string source_of(const Lookup& lookup) {
  std::string words;
  for (const std::uint32_t word : table()) words += fmt::format("as_type<float>({}u), ", word);
  const std::string& indices = lookup.indices;
  const auto body = [&](const std::string& name) {
    std::string text;
    for (std::size_t begin = 0; begin < indices.size();) {
      const std::size_t end = std::min(indices.find(';', begin), indices.size());
      text += fmt::format("{}{}[{}]", text.empty() ? "" : ", ", name, indices.substr(begin, end - begin));
      begin = end + 1;
    }
    return "float4(" + text + ")";
  };
  return fmt::format(R"(#include <metal_stdlib>
using namespace metal;
constant float kTable[16] = {{ {0} }};
kernel void test(device uint *out [[buffer(0)]], device const {1} *codes [[buffer(1)]], device const float *table [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]]) {{
  const {1} x = codes[2 * lane], y = codes[2 * lane + 1];
  const float4 known = {2};
  const float4 asked = {3};
  for (uint i = 0; i < 4; ++i) {{
    out[8 * lane + i] = as_type<uint>(known[i]);
    out[8 * lane + 4 + i] = as_type<uint>(asked[i]);
  }}
}}
)",
                     words, lookup.type, body("kTable"), body("table"));
}

TEST_P(TableLookups, AreThoseOfATableThatTheCompilerDoesNotKnow) {
  Execution execution{.source = source_of(GetParam()), .output_words = 8 * 32};
  std::vector<std::uint32_t> codes;
  std::uint32_t state = 1;
  for (int i = 0; i < 64; ++i) codes.push_back(state = state * 1664525 + 1013904223);
  execution.inputs = {codes, table()};
  for (const auto policy : {metal::Policy::native, metal::Policy::checked, metal::Policy::shadow}) {
    execution.options.policy = policy;
    const Outcome outcome = execute(execution);
    ASSERT_TRUE(outcome.hazards.empty()) << outcome.hazards.front().message;
    std::size_t distinct = 0;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(outcome.output[8 * lane + i], outcome.output[8 * lane + 4 + i]) << "lane " << lane << ", element " << i;
        if (outcome.output[8 * lane + i] != outcome.output[0]) ++distinct;
      }
    }
    EXPECT_GT(distinct, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, TableLookups,
                         testing::Values(Lookup{"nibbles", "x & 0xF;(x >> 4) & 0xF;(x >> 8) & 0xF;x >> 12"},
                                         Lookup{"reversed", "x >> 12;(x >> 8) & 0xF;(x >> 4) & 0xF;x & 0xF"},
                                         Lookup{"upper_half_of_a_word", "(x >> 16) & 15;(x >> 20) & 15;(x >> 24) & 15;x >> 28", "uint"},
                                         Lookup{"bits_across_nibbles", "(x >> 1) & 15;(x >> 3) & 15;(x >> 7) & 15;(x >> 10) & 15"},
                                         Lookup{"two_bytes", "x & 15;x >> 4;y & 15;y >> 4", "uchar"},
                                         Lookup{"two_words", "(y >> 8) & 15;x & 15;(y >> 28);(x >> 4) & 15", "uint"},
                                         Lookup{"one_four_times", "x & 15;x & 15;x & 15;x & 15"},
                                         Lookup{"fewer_bits", "x & 7;(x >> 3) & 3;(x >> 5) & 1;(x >> 6) & 15"},
                                         Lookup{"remainder", "x % 16;(x / 16) % 16;(x / 256) % 16;x / 4096"},
                                         Lookup{"signed", "x & 15;(x >> 4) & 15;(x >> 8) & 15;(x >> 12) & 15", "short"},
                                         Lookup{"masked_first", "(x & 0xF0) >> 4;x & 0xF;(x & 0xF00) >> 8;(x & 0xF000) >> 12"},
                                         Lookup{"computed", "(x + 3) & 15;(x * 5) & 15;(x ^ y) & 15;(x - y) & 15"}),
                         [](const testing::TestParamInfo<Lookup>& info) { return info.param.name; });

}  // namespace
}  // namespace assay::tests::table_lookup_test

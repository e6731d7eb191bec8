// Every swizzle there is, in both alphabets: read, and written where no component repeats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/conformance/rows.h"

namespace assay::tests::swizzle_test {
namespace {

struct Swizzle {
  std::size_t size;  // components of the vector
  std::vector<std::size_t> picks;

  [[nodiscard]] std::string name(std::string_view alphabet) const {
    std::string text;
    for (const auto pick : picks) text += alphabet[pick];
    return text;
  }
  [[nodiscard]] bool writable() const { return std::set<std::size_t>(picks.begin(), picks.end()).size() == picks.size(); }
};

std::vector<Swizzle> all_swizzles() {
  std::vector<Swizzle> swizzles;
  for (std::size_t size = 2; size <= 4; ++size) {
    std::vector<std::vector<std::size_t>> picks = {{}};
    for (std::size_t length = 1; length <= 4; ++length) {
      std::vector<std::vector<std::size_t>> longer;
      for (const auto& pick : picks) {
        for (std::size_t component = 0; component < size; ++component) {
          longer.push_back(pick);
          longer.back().push_back(component);
        }
      }
      picks = longer;
      if (length > 1)
        for (const auto& pick : picks) swizzles.push_back({size, pick});
    }
  }
  return swizzles;
}

// Component c of the vector that is read holds c + 1; digits of the result are the picked components, the first the lowest.
constexpr std::string_view kPack =
    "#include <metal_stdlib>\nusing namespace metal;\nconstexpr uint pack(uint2 v) { return v.x + 10 * v.y; }\n"
    "constexpr uint pack(uint3 v) { return v.x + 10 * v.y + 100 * v.z; }\nconstexpr uint pack(uint4 v) { return v.x + 10 * v.y + 100 * v.z "
    "+ 1000 * v.w; }\n";

std::uint32_t digits_of(const Swizzle& swizzle) {
  std::uint32_t digits = 0, place = 1;
  for (const auto pick : swizzle.picks) {
    digits += place * static_cast<std::uint32_t>(pick + 1);
    place *= 10;
  }
  return digits;
}

// All of them in constant expressions, for 962 reads at run time take the optimiser half a minute.
TEST(Swizzles, EveryOneReadsInConstantExpressions) {
  const auto swizzles = all_swizzles();
  ASSERT_EQ(swizzles.size(), (4U + 8 + 16) + (9 + 27 + 81) + (16 + 64 + 256));
  std::string text(kPack);
  text +=
      "kernel void run(device uint* out) {\nconstexpr uint2 v2 = uint2(1, 2); constexpr uint3 v3 = uint3(1, 2, 3); constexpr uint4 v4 = "
      "uint4(1, 2, 3, 4);\n";
  for (const auto& swizzle : swizzles)
    for (const std::string_view alphabet : {"xyzw", "rgba"})
      text += fmt::format("static_assert(pack(v{}.{}) == {});\n", swizzle.size, swizzle.name(alphabet), digits_of(swizzle));
  EXPECT_EQ(compile_error(text + "out[0] = 1; }", "run"), "");
  EXPECT_NE(compile_error(text + "static_assert(pack(v4.xw) == 42); }", "run"), "");
}

TEST(Swizzles, PairsAndPermutationsReadAtRunTime) {
  std::string text(kPack);
  text +=
      "kernel void run(device uint* out, device const uint* in) {\nuint2 v2 = uint2(in[0], in[1]); uint3 v3 = uint3(v2, in[2]); uint4 v4 = "
      "uint4(v3, in[3]);\n";
  Words expected;
  for (const auto& swizzle : all_swizzles()) {
    if (swizzle.picks.size() != 2 && !swizzle.writable()) continue;
    text += fmt::format("out[{}] = pack(v{}.{});\n", expected.size(), swizzle.size, swizzle.name("xyzw"));
    expected.push_back(digits_of(swizzle));
  }
  EXPECT_EQ(run_kernel(text + "}", "run", {Words(expected.size(), 0), {1, 2, 3, 4}}, 1, 1)[0], expected);
}

// The k-th picked component receives k + 11, the others keep c + 1.
TEST(Swizzles, EveryOneWithoutRepetitionWrites) {
  std::string text =
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void run(device uint* out, device const uint* in) {\nuint4 from = "
      "uint4(in[0], in[1], in[2], in[3]);\n";
  Words expected;
  for (const auto& swizzle : all_swizzles()) {
    if (!swizzle.writable()) continue;
    for (const std::string_view alphabet : {"xyzw", "rgba"}) {
      // Through a reference to device memory, so that a component is stored and not only computed.
      text += fmt::format("{{ device uint{0}& v = *(device uint{0}*)(out + {1}); v = uint{0}(1, 2{2}); v.{3} = from.{4}; }}\n",
                          swizzle.size, expected.size(),
                          swizzle.size == 2   ? ""
                          : swizzle.size == 3 ? ", 3"
                                              : ", 3, 4",
                          swizzle.name(alphabet), std::string_view("xyzw").substr(0, swizzle.picks.size()));
      for (std::size_t component = 0; component < 4; ++component) {
        const auto place = std::find(swizzle.picks.begin(), swizzle.picks.end(), component);
        const auto written = static_cast<std::uint32_t>(place - swizzle.picks.begin()) + 11;
        expected.push_back(component >= swizzle.size      ? 0
                           : place == swizzle.picks.end() ? static_cast<std::uint32_t>(component) + 1
                                                          : written);
      }
    }
  }
  text += "}\n";
  Words out = run_kernel(text, "run", {Words(expected.size(), 0), {11, 12, 13, 14}}, 1, 1)[0];
  std::size_t at = 0;
  for (const auto& swizzle : all_swizzles()) {
    if (!swizzle.writable()) continue;
    // The padding of a three-component vector has no owner.
    for (int alphabet = 0; alphabet < 2; ++alphabet, at += 4)
      if (swizzle.size == 3) out[at + 3] = 0;
  }
  ASSERT_EQ(at, expected.size());
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace assay::tests::swizzle_test

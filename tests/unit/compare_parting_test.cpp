// Where two traces of values part, on traces made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "families/family.h"
#include "harness/compare/parting.h"

namespace assay::tests::compare_parting_test {
namespace {

using namespace harness;

using namespace ::testing;

SourceText source(const std::string& text) {
  SourceText result{"kernel.metal", {}};
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.lines.push_back(line);
  return result;
}

// Values of threads of one dispatch: of each (line, value).
struct Made {
  explicit Made(std::size_t lines) {
    trace.functions = {"f"};
    for (std::uint32_t line = 1; line <= lines; ++line)
      trace.operations.push_back({metal::TracedOperation::Kind::arithmetic, metal::TracedOperation::Type::float32, {"kernel.metal", line}});
  }
  Made& thread(std::uint32_t number, const std::vector<std::pair<std::uint32_t, float>>& values, std::uint64_t read = 0) {
    metal::TracedThread one{0, {0, 0, 0}, number, {}};
    for (const auto& [line, value] : values) one.values.push_back({line - 1, std::bit_cast<std::uint32_t>(value), read});
    trace.threads.push_back(std::move(one));
    return *this;
  }
  metal::ValueTrace trace;
};

std::optional<Parting> part(const Made& before, const std::string& old_text, const Made& after, const std::string& new_text) {
  const std::vector<SourceText> old_texts = {source(old_text)};
  const std::vector<SourceText> new_texts = {source(new_text)};
  return find_parting(before.trace, old_texts, after.trace, new_texts);
}

const std::string kText = "a = x + y;\nb = a * 2;\n";

TEST(Parting, OfEqualTracesThereIsNone) {
  Made made(2);
  made.thread(0, {{1, 1.5F}, {2, 3.0F}});
  EXPECT_FALSE(part(made, kText, made, kText));
}

TEST(Parting, IsTheFirstInTheOrderOfExecution) {
  Made before(2);
  before.thread(0, {{2, 1.0F}, {1, 2.0F}, {2, 4.0F}});
  Made after(2);
  after.thread(0, {{2, 1.0F}, {1, 2.5F}, {2, 5.0F}}, 33);
  const auto parting = part(before, kText, after, kText);
  ASSERT_TRUE(parting);
  EXPECT_EQ(parting->old_side.line, 1U);
  EXPECT_EQ(parting->old_side.text, "a = x + y;");
  EXPECT_EQ(parting->old_side.value, 2.0);
  EXPECT_EQ(parting->new_side.value, 2.5);
  EXPECT_EQ(parting->agreed, 1U);
  EXPECT_EQ(parting->read, 33U);
  EXPECT_THAT(parting->changes, IsEmpty());
}

TEST(Parting, CountsTheExecutionsOfALine) {
  Made before(2);
  before.thread(0, {{1, 1.0F}, {1, 2.0F}, {1, 3.0F}});
  Made after(2);
  after.thread(0, {{1, 1.0F}, {1, 2.0F}, {1, 3.5F}});
  EXPECT_EQ(part(before, kText, after, kText).value().occurrence, 2U);
}

TEST(Parting, IsOfTheThreadThatPartsEarliestByItsOwnClock) {
  Made before(2);
  before.thread(0, {{1, 1.0F}, {2, 2.0F}}).thread(1, {{1, 1.0F}, {2, 2.0F}});
  Made after(2);
  after.thread(0, {{1, 1.0F}, {2, 2.5F}}).thread(1, {{1, 1.5F}, {2, 2.5F}});
  const auto parting = part(before, kText, after, kText);
  ASSERT_TRUE(parting);
  EXPECT_EQ(parting->thread, 1U);
  EXPECT_EQ(parting->new_side.line, 1U);
}

// Line 1 stands before the reads of a loop, line 2 behind them.
TEST(Parting, IsAboutWhatALoopReadsNextOrHasReadLast) {
  const auto made = [](float one, float two) {
    Made result(2);
    result.thread(0, {{1, 1.0F}, {2, 1.0F}, {1, one}, {2, two}});
    std::uint64_t read = 0;
    for (metal::TracedValue& value : result.trace.threads.front().values) value.read = value.operation == 0 ? read : read += 100;
    return result;
  };
  EXPECT_EQ(part(made(1.0F, 1.0F), kText, made(2.0F, 1.0F), kText).value().read, 200U);
  EXPECT_EQ(part(made(1.0F, 1.0F), kText, made(1.0F, 2.0F), kText).value().read, 200U);
}

// A zero is not a zero of the other sign, and a NaN is itself.
TEST(Parting, GoesByBits) {
  Made before(2);
  before.thread(0, {{1, NAN}, {2, 0.0F}});
  Made after(2);
  after.thread(0, {{1, NAN}, {2, -0.0F}});
  const auto parting = part(before, kText, after, kText);
  ASSERT_TRUE(parting);
  EXPECT_EQ(parting->new_side.line, 2U);
}

TEST(Parting, StandsInTheChangeOfItsLine) {
  Made before(3);
  before.thread(0, {{1, 1.0F}, {2, 2.0F}});
  Made after(3);
  after.thread(0, {{1, 1.0F}, {3, 2.5F}});
  const auto parting = part(before, "a = x + y;\nb = a * two;\n", after, "a = x + y;\nint unused;\nb = a * three;\n");
  ASSERT_TRUE(parting);
  EXPECT_EQ(parting->old_side.line, 2U);
  EXPECT_EQ(parting->new_side.line, 3U);
  ASSERT_THAT(parting->changes, SizeIs(1));
  EXPECT_TRUE(parting->changes.front().holds_parting);
}

// What was put in has no partner: the line behind it is the first that both have.
TEST(Parting, BehindWhatOnlyOneSideHasNamesThatChangeToo) {
  Made before(3);
  before.thread(0, {{1, 1.0F}, {2, 2.0F}});
  Made after(3);
  after.thread(0, {{1, 1.0F}, {2, 7.0F}, {3, 14.0F}});
  const auto parting = part(before, kText, after, "a = x + y;\nif (odd) { a += bias; }\nb = a * 2;\n");
  ASSERT_TRUE(parting);
  EXPECT_EQ(parting->old_side.line, 2U);
  EXPECT_EQ(parting->new_side.line, 3U);
  ASSERT_THAT(parting->changes, SizeIs(1));
  EXPECT_FALSE(parting->changes.front().holds_parting);
  EXPECT_THAT(parting->changes.front().new_lines.front(), HasSubstr("bias"));
}

TEST(Parting, IsWhereOneSideStopsComing) {
  Made before(2);
  before.thread(0, {{1, 1.0F}, {1, 1.0F}});
  Made after(2);
  after.thread(0, {{1, 1.0F}});
  const auto parting = part(before, kText, after, kText);
  ASSERT_TRUE(parting);
  EXPECT_TRUE(parting->old_side.value);
  EXPECT_FALSE(parting->new_side.value);
  Made cut = after;
  cut.trace.is_cut = true;
  EXPECT_FALSE(part(before, kText, cut, kText));
}

TEST(Parting, TravelsAsAnArchive) {
  Made before(2);
  before.thread(0, {{1, 1.0F}});
  Made after(2);
  after.thread(0, {{1, 2.0F}});
  Parting parting = part(before, kText, after, "a = x - y;\nb = a * 2;\n").value();
  parting.place = "slot 3";
  parting.chunk = 7;
  const auto back = base::from_bytes<Parting>(base::to_bytes(parting));
  EXPECT_EQ(back.function, parting.function);
  EXPECT_EQ(back.new_side.text, "a = x - y;");
  EXPECT_EQ(back.new_side.value, 2.0);
  EXPECT_EQ(back.chunk, 7U);
  EXPECT_EQ(back.changes.size(), 1U);
  EXPECT_EQ(back.changes.front().old_lines, parting.changes.front().old_lines);
}

families::Place place_of(const Case& test_case, std::uint64_t byte) { return test_case.family->triage.place(test_case, byte); }

Case named(const std::string& family, const std::string& name) { return parse_case(name, find_family(family)); }

TEST(FollowedPlace, IsTheKeyThatAByteBelongsTo) {
  const Case tq4 = named("tq4", "tq4_v1/d256/h8x2/kv100c128/ring0/nomask/nwg1/gauss/s7");
  EXPECT_EQ(place_of(tq4, 0).text, "slot 0 of KV head 0, chunk 0 of 32 keys");
  EXPECT_EQ(place_of(tq4, 128 * (128 + 70) + 3).text, "slot 70 of KV head 1, chunk 2 of 32 keys");
  EXPECT_EQ(place_of(tq4, 128 * 64).chunk, 2U);
  const Case bf16 = named("bf16_vec", "bf16_vec_v2/b2/h8x2/q1/kv65r3/nomask/nsg4/gauss/s7");
  EXPECT_EQ(place_of(bf16, 1024 * (68 + 64)).text, "key 64 of KV head 1, chunk 2 of 32 keys");
  EXPECT_EQ(place_of(bf16, 1024 * (2 * 68 + 1)).text, "key 1 of KV head 0, chunk 0 of 32 keys");
}

TEST(FollowedPlace, IsARowWhereThereAreNoKeys) {
  const Case fwht = named("fwht", "fwht_v1/d512/h8/standalone/gauss/s7");
  EXPECT_EQ(place_of(fwht, 4 * (512 * 3 + 300)).text, "head 3, coordinate 300 (block 1 of 256)");
  EXPECT_FALSE(place_of(fwht, 0).chunk);
  const Case reduce = named("reduce", "reduce_v1/d256/rows2/nwg4/gauss/s7");
  EXPECT_EQ(place_of(reduce, 16 * (256 + 4 * 5 + 3)).text, "row 1, workgroup 3, coordinate 20");
  EXPECT_EQ(place_of(reduce, 4 * (2 * 256 * 4 + 2 * 5 + 1)).text, "row 1, workgroup 1, its maximum");
}

}  // namespace
}  // namespace assay::tests::compare_parting_test

// Archives: every kind of value comes back as it was, and bytes that no value has are refused before they cost memory.
#include "base/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace assay::tests::archive_test {
namespace {

using base::Bytes;
using base::DamagedArchive;
using base::from_bytes;
using base::to_bytes;

}  // namespace

enum class Colour { red, green };
constexpr std::uint64_t largest(Colour) { return 1; }

struct Everything {
  std::uint32_t narrow = 0;
  std::int64_t negative = 0;
  bool flag = false;
  double real = 0;
  Colour colour = Colour::red;
  std::string text;
  std::optional<double> maybe, nothing;
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::map<std::string, std::variant<std::monostate, std::int64_t, std::string>, std::less<>> named;
  std::pair<bool, Colour> both;
  friend bool operator==(const Everything&, const Everything&) = default;
};

void fields(auto& archive, base::OneOf<Everything> auto& value) {
  auto& [narrow, negative, flag, real, colour, text, maybe, nothing, reals, texts, named, both] = value;
  each(archive, narrow, negative, flag, real, colour, text, maybe, nothing, reals, texts, named, both);
}

namespace {

Everything everything() {
  return {.narrow = 7,
          .negative = -8,
          .flag = true,
          .real = -0.0,
          .colour = Colour::green,
          .text = std::string("a\0b", 3),
          .maybe = 2.5,
          .nothing = std::nullopt,
          .reals = {1, std::numeric_limits<double>::infinity()},
          .texts = {"", "x"},
          .named = {{"none", {}}, {"number", std::int64_t{-1}}, {"text", "y"}},
          .both = {true, Colour::green}};
}

TEST(Archive, WhatGoesInComesOut) {
  const auto back = from_bytes<Everything>(to_bytes(everything()));
  EXPECT_EQ(back, everything());
  EXPECT_TRUE(std::signbit(back.real));
}

TEST(Archive, EveryTruncationIsRefusedAndSoIsWhatStandsBehindTheEnd) {
  Bytes bytes = to_bytes(everything());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(static_cast<void>(from_bytes<Everything>(std::span(bytes).first(length))), DamagedArchive) << length;
  bytes.push_back(std::byte{0});
  EXPECT_THROW(static_cast<void>(from_bytes<Everything>(bytes)), DamagedArchive);
}

// A flipped bit gives a refusal, or another value: nothing of what is read is passed over.
TEST(Archive, EveryFlippedBitIsRefusedOrChangesTheValue) {
  const Bytes whole = to_bytes(everything());
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes bytes = whole;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    try {
      EXPECT_NE(to_bytes(from_bytes<Everything>(bytes)), whole) << "bit " << bit;
    } catch (const DamagedArchive&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, whole.size() * 8);
}

TEST(Archive, ValuesThatATypeDoesNotHaveAreRefused) {
  const auto word = [](std::uint64_t value) { return to_bytes(value); };
  EXPECT_THROW(static_cast<void>(from_bytes<bool>(word(2))), DamagedArchive);
  EXPECT_THROW(static_cast<void>(from_bytes<Colour>(word(2))), DamagedArchive);
  EXPECT_THROW(static_cast<void>(from_bytes<std::uint32_t>(word(std::uint64_t{1} << 32))), DamagedArchive);
  EXPECT_THROW((static_cast<void>(from_bytes<std::variant<std::monostate, double>>(word(2)))), DamagedArchive);
  EXPECT_THROW(static_cast<void>(from_bytes<std::optional<bool>>(word(2))), DamagedArchive);
}

// A terabyte of elements, of which none follows.
TEST(Archive, ACountThatLiesCostsNoMemory) {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const Bytes bytes = to_bytes(count);
    EXPECT_THROW(static_cast<void>(from_bytes<std::vector<double>>(bytes)), DamagedArchive);
    EXPECT_THROW(static_cast<void>(from_bytes<std::vector<std::string>>(bytes)), DamagedArchive);
    EXPECT_THROW(static_cast<void>(from_bytes<std::string>(bytes)), DamagedArchive);
    EXPECT_THROW((static_cast<void>(from_bytes<std::map<std::string, bool>>(bytes))), DamagedArchive);
  }
}

}  // namespace
}  // namespace assay::tests::archive_test

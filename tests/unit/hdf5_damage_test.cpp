// Fixture files of the corpus, damaged at random: each is refused with its name, or what was damaged meant nothing and its contents are
// right to the last bit. A few hundred here; ASSAY_DAMAGED_FILES=10000 and ASSAY_DAMAGE_SEED=N make it more and others.
//
// Files that assay wrote carry checksums: lookup3 over everything that is not data, Fletcher-32 over packed chunks and Adler-32 over what
// they unpack to. Bytes that none of them covers are free space, and nothing reads those.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/counter.h"
#include "fixtures/hdf5_file.h"
#include "fixtures/shelf.h"
#include "tests/support/files.h"

namespace assay::tests::hdf5_damage_test {
namespace {

using fixtures::FileDescription;
using fixtures::FileError;
using fixtures::Tensor;
using fixtures::TensorSpec;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const std::string_view digits = text;
  std::from_chars(digits.data(), digits.data() + digits.size(), otherwise);
  return otherwise;
}

struct Sound {
  std::string name, bytes;
  FileDescription description;
  std::vector<Tensor> tensors;
};

std::vector<Sound> corpus() {
  std::vector<Sound> files;
  for (const std::filesystem::path& file : fixtures::Shelf().corpus_files()) {
    Sound sound;
    sound.name = file.filename().string();
    std::ifstream stream(file, std::ios::binary);
    sound.bytes.assign(std::istreambuf_iterator<char>(stream), {});
    sound.description = fixtures::describe_file(file);
    sound.tensors = fixtures::read_tensors(file, sound.description.tensors);
    files.push_back(std::move(sound));
  }
  return files;
}

// One damaged file, and what was done to it.
struct Damaged {
  std::string bytes, what;
};

// Numbers of one case of damage, none twice.
class Dice {
 public:
  Dice(const fixtures::Counter& counter, std::uint64_t number) : counter_(counter), next_(number << 20) {}
  std::uint64_t below(std::uint64_t bound) { return counter_.below(next_++, bound); }
  char byte() { return static_cast<char>(below(256)); }

 private:
  const fixtures::Counter& counter_;
  std::uint64_t next_;
};

Damaged damage(const std::string& sound, Dice& dice) {
  Damaged result{sound, {}};
  std::string& bytes = result.bytes;
  const auto flip = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bit = dice.below(8 * bytes.size());
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    return fmt::format("{} bits flipped", count);
  };
  // Most of a file is data; its structure is in its first few kilobytes and at its end.
  const auto range = [&] {
    const std::uint64_t length = 1 + dice.below(std::min<std::uint64_t>(bytes.size(), std::uint64_t{1} << dice.below(13)));
    const std::uint64_t within = dice.below(3) == 0 ? std::min<std::uint64_t>(bytes.size(), 4096) : bytes.size();
    return std::pair(dice.below(std::max<std::uint64_t>(within - std::min(within - 1, length), 1)), length);
  };
  switch (dice.below(8)) {
    case 0:
      result.what = flip(1);
      break;
    case 1:
      result.what = flip(2 + dice.below(15));
      break;
    case 2:
      bytes.resize(dice.below(bytes.size()));
      result.what = fmt::format("cut to {} bytes", bytes.size());
      break;
    case 3: {
      const auto [start, length] = range();
      for (std::uint64_t i = start; i < std::min<std::uint64_t>(start + length, bytes.size()); ++i) bytes[i] = dice.byte();
      result.what = fmt::format("{} random bytes at {}", length, start);
      break;
    }
    case 4: {
      const auto [start, length] = range();
      const char value = dice.below(2) == 0 ? '\0' : '\xff';
      for (std::uint64_t i = start; i < std::min<std::uint64_t>(start + length, bytes.size()); ++i) bytes[i] = value;
      result.what = fmt::format("{} bytes of {} at {}", length, value == '\0' ? 0 : 255, start);
      break;
    }
    case 5: {  // a piece of the file somewhere else in it
      const auto [start, length] = range();
      const auto [target, unused] = range();
      const std::string piece = bytes.substr(start, length);
      bytes.replace(target, std::min<std::uint64_t>(piece.size(), bytes.size() - target), piece.substr(0, bytes.size() - target));
      result.what = fmt::format("{} bytes from {} written over {}", length, start, target);
      break;
    }
    case 6: {
      const auto [start, length] = range();
      bytes.erase(start, length);
      result.what = fmt::format("{} bytes taken out at {}", length, start);
      break;
    }
    default: {
      const auto [start, length] = range();
      std::string piece;
      for (std::uint64_t i = 0; i < length; ++i) piece += dice.byte();
      bytes.insert(start, piece);
      result.what = fmt::format("{} bytes put in at {}", length, start);
    }
  }
  return result;
}

// How reading it ended; a failure if it was read with other contents.
std::string outcome_of(const std::filesystem::path& path, const Sound& sound) {
  try {
    const FileDescription description = fixtures::describe_file(path);
    EXPECT_EQ(description.format, sound.description.format);
    EXPECT_EQ(description.tensors, sound.description.tensors);
    // A caller asks for what the case needs, not for what the file claims to have.
    const bool is_equal = fixtures::read_tensors(path, sound.description.tensors) == sound.tensors;
    EXPECT_TRUE(is_equal) << "accepted with other data";
    return "accepted";
  } catch (const FileError& error) {
    const std::string_view text = error.what();
    EXPECT_THAT(error.what(), testing::StartsWith(path.string()));
    if (text.find("broke down") != std::string_view::npos) return "broke the library down";
    return text.find("given up") == std::string_view::npos ? "refused" : "given up";
  }
}

TEST(Hdf5Damage, DamagedFixturesAreRefusedOrRight) {
  const std::uint64_t files = setting("ASSAY_DAMAGED_FILES", 300);
  const std::uint64_t seed = setting("ASSAY_DAMAGE_SEED", 1);
  const std::vector<Sound> sound = corpus();
  ASSERT_GE(sound.size(), 30U);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "damaged.h5";
  const fixtures::Counter counter(seed, fixtures::Stream::noise);
  std::map<std::string, std::uint64_t> outcomes;
  std::chrono::duration<double> longest{0};
  for (std::uint64_t i = 0; i < files; ++i) {
    const Sound& one = sound[i % sound.size()];
    Dice dice(counter, i);
    const Damaged damaged = damage(one.bytes, dice);
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(damaged.bytes.data(), static_cast<long>(damaged.bytes.size()));
    const auto start = std::chrono::steady_clock::now();
    ++outcomes[outcome_of(path, one)];
    longest = std::max<std::chrono::duration<double>>(longest, std::chrono::steady_clock::now() - start);
    ASSERT_FALSE(testing::Test::HasFailure()) << "number " << i << " of seed " << seed << ": " << one.name << ", " << damaged.what;
  }
  for (const auto& [outcome, count] : outcomes) testing::Test::RecordProperty(outcome, static_cast<int>(count));
  if (files > 300) {
    for (const auto& [outcome, count] : outcomes) fmt::print("{}: {}\n", outcome, count);
    fmt::print("{} damaged files of seed {}; the longest took {:.2f} s\n", files, seed, longest.count());
  }
  EXPECT_GT(outcomes["refused"], files / 2);
}

}  // namespace
}  // namespace assay::tests::hdf5_damage_test

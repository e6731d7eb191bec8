// Fixture files as cases: the corpus against its generators and oracles, what a file must say, and what it may not hold.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "families/shared/decode_inputs.h"
#include "fixtures/hdf5_file.h"
#include "fixtures/shelf.h"
#include "harness/cases/case_data.h"
#include "harness/cases/file_case.h"
#include "harness/cases/file_contents.h"
#include "harness/cases/suite.h"
#include "tests/support/files.h"

namespace assay::tests::fixture_files_test {
namespace {

using fixtures::FileError;
using fixtures::Tensor;
using harness::Case;
using harness::FileContents;
using harness::LoadedFile;
using namespace ::testing;

std::vector<std::string> corpus() {
  std::vector<std::string> files;
  for (const std::filesystem::path& file : fixtures::Shelf().corpus_files()) files.push_back(file.string());
  return files;
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, HoldsWhatItsGeneratorMakesAndTheOracleFinds) {
  const LoadedFile loaded = harness::load_file(GetParam());
  EXPECT_FALSE(loaded.file_case.generator.empty());
  EXPECT_FALSE(loaded.expectation.empty());
  EXPECT_THAT(harness::verify_file(GetParam(), loaded), IsEmpty());
}

TEST_P(Corpus, IsMadeAgainWithEqualContents) {
  const LoadedFile loaded = harness::load_file(GetParam());
  Case made = loaded.file_case.value;
  made.fixture = loaded.file_case.generator;
  const FileContents contents = harness::contents_of(made);
  EXPECT_EQ(contents.format, fixtures::describe_file(GetParam()).format);
  ASSERT_EQ(contents.tensors.size(), loaded.inputs.size() + loaded.expectation.size());
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) EXPECT_EQ(contents.tensors[i], loaded.inputs[i]);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Corpus, testing::ValuesIn(corpus()),
                         [](const auto& parameter) { return std::filesystem::path(parameter.param).stem().string(); });

TEST(CorpusCases, EveryFamilyHasSomeInItsGateAndTheyReplay) {
  std::uintmax_t bytes = 0;
  for (const std::string& file : corpus()) bytes += std::filesystem::file_size(file);
  EXPECT_LT(bytes, 3U << 20);
  for (const families::Family& family : families::all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    kernels::Variant variant;
    variant.name = "some_v1";
    variant.family = family.name();
    const std::vector<Case> gate = suite_cases(harness::Suite::gate, variant, 5);
    const std::vector<Case> files = harness::corpus_cases(family, variant.name);
    EXPECT_GE(files.size(), 4U) << family.name();
    for (const Case& value : files) {
      EXPECT_NE(std::ranges::find(gate, value), gate.end()) << harness::format_case(value);
      EXPECT_EQ(harness::parse_case(harness::format_case(value), family), value);
    }
  }
}

TEST(FileWord, IsAStemThatFitsIntoAName) {
  EXPECT_EQ(harness::file_word("/tmp/a.b-c_D.h5"), "h5-a.b-c_D");
  EXPECT_EQ(harness::file_stem("h5-a.b-c_D"), "a.b-c_D");
  for (const char* word : {"gauss", "h5-", "h5-a b", "h5-a*", "H5-a"}) EXPECT_FALSE(harness::file_stem(word)) << word;
  fixtures::Shelf shelf;
  EXPECT_THROW(shelf.add("a b.h5"), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(shelf.find("no_such_file")), std::invalid_argument);
  shelf.add("here/mine.h5");
  shelf.add("here/mine.h5");
  EXPECT_EQ(shelf.find("mine"), "here/mine.h5");
  EXPECT_THROW(shelf.add("there/mine.h5"), std::invalid_argument);
}

class FixtureFile : public TestInFolder {
 protected:
  static FileContents contents(const std::string& name) {
    return harness::contents_of(harness::parse_case(name, families::find_family(harness::variant_of(name))));
  }
  // Window and length end inside a chunk; chunk 0 (slots 0..31) is wholly masked, slots 70.. are behind the end.
  static FileContents decode() { return contents("tq4/d256/h2x1/kv70c96/ring0/win20/nwg2/gauss/s3"); }
  // As an application that knows no case names writes it.
  static FileContents captured() {
    FileContents result = decode();
    result.format = {{"version", std::int64_t{1}},      {"family", "tq4"},
                     {"head_dim", std::int64_t{256}},   {"n_heads", 2.0},
                     {"n_kv_heads", std::int64_t{1}},   {"kv_len", std::int64_t{70}},
                     {"kv_capacity", std::int64_t{96}}, {"ring_start", std::int64_t{0}},
                     {"mask_type", std::int64_t{2}},    {"sliding_window", std::int64_t{20}},
                     {"scale", std::int64_t{0}}};
    result.tensors.resize(5);
    return result;
  }
  void write(const FileContents& contents) const { fixtures::write_file(path_, contents.format, contents.tensors); }
  static Tensor& tensor(FileContents& contents, const std::string& path) {
    return *std::ranges::find(contents.tensors, path, [](const Tensor& one) -> const std::string& { return one.spec.path; });
  }
  template <typename T>
  static void set(FileContents& contents, const std::string& path, std::size_t index, T value) {
    Tensor& one = tensor(contents, path);
    std::vector<T> values = one.values<T>();
    values.at(index) = value;
    one = fixtures::make_tensor<T>(one.spec, values);
  }
  // What load_file and the oracle say about contents that `spoil` was at.
  std::string refusal(FileContents contents, const std::function<void(FileContents&)>& spoil) const {
    spoil(contents);
    write(contents);
    try {
      const LoadedFile loaded = harness::load_file(path_);
      static_cast<void>(harness::verify_file(path_, loaded));
      return "accepted";
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(path_.string()));
      return error.what();
    }
  }

  const std::filesystem::path path_ = folder_ / "mine.h5";
};

TEST_F(FixtureFile, CapturedInputsNeedNoNameAndNoExpectation) {
  write(captured());
  const LoadedFile loaded = harness::load_file(path_);
  Case value = loaded.file_case.value;
  value.variant = "mine";
  EXPECT_EQ(harness::format_case(value), "mine/d256/h2x1/kv70c96/ring0/win20/nwg16/h5-mine/s0");
  EXPECT_EQ(loaded.file_case.generator, "");
  EXPECT_THAT(loaded.expectation, IsEmpty());
  EXPECT_THAT(harness::verify_file(path_, loaded), IsEmpty());
}

TEST_F(FixtureFile, AScaleOfItsOwnIsABitPattern) {
  FileContents contents = captured();
  contents.format["scale"] = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(0.0884F));
  write(contents);
  EXPECT_EQ(families::decode_request(harness::load_file(path_).file_case.value, {}).shape.scale, 0.0884F);
}

TEST_F(FixtureFile, AScaleThatIsAFloatingNumberIsTheFactor) {
  for (const double scale : {0.0884, 1.0, 2.0, 0.25, 37.5}) {
    FileContents contents = captured();
    contents.format["scale"] = scale;
    write(contents);
    EXPECT_EQ(families::decode_request(harness::load_file(path_).file_case.value, {}).shape.scale, static_cast<float>(scale));
  }
  const auto with = [&](const fixtures::Attribute& value) {
    return refusal(captured(), [&](FileContents& contents) { contents.format["scale"] = value; });
  };
  // The bits of 2.8e-45, which is never intended.
  EXPECT_THAT(with(std::int64_t{2}), AllOf(HasSubstr("/format@scale: is 2, outside 0 .. 1"), HasSubstr("2.0")));
  EXPECT_THAT(with(-0.5), HasSubstr("/format@scale: is -0.5; a factor is a positive number"));
  EXPECT_THAT(with(1e-40), HasSubstr("a factor is a positive number"));
  EXPECT_THAT(with(std::numeric_limits<double>::infinity()), HasSubstr("/format@scale: is inf"));
}

TEST_F(FixtureFile, AttributesThatMakeNoCaseAreRefusedByName) {
  const auto with = [&](const std::string& name, const fixtures::Attribute& value) {
    return refusal(captured(), [&](FileContents& contents) { contents.format[name] = value; });
  };
  const auto without = [&](const std::string& name) {
    return refusal(captured(), [&](FileContents& contents) { contents.format.erase(name); });
  };
  EXPECT_THAT(with("version", std::int64_t{2}), HasSubstr("/format@version: is 2; this assay reads version 1"));
  EXPECT_THAT(without("version"), HasSubstr("/format@version: is missing"));
  EXPECT_THAT(with("family", "tq5"), AllOf(HasSubstr("/format@family"), HasSubstr("tq5")));
  EXPECT_THAT(with("family", std::int64_t{4}), HasSubstr("/format@family: must be a string"));
  EXPECT_THAT(without("kv_len"), HasSubstr("/format@kv_len: is missing"));
  EXPECT_EQ(with("block_norms", std::int64_t{0}), "accepted");
  EXPECT_THAT(with("block_norms", std::int64_t{1}), HasSubstr("/format@scale_factor_d512: is missing"));
  EXPECT_THAT(with("kv_len", "many"), HasSubstr("/format@kv_len: must be an integer"));
  EXPECT_THAT(with("kv_len", 69.5), HasSubstr("/format@kv_len: must be an integer"));
  EXPECT_THAT(with("kv_len", std::int64_t{-1}), HasSubstr("/format@kv_len: is -1"));
  EXPECT_THAT(with("kv_len", std::int64_t{97}), HasSubstr("kv_capacity = 96 is below kv_len = 97"));
  EXPECT_THAT(with("kv_capacity", std::int64_t{97}), HasSubstr("/inputs/k_codes: is uint8 [1, 96, 128], but uint8 [1, 97, 128] is needed"));
  EXPECT_THAT(with("seed", std::int64_t{-3}), HasSubstr("/format@seed: is -3"));
  const auto generated = [&](const std::string& name, const fixtures::Attribute& value) {
    return refusal(decode(), [&](FileContents& contents) { contents.format[name] = value; });
  };
  EXPECT_THAT(generated("case", "tq4/d256/h2x1"), HasSubstr("/format@case: case 'tq4/d256/h2x1'"));
  EXPECT_THAT(generated("case", "tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg2/gauss/s3"), HasSubstr("must begin with the family"));
  EXPECT_THAT(generated("case", "tq4/d256/h2x1/kv70c96/ring0/win20/nwg2/h5-other/s3"), HasSubstr("names another file"));
  EXPECT_THAT(generated("generator", "needle"), HasSubstr("/format@generator: is 'needle', but the case says 'gauss'"));
  EXPECT_THAT(generated("seed", std::int64_t{4}), HasSubstr("/format@seed: is 4, but the case says 3"));
  EXPECT_THAT(generated("comment", "nothing"), HasSubstr("/format@comment: is unknown"));
  EXPECT_THAT(with("written_by", "my application"), HasSubstr("/format@written_by: is unknown"));
}

TEST_F(FixtureFile, HugeSizesAreRefusedBeforeTheyAreAllocated) {
  const std::string text = refusal(captured(), [](FileContents& contents) {
    contents.format["n_kv_heads"] = std::int64_t{2};
    contents.format["kv_capacity"] = std::int64_t{1} << 24;
  });
  EXPECT_THAT(text, HasSubstr(", the limit of a fixture file"));
}

TEST_F(FixtureFile, ValuesThatNoKernelMayMeetAreRefusedByPlace) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const auto with = [&](const std::string& path, std::size_t index, float value) {
    return refusal(captured(), [&](FileContents& contents) { set(contents, path, index, value); });
  };
  EXPECT_THAT(with("inputs/q", 300, nan), HasSubstr("/inputs/q: has nan at [1, 44]"));
  EXPECT_THAT(with("inputs/q", 0, 65505.0F), HasSubstr("/inputs/q: has 65505 at [0, 0]"));
  EXPECT_THAT(with("inputs/k_norms", 69, nan), HasSubstr("/inputs/k_norms: has nan at [0, 69]"));  // visible
  EXPECT_THAT(with("inputs/v_norms", 33, INFINITY),
              HasSubstr("/inputs/v_norms: has inf at [0, 33]"));  // masked, but in a chunk that is read
  EXPECT_EQ(with("inputs/v_norms", 31, nan), "accepted");         // in a chunk that is skipped
  EXPECT_EQ(with("inputs/k_norms", 70, nan), "accepted");         // behind the end

  const FileContents partials = contents("reduce/d256/rows2/nwg3/gauss/s3");
  const oracles::PartialsShape shape{2, 256, 3};
  const auto with_partial = [&](std::size_t index, float value) {
    return refusal(partials, [&](FileContents& contents) {
      contents.tensors.resize(1);
      set(contents, "inputs/partials", index, value);
    });
  };
  EXPECT_THAT(with_partial(17, INFINITY), HasSubstr("/inputs/partials: has inf at [17]"));
  EXPECT_THAT(with_partial(shape.sum_index(1, 2), -1.0F), HasSubstr("it is S of row 1, workgroup 2"));
  EXPECT_THAT(with_partial(shape.sum_index(1, 2), 0.0F), HasSubstr("it is O of row 1, workgroup 2"));
  EXPECT_EQ(with_partial(shape.max_index(1, 2), 3.0F), "accepted");
  EXPECT_THAT(refusal(contents("fwht/d256/h2/premult/gauss/s1"), [](FileContents& contents) { set(contents, "inputs/data", 256, nan); }),
              HasSubstr("/inputs/data: has nan at [1, 0]"));

  const FileContents token = contents("quantize/d256/b4/g2/pos0c1/gauss/s1");
  const auto with_source = [&](float value) {
    return refusal(token, [&](FileContents& contents) {
      contents.tensors.resize(1);
      set(contents, "inputs/src", 256, value);
    });
  };
  EXPECT_THAT(with_source(nan), HasSubstr("/inputs/src: has nan at [1, 0]"));
  EXPECT_THAT(with_source(2e19F), HasSubstr("/inputs/src: has a row 1 whose sum of squares"));
  EXPECT_EQ(with_source(1e19F), "accepted");

  const FileContents slot = contents("dequantize/d512/b5/g2/pos1c3/gauss/s1");
  const auto with_slot = [&](const std::string& path, std::size_t index, auto value) {
    return refusal(slot, [&](FileContents& contents) {
      contents.tensors.resize(2);
      set(contents, path, index, value);
    });
  };
  EXPECT_THAT(with_slot("inputs/norms", 2 * (3 + 1) + 1, nan), HasSubstr("/inputs/norms: has nan at [1, 1, 1]"));
  EXPECT_EQ(with_slot("inputs/norms", 2 * (3 + 2), nan), "accepted");  // another slot
  EXPECT_THAT(with_slot("inputs/codes", 512 * 1 + 7, std::uint8_t{32}), HasSubstr("/inputs/codes: has 32 at [0, 1, 7]"));
  EXPECT_EQ(with_slot("inputs/codes", 512 * 2 + 7, std::uint8_t{32}), "accepted");
}

TEST_F(FixtureFile, MissingHalfAndUnknownTensorsAreRefused) {
  EXPECT_THAT(refusal(captured(), [](FileContents& contents) { contents.tensors.pop_back(); }), HasSubstr("/inputs/v_norms: is missing"));
  EXPECT_THAT(refusal(decode(), [](FileContents& contents) { contents.tensors.pop_back(); }), HasSubstr("/bound: is missing"));
  EXPECT_THAT(refusal(captured(), [](FileContents& contents) { contents.tensors.back().spec.path = "inputs/v_norm"; }),
              AllOf(HasSubstr("/inputs/v_norm: is unknown"), HasSubstr("inputs/v_norms")));
  EXPECT_THAT(refusal(decode(), [](FileContents& contents) { set(contents, "bound/output", 5, -1.0); }),
              HasSubstr("/bound/output: has -1 at element 5"));
  EXPECT_THAT(refusal(decode(), [](FileContents& contents) { set(contents, "expected/output", 5, std::nan("")); }),
              HasSubstr("/expected/output: has nan at element 5"));
}

TEST_F(FixtureFile, VerifyReportsOneChangedBitAndOneShiftedExpectation) {
  const auto findings = [&](const std::function<void(FileContents&)>& spoil) {
    FileContents contents = decode();
    spoil(contents);
    write(contents);
    return harness::verify_file(path_, harness::load_file(path_));
  };
  EXPECT_THAT(findings([](FileContents&) {}), IsEmpty());
  // In a chunk that no kernel reads: the expectation is the same, the generator's contents are not.
  EXPECT_THAT(findings([](FileContents& contents) {
                auto codes = tensor(contents, "inputs/k_codes").values<std::uint8_t>();
                set<std::uint8_t>(contents, "inputs/k_codes", 77, static_cast<std::uint8_t>(codes[77] ^ 1U));
              }),
              testing::ElementsAre(HasSubstr("/inputs/k_codes: element 77")));
  // A thousandth of the bound: far within it, far beyond what double may differ by.
  EXPECT_THAT(findings([](FileContents& contents) {
                const double value = tensor(contents, "expected/output").values<double>()[9];
                const double bound = tensor(contents, "bound/output").values<double>()[9];
                set(contents, "expected/output", 9, value + 1e-3 * bound);
              }),
              testing::ElementsAre(AllOf(HasSubstr("/expected/output"), HasSubstr("element 9"))));
  EXPECT_THAT(findings([](FileContents& contents) {
                const double bound = tensor(contents, "bound/output").values<double>()[9];
                set(contents, "bound/output", 9, 1.01 * bound);
              }),
              testing::ElementsAre(AllOf(HasSubstr("/bound/output"), HasSubstr("element 9"))));
}

TEST_F(FixtureFile, AFileFitsItsOwnCaseAndOtherWorkgroups) {
  write(decode());
  const harness::FileCase of_file = harness::load_file(path_).file_case;
  const auto agrees = [&](const std::string& name) -> std::string {
    try {
      require_agreement(harness::parse_case(name, families::find_family("tq4")), path_, of_file);
      return "agrees";
    } catch (const FileError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(agrees("tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg2/h5-mine/s3"), "agrees");
  EXPECT_EQ(agrees("tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg7/h5-mine/s3"), "agrees");
  EXPECT_THAT(agrees("tq4_v1/d256/h2x1/kv70c96/ring0/win21/nwg2/h5-mine/s3"), HasSubstr("sliding_window is 20, but the case"));
  EXPECT_THAT(agrees("tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg2/h5-mine/s4"), HasSubstr("seed is 3, but the case"));
}

}  // namespace
}  // namespace assay::tests::fixture_files_test

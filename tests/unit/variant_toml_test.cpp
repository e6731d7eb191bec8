// variant.toml: what is read, and that everything else is refused with file, line and the accepted keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "families/registry.h"
#include "kernels/variant.h"
#include "tests/support/files.h"

namespace assay::tests::variant_toml_test {
namespace {

using namespace kernels;

using namespace ::testing;

Variant parse(std::string_view text) { return parse_variant(text, "mine", "dir/variant.toml", families::contracts()); }

TEST(VariantToml, EveryTableIsRead) {
  const Variant variant = parse(R"(
family = "tq4"
source = "kernel.metal"
about = "something"
claims = ["same_bits_as:tq4_v1", "same_bits_as:tq4_v2@nwg=1,kv_len=33"]
superseded_by = "theirs"
offset_bits = 64
[entry]
d256 = "mine_256"
[limits]
nwg = [1, 2]
[fields]
tile = 32
gain = 0.5
fast = true
[bind]
"dst" = "out"
[accuracy]
dot_depth = 13
accumulator = "half"
accumulator_keys = 8
stores = ["bf16", "float"]
merge_store = "half"
reason = "because"
[[known_finding]]
when = "n <= 32"
shows = "nan"
see = "FINDINGS.md"
[[known_finding]]
when = "nwg == 3"
shows = "hazard:barrier_divergence@12"
)");
  EXPECT_EQ(variant.name, "mine");
  EXPECT_EQ(variant.family, "tq4");
  EXPECT_EQ(variant.source, "dir/kernel.metal");
  EXPECT_EQ(variant.about, "something");
  ASSERT_EQ(variant.claims.size(), 2U);
  EXPECT_EQ(variant.claims[0].same_bits_as, "tq4_v1");
  EXPECT_TRUE(variant.claims[0].where.empty());
  EXPECT_EQ(variant.claims[1].text, "same_bits_as:tq4_v2@nwg=1,kv_len=33");
  EXPECT_EQ(variant.claims[1].same_bits_as, "tq4_v2");
  EXPECT_THAT(variant.claims[1].where, ElementsAre(std::pair("nwg", 1), std::pair("kv_len", 33)));
  EXPECT_EQ(variant.claims[1].line, 5U);
  ASSERT_TRUE(variant.superseded_by);
  EXPECT_EQ(variant.superseded_by->name, "theirs");
  EXPECT_EQ(variant.superseded_by->line, 6U);
  EXPECT_EQ(variant.offset_bits, 64U);
  EXPECT_EQ(variant.function("d256"), "mine_256");
  EXPECT_EQ(variant.function("d512"), "flash_attn_vec_tq_dk512");
  ASSERT_EQ(variant.limits.size(), 1U);
  EXPECT_EQ(variant.limits[0].axis, "nwg");
  EXPECT_THAT(variant.limits[0].values, ElementsAre(1, 2));
  EXPECT_EQ(variant.limits[0].line, 11U);
  EXPECT_EQ(std::bit_cast<std::int64_t>(variant.fields.at("tile").bits), 32);
  EXPECT_EQ(std::bit_cast<double>(variant.fields.at("gain").bits), 0.5);
  EXPECT_EQ(variant.fields.at("fast").bits, 1U);
  EXPECT_EQ(variant.bind.at("dst"), "out");
  EXPECT_EQ(variant.accuracy.dot_depth, 13U);
  EXPECT_EQ(variant.accuracy.accumulator, "half");
  EXPECT_EQ(variant.accuracy.accumulator_keys, 8U);
  EXPECT_THAT(variant.accuracy.stores, ElementsAre("bf16", "float"));
  EXPECT_EQ(variant.accuracy.merge_store, "half");
  ASSERT_EQ(variant.known_findings.size(), 2U);
  EXPECT_EQ(variant.known_findings[1].shows, "hazard:barrier_divergence@12");
}

TEST(VariantToml, SaysHowItsHostCompilesIt) {
  const Variant variant = parse(R"(
family = "tq4"
source = ["a.metal", "b.metal", "sub/c.metal"]
[compile]
include = ["include", "../host"]
define = ["TILE=4", "FAST"]
metal_version = "2.4"
[entry]
d256 = { function = "attend", define = ["HEAD_DIM=256"] }
d512 = { define = ["HEAD_DIM=512"] }
)");
  EXPECT_EQ(variant.source, "dir/a.metal");
  EXPECT_EQ(variant.translation_unit(), (std::vector<std::filesystem::path>{"dir/a.metal", "dir/b.metal", "dir/sub/c.metal"}));
  EXPECT_EQ(variant.compile.include_directories, (std::vector<std::filesystem::path>{"dir/include", "dir/../host"}));
  EXPECT_EQ(variant.compile.definitions, (std::vector<std::string>{"TILE=4", "FAST"}));
  EXPECT_EQ(variant.compile.metal_version, 240);
  EXPECT_EQ(variant.function("d256"), "attend");
  EXPECT_EQ(variant.definitions_of("d256"), std::vector<std::string>{"HEAD_DIM=256"});
  EXPECT_EQ(variant.function("d512"), "flash_attn_vec_tq_dk512");
  EXPECT_EQ(variant.definitions_of("d512"), std::vector<std::string>{"HEAD_DIM=512"});
}

TEST(VariantToml, TwoLinesAreEnough) {
  const Variant variant = parse("family = \"fwht\"\nsource = \"k.metal\"\n");
  EXPECT_EQ(variant.function("undo_d512"), "fwht_sign_undo_f32_d512");
  EXPECT_EQ(variant.offset_bits, 32U);
  EXPECT_FALSE(variant.accuracy.dot_depth);
  EXPECT_FALSE(variant.superseded_by);
}

struct Refused {
  const char* text;  // behind the two required lines, so its first line is line 3
  std::vector<std::string> words;
};

TEST(VariantToml, WhatIsNotInTheGrammarIsRefused) {
  const std::vector<Refused> all = {
      {"sourec = 1", {":3:", "'sourec'", "family, source, about"}},
      {"[entries]", {":3:", "'entries'", "entry"}},
      {"[entry]\nd128 = \"f\"", {":4:", "'d128'", "d256, d512"}},
      {"[entry]\nd256 = 3", {":4:", "string", "integer"}},
      {"entry = 3", {":3:", "table", "integer"}},
      {"[entry]\nd256 = { define = [\"2X\"] }", {":4:", "d256.define", "'2X' is not a macro definition"}},
      {"[entry]\nd256 = { defines = [\"X\"] }", {":4:", "'defines'", "function, define"}},
      {"[compile]\ndefine = [\"a b\"]", {":4:", "[compile] define", "'a b' is not a macro definition"}},
      {"[compile]\nmetal_version = 3.1", {":4:", "metal_version", "string"}},
      {"[compile]\nmetal_version = \"4.0\"", {":4:", "Metal 4.0 is not supported"}},
      {"[compile]\nincludes = []", {":4:", "'includes'", "include, define, metal_version"}},
      {"[limits]\nnwg = 3", {":4:", "nwg", "array"}},
      {"[limits]\nnwg = []", {":4:", "nwg"}},
      {"[limits]\nnwg = [1, \"2\"]", {":4:", "nwg", "string"}},
      {"[fields]\nscale = 1.0", {":4:", "scale", "tq4"}},
      {"[fields]\nx = \"1\"", {":4:", "x", "string"}},
      {"[bind]\nout = \"dst\"", {":4:", "'out'", "params, Q, K_packed"}},
      {"[accuracy]\ndot_depth = 13", {":3:", "reason"}},
      {"[accuracy]\ndot_depth = 0\nreason = \"x\"", {":4:", "dot_depth", "0"}},
      {"[accuracy]\naccumulator_keys = 33\nreason = \"x\"", {":4:", "33", "1 .. 32"}},
      {"[accuracy]\naccumulator = \"bf16\"\nreason = \"x\"", {":4:", "bf16", "float, half"}},
      {"[accuracy]\nmerge_store = \"int\"\nreason = \"x\"", {":4:", "merge_store is 'int'", "float, half, bf16"}},
      {"[accuracy]\nstores = [\"int\"]\nreason = \"x\"", {":4:", "int", "float, half, bf16"}},
      {"[accuracy]\ndepth = 13\nreason = \"x\"", {":4:", "'depth'", "dot_depth"}},
      {"[known_finding]\nwhen = \"x\"", {":3:", "[[known_finding]]"}},
      {"[[known_finding]]\nwhen = \"x\"", {":3:", "shows"}},
      {"[[known_finding]]\nwhen = \"x\"\nshows = \"nan\"\nwhy = \"y\"", {":6:", "'why'", "when, shows, see"}},
      {"offset_bits = 48", {":3:", "48", "32, 64"}},
      {"superseded_by = [\"a\"]", {":3:", "'superseded_by'", "string", "array"}},
      {"about = \"x\"\nsuperseded_by = \"a b\"", {":4:", "'superseded_by' is 'a b'", "is not a variant"}},
      {"about = \"\"", {":3:", "'about'", "empty"}},
      {"claims = \"x\"", {":3:", "claims", "array"}},
      {"claims = [\n\"same_bits_as:a\", \"nonsense:whatever\"]", {":4:", "'nonsense:whatever'", "accepted: same_bits_as:VARIANT"}},
      {"claims = [\"same_bits_as:\"]", {":3:", "does not name a variant"}},
      {"claims = [\"same_bits_as:a b\"]", {":3:", "does not name a variant"}},
      {"claims = [\"same_bits_as:mine\"]", {":3:", "the same bits as itself"}},
      {"claims = [\"same_bits_as:a@\"]", {":3:", "'' is not AXIS=VALUE"}},
      {"claims = [\"same_bits_as:a@nwg\"]", {":3:", "'nwg' is not AXIS=VALUE"}},
      {"claims = [\"same_bits_as:a@=1\"]", {":3:", "'=1' is not AXIS=VALUE"}},
      {"claims = [\"same_bits_as:a@nwg=1,\"]", {":3:", "'' is not AXIS=VALUE"}},
      {"claims = [\"same_bits_as:a@nwg=1x\"]", {":3:", "'1x' is not an integer"}},
      {"claims = [1]", {":3:", "string", "integer"}},
      {"about = ", {":3:", "TOML"}},
  };
  for (const Refused& refused : all) {
    const std::string text = std::string("family = \"tq4\"\nsource = \"kernel.metal\"\n") + refused.text;
    try {
      parse(text);
      ADD_FAILURE() << "was accepted: " << refused.text;
    } catch (const VariantError& error) {
      EXPECT_THAT(error.what(), HasSubstr("dir/variant.toml")) << refused.text;
      for (const std::string& word : refused.words) EXPECT_THAT(error.what(), HasSubstr(word)) << refused.text;
    }
  }
}

TEST(VariantToml, FamilyAndSourceAreRequired) {
  EXPECT_THROW(parse("source = \"k.metal\""), VariantError);
  EXPECT_THROW(parse("family = \"tq4\""), VariantError);
  try {
    parse("family = \"tq5\"\nsource = \"k.metal\"");
    FAIL();
  } catch (const VariantError& error) {
    EXPECT_THAT(error.what(), HasSubstr(":1:"));
    EXPECT_THAT(error.what(), HasSubstr("accepted: tq4, "));
  }
}

TEST(VariantFolders, OursAreFoundAndComplete) {
  const std::vector<Variant> variants = find_variants(kRoot / "kernels/variants", families::contracts());
  std::vector<std::string> names;
  for (const Variant& variant : variants) {
    names.push_back(variant.name);
    EXPECT_TRUE(std::filesystem::is_regular_file(variant.source)) << variant.source;
    EXPECT_FALSE(variant.about.empty()) << variant.name;
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"fwht_v1", "reduce_v1", "tq4_v1"}));
}

class KernelFolder {
 public:
  KernelFolder() { std::filesystem::create_directories(own_.path() / "k"); }
  void write(const char* name, const char* text) const { std::ofstream(own_.path() / name) << text; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return own_.path() / name; }

 private:
  TemporaryFolder own_;
};

TEST(VariantFolders, AUsersKernelIsAFileADescriptionOrItsFolder) {
  const KernelFolder folder;
  folder.write("k/a.metal", "");
  EXPECT_EQ(variant_from_path(folder / "k/a.metal", "fwht", families::contracts()).name, "a");
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "k/a.metal", "", families::contracts())), VariantError)
      << "a lone file says not what it is";
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "k", "fwht", families::contracts())), VariantError) << "no description";
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "k/b.metal", "fwht", families::contracts())), VariantError) << "no such file";
  folder.write("k/variant.toml", "family = \"fwht\"\nsource = \"a.metal\"\n");
  EXPECT_EQ(variant_from_path(folder / "k", "", families::contracts()).name, "k");
  EXPECT_EQ(variant_from_path(folder / "k/variant.toml", "fwht", families::contracts()).family, "fwht");
  EXPECT_EQ(variant_from_path(folder / "k/a.metal", "", families::contracts()).name, "k") << "described by what stands beside it";
  EXPECT_EQ(variant_from_path(folder / "k/a.metal", "fwht", families::contracts()).name, "a") << "asked for as a lone file";
  folder.write("k/b.metal", "");
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "k/b.metal", "", families::contracts())), VariantError)
      << "another file is described";
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "k", "tq4", families::contracts())), VariantError)
      << "the description says otherwise";
  folder.write("k/variant.toml", "family = \"fwht\"\nsource = \"missing.metal\"\n");
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "k", "", families::contracts())), VariantError);
  folder.write("k/spaced name.metal", "");
  EXPECT_EQ(variant_from_path(folder / "k/spaced name.metal", "fwht", families::contracts()).name, "spaced_name")
      << "one word of a case name";
  folder.write("k/it's.metal", "");
  EXPECT_EQ(variant_from_path(folder / "k/it's.metal", "fwht", families::contracts()).name, "it_s");
  folder.write("spaced folder/a.metal", "");
  folder.write("spaced folder/variant.toml", "family = \"fwht\"\nsource = \"a.metal\"\n");
  EXPECT_THROW(static_cast<void>(variant_from_path(folder / "spaced folder", "", families::contracts())), VariantError)
      << "its author chooses the name";
}

// What stands beside it: the successor, if there is one, of which family, and superseded by whom.
TEST(VariantFolders, ASuccessorStandsBesideItDoesTheSameJobAndIsNotSupersededItself) {
  const KernelFolder folder;
  for (const char* name : {"mine", "next", "other"}) {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "kernel.metal") << "";
  }
  const std::string tail = "source = \"kernel.metal\"\n";
  const auto read_after = [&](const std::string& mine, const std::string& next) {
    folder.write("mine/variant.toml", ("family = \"fwht\"\n" + tail + "superseded_by = \"" + mine + "\"\n").c_str());
    folder.write("next/variant.toml", ("family = \"fwht\"\n" + tail + next).c_str());
    folder.write("other/variant.toml", ("family = \"reduce\"\n" + tail).c_str());
    try {
      static_cast<void>(variant_from_path(folder / "mine", "", families::contracts()));
    } catch (const VariantError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(read_after("next", ""), "accepted");
  EXPECT_EQ(find_variants(folder / "", families::contracts()).size(), 3U);
  EXPECT_THAT(read_after("nobody", ""), AllOf(HasSubstr("mine/variant.toml:3: "), HasSubstr("'nobody'"), HasSubstr("there is no ")));
  EXPECT_THAT(read_after("mine", ""), AllOf(HasSubstr("mine/variant.toml:3: "), HasSubstr("the variant itself")));
  EXPECT_THAT(read_after("other", ""), AllOf(HasSubstr("mine/variant.toml:3: "), HasSubstr("of family reduce, not of fwht")));
  EXPECT_THAT(read_after("next", "superseded_by = \"mine\"\n"),
              AllOf(HasSubstr("mine/variant.toml:3: "), HasSubstr("itself superseded by 'mine'")));
  EXPECT_THAT(read_after("next", "family = 3\n"), HasSubstr("next/variant.toml:3: "));
}

TEST(VariantFields, AssignmentsAreNumbers) {
  EXPECT_EQ(parse_field_assignment("a=-3").second.kind, metal::FieldValue::Kind::signed_integer);
  EXPECT_EQ(std::bit_cast<std::int64_t>(parse_field_assignment("a=-3").second.bits), -3);
  EXPECT_EQ(parse_field_assignment("a=18446744073709551615").second.bits, 18446744073709551615U);
  EXPECT_EQ(std::bit_cast<double>(parse_field_assignment("a=2.5e-3").second.bits), 2.5e-3);
  EXPECT_EQ(parse_field_assignment("flag=true").second.bits, 1U);
  EXPECT_EQ(parse_field_assignment("name=7").first, "name");
  for (const char* wrong : {"a", "=3", "a=", "a=x", "a=3x", "a=1 2"})
    EXPECT_THROW(static_cast<void>(parse_field_assignment(wrong)), VariantError) << wrong;
}

// toml++ takes a table apart by recursion, and a dotted key is one table per dot.
TEST(VariantToml, DepthAndSizeAreLimited) {
  const auto repeated = [](std::string_view text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) result += text;
    return result;
  };
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse(text));
    } catch (const VariantError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(complaint("family = \"tq4\"\n" + repeated("a.", 100'000) + "b = 1"),
              HasSubstr("dir/variant.toml:2: more than 64 dots in one line of keys"));
  EXPECT_THAT(complaint("[" + repeated("a.", 100'000) + "b]"), HasSubstr("dir/variant.toml:1: more than 64 dots"));
  EXPECT_THAT(complaint("a = " + repeated("[", 100'000)), HasSubstr("dir/variant.toml:1: not valid TOML"));
  EXPECT_THAT(complaint(std::string((std::size_t{256} << 10) + 1, '\n')), HasSubstr("dir/variant.toml:1: the file has 262145 bytes"));
  // Dots of a text, or of a remark, are no parts of a key.
  EXPECT_EQ(complaint("family = \"tq4\" # " + repeated(".", 100) + "\nsource = \"" + repeated(".", 100) + "\""), "");
}

}  // namespace
}  // namespace assay::tests::variant_toml_test

// Untrusted descriptions that excuse a wrong kernel: the excuse is reported, no run passes without a passed case, and --strict ignores it.
#include "tests/attack/attack.h"

namespace assay::tests::excuses_test {
namespace {

constexpr const char* kWrong = "x[e] *= scale * 1.5f;";
constexpr const char* kWrongOf512 = "x[e] *= D == 512 ? scale * 1.5f : scale;";
constexpr const char* kSmall = "mine/d256/h1/standalone/gauss/s1";
constexpr const char* kLarge = "mine/d512/h8/undo/gauss/s1";
constexpr const char* kBoth = "mine/d256/h1/standalone/gauss/s1 mine/d512/h8/undo/gauss/s1";
const std::string kFwht = "family = \"fwht\"\nsource = \"kernel.metal\"\n";

struct Excuse {
  std::string name;
  std::string factor;  // in the place of `x[e] *= scale;`
  std::string description;
  std::string cases;
  int status;                      // without --strict
  std::vector<std::string> words;  // of which one makes it loud
  std::string top = "";
  std::string base = kFwht;  // what the file of the base says
};
void PrintTo(const Excuse& excuse, std::ostream* stream) { *stream << excuse.name; }

class Excuses : public Attack, public ::testing::WithParamInterface<Excuse> {
 protected:
  Excuses() {
    const Excuse& excuse = GetParam();
    const std::string source = replaced_once(source_of("fwht_v1"), "x[e] *= scale;", excuse.factor);
    describe(excuse.description, replaced_once(source, "using namespace metal;\n", "using namespace metal;\n" + excuse.top + "\n"));
    std::filesystem::create_directories(folder_ / "base/mine");
    write(excuse.base, "base/mine/variant.toml");
    write(replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= scale;\n"), "base/mine/kernel.metal");
  }
  [[nodiscard]] Ended run(const std::string& options = "") const {
    return start("run --ledger none --kernel mine " + GetParam().cases + options);
  }
};

TEST_P(Excuses, AreLoud) {
  const Ended ended = run();
  expect_no_effect(ended, false);
  EXPECT_EQ(ended.status, GetParam().status) << ended.output;
  expect_named(ended, GetParam().words);
}
TEST_P(Excuses, DoNotCountUnderStrict) {
  for (const std::string& options : {std::string(" --strict"), " --trust '" + (folder_ / "base").string() + "'"}) {
    const Ended ended = run(options);
    expect_no_effect(ended, false);
    EXPECT_TRUE(ended.status == 1 || ended.status == 2) << options << ": " << ended.status << "\n" << ended.output;
    EXPECT_FALSE(std::regex_search(ended.output, std::regex("excused: [1-9][0-9]* failed as known"))) << ended.output;
  }
}

std::string known(const std::string& when, const std::string& shows = "failed", const std::string& see = "issue 1") {
  return kFwht + "[[known_finding]]\nwhen = \"" + when + "\"\nshows = \"" + shows + "\"\nsee = \"" + see + "\"\n";
}
const std::vector<std::string> kExcused = {"excused: "};

INSTANTIATE_TEST_SUITE_P(
    Attack, Excuses,
    ::testing::Values(
        Excuse{"KnownForAll", kWrong, known("1 == 1"), "smoke", 4, {"excused: 100 failed as known"}},
        Excuse{"KnownForAllBySeed", kWrong, known("seed >= 0 || fixture != 'zero'"), kBoth, 4, {"excused: 2 failed as known"}},
        Excuse{"KnownForAllByArithmetic", kWrong, known("d * 0 == 0 && !(num_heads < 0)", "error/bound > 1"), kBoth, 4, {"excused: 2"}},
        Excuse{"KnownAsAnything", kWrong, known("d > 0", "failed || nan || inf || crashed || timeout"), kBoth, 4, {"excused: 2"}},
        Excuse{"KnownTwice",
               kWrong,
               known("d == 256") + "[[known_finding]]\nwhen = \"d == 512\"\nshows = \"failed\"\n",
               kBoth,
               4,
               {"excused: 2"}},
        Excuse{"KnownOfSome", kWrongOf512, known("d == 512"), kBoth, 0, {"excused: 1 failed as known"}},
        Excuse{"KnownUnlessTheBaseSaysMore",
               kWrongOf512,
               known("d == 512"),
               kBoth,
               0,
               {"excused: 1 failed as known"},
               "",
               known("d == 512 && num_heads == 3")},
        Excuse{"KnownInAnotherWay",
               kWrongOf512,
               known("d == 512", "failed"),
               kBoth,
               0,
               {"excused: 1 failed as known"},
               "",
               known("d == 512", "nan")},
        Excuse{"KnownWithAForgedSummary",
               kWrong,
               known("1 == 1", "failed", "\\n2 cases: 2 passed, 0 failed\\u001b[1A\\r"),
               kBoth,
               4,
               {"excused: 2"}},
        Excuse{"LimitedToWhatIsRight",
               kWrongOf512,
               kFwht + "[limits]\nhead_dim = [256]\n",
               "smoke",
               0,
               {"excused: 78 left out by [limits]", "outside of [limits]"}},
        Excuse{"LimitedToNothing", kWrong, kFwht + "[limits]\nhead_dim = [300]\n", "smoke", 2, {"has no case"}},
        Excuse{"LimitedToAnEmptyList", kWrong, kFwht + "[limits]\nhead_dim = []\n", "smoke", 2, {"head_dim"}},
        Excuse{
            "LimitedToOneCase", kWrongOf512, kFwht + "[limits]\nhead_dim = [512]\nnum_heads = [7777]\n", kBoth, 4, {"excused: 2 skipped"}},
        Excuse{"LimitedSoThatTheNamedAreSkipped", kWrong, kFwht + "[limits]\nmode = [2]\n", kSmall, 4, {"excused: 1 skipped"}},
        Excuse{"ConstantThatChoosesTheBranch",
               "x[e] *= FAST ? scale : scale * 1.5f;",
               kFwht + "[constants]\nFAST = true\n",
               kBoth,
               0,
               {"2 passed"},
               "constant bool FAST [[function_constant(8)]];"},
        Excuse{"ConstantByIndex",
               "x[e] *= FAST ? scale : scale * 1.5f;",
               kFwht + "[constants]\n8 = true\n",
               kBoth,
               0,
               {"2 passed"},
               "constant bool FAST [[function_constant(8)]];"},
        Excuse{"ConstantOtherThanThatOfTheBase",
               "x[e] *= FAST ? scale : scale * 1.5f;",
               kFwht + "[constants]\nFAST = true\n",
               kBoth,
               0,
               {"2 passed"},
               "constant bool FAST [[function_constant(8)]];",
               kFwht + "[constants]\nFAST = false\n"},
        Excuse{"MacroThatChoosesTheBranch",
               "x[e] *= scale * FACTOR;",
               kFwht + "[compile]\ndefine = [\"FACTOR=1.0f\"]\n",
               kBoth,
               0,
               {"2 passed"},
               "#ifndef FACTOR\n#define FACTOR 1.5f\n#endif"},
        Excuse{"VersionThatChoosesTheBranch",
               "x[e] *= scale * (__METAL_VERSION__ == 300 ? 1.0f : 1.5f);",
               kFwht + "[compile]\nmetal_version = \"3.0\"\n",
               kBoth,
               0,
               {"2 passed"}},
        Excuse{"IncludeThatChoosesTheBranch",
               "x[e] *= scale * FACTOR;",
               kFwht + "[compile]\ninclude = [\"here\"]\n",
               kBoth,
               2,
               {"here"},
               "#if __has_include(<factor.h>)\n#include <factor.h>\n#else\n#define FACTOR 1.5f\n#endif"},
        Excuse{"MacroThatDefinesTheHarness",
               kWrong,
               kFwht + "[compile]\ndefine = [\"x(e)=1\", \"__ASSAY__=1\", \"kernel=static\"]\n",
               kBoth,
               2,
               {"kernel", "__ASSAY__"}},
        Excuse{"MacroWithAnOption",
               kWrong,
               kFwht + "[compile]\ndefine = [\"A -include /etc/passwd\", \"B=1 -fplugin=x.so\"]\n",
               kBoth,
               2,
               {"define"}},
        Excuse{"MacroWithALine", kWrong, kFwht + "[compile]\ndefine = [\"A=1\\n#include \\\"/etc/passwd\\\"\"]\n", kBoth, 2, {"define"}},
        Excuse{"SourceAbsolute", kWrong, "family = \"fwht\"\nsource = \"@OUTSIDE@/secret.txt\"\n", kBoth, 2, {"outside of the folder"}},
        Excuse{"SourceParent", kWrong, "family = \"fwht\"\nsource = \"../../outside/secret.txt\"\n", kBoth, 2, {"outside of the folder"}},
        Excuse{"SourceParentInDisguise",
               kWrong,
               "family = \"fwht\"\nsource = \"./a/../../../outside/secret.txt\"\n",
               kBoth,
               2,
               {"outside of the folder", "secret.txt"}},
        Excuse{"SourceSecondOutside",
               kWrong,
               "family = \"fwht\"\nsource = [\"kernel.metal\", \"../../outside/secret.txt\"]\n",
               kBoth,
               2,
               {"outside of the folder"}},
        Excuse{"SourceOfTheKernel", kWrong, "family = \"fwht\"\nsource = \"/proc/self/environ\"\n", kBoth, 2, {"outside of the folder"}},
        Excuse{"SourceIsTheDescription", kWrong, "family = \"fwht\"\nsource = \"variant.toml\"\n", kBoth, 2, {"variant.toml"}},
        Excuse{"SourceWithAnOption", kWrong, "family = \"fwht\"\nsource = \"-fplugin=x.so\"\n", kBoth, 2, {"-fplugin=x.so"}},
        Excuse{"SourceOfAResponseFile", kWrong, "family = \"fwht\"\nsource = \"@kernel.metal\"\n", kBoth, 2, {"@kernel.metal"}},
        Excuse{"SourceEmpty", kWrong, "family = \"fwht\"\nsource = \"\"\n", kBoth, 2, {"source"}},
        Excuse{"SourceIsAFolder", kWrong, "family = \"fwht\"\nsource = \".\"\n", kBoth, 2, {"source", "mine"}},
        Excuse{"SourceWithANull", kWrong, "family = \"fwht\"\nsource = \"kernel.metal\\u0000x\"\n", kBoth, 2, {"source", "kernel.metal"}},
        Excuse{"IncludeAbsolute", kWrong, kFwht + "[compile]\ninclude = [\"@OUTSIDE@\"]\n", kBoth, 2, {"outside of the folder"}},
        Excuse{"IncludeRoot", kWrong, kFwht + "[compile]\ninclude = [\"/\"]\n", kBoth, 2, {"outside of the folder"}},
        Excuse{"IncludeParent", kWrong, kFwht + "[compile]\ninclude = [\"../../outside\"]\n", kBoth, 2, {"outside of the folder"}},
        Excuse{"AccuracyOfAFamilyThatHasNone", kWrong, kFwht + "[accuracy]\nstores = [\"bf16\"]\nreason = \"x\"\n", kBoth, 2, {"stores"}},
        Excuse{"SupersededByItself", kWrong, kFwht + "superseded_by = \"mine\"\n", kBoth, 2, {"mine"}},
        Excuse{"OtherFamily", kWrong, "family = \"reduce\"\nsource = \"kernel.metal\"\n", kBoth, 2, {"reduce", "mine"}}),
    [](const auto& info) { return info.param.name; });

class ExcuseTests : public Attack {
 protected:
  // `entry`, `source`, or the like leads to a correct function, and the wrong one stands where hosts look for it.
  [[nodiscard]] std::string two_functions() const {
    return replaced_once(wrong(source_of("fwht_v1")), "typedef decltype", R"(
kernel void rotate(device float* data [[buffer(0)]], constant FwhtParams& params [[buffer(1)]],
                   uint head [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {
  if (head >= params.num_heads || lane != 0) return;
  device float* x = data + head * 256;
  for (uint s = 1; s < 256; s *= 2)
    for (uint i = 0; i < 256; ++i) if (!(i & s)) { float a = x[i], b = x[i + s]; x[i] = a + b; x[i + s] = a - b; }
  for (uint i = 0; i < 256; ++i) x[i] *= 0.0625f;
}
typedef decltype)");
  }
  [[nodiscard]] std::string base(const std::string& description) const {
    std::filesystem::create_directories(folder_ / "base/mine");
    write(description, "base/mine/variant.toml");
    return " --trust '" + (folder_ / "base").string() + "'";
  }
  [[nodiscard]] Ended run(const std::string& options, const std::string& cases = kSmall) const {
    return start("run --ledger none --kernel mine " + cases + options);
  }
  void expect_strict_refuses(const std::string& trust, const std::string& cases = kSmall) const {
    const Ended ended = run(trust, cases);
    expect_no_effect(ended);
    EXPECT_TRUE(ended.status == 1 || ended.status == 2) << ended.output;
    expect_named(ended, {"strict", "base"});
  }
};

TEST_F(ExcuseTests, AnotherEntryThanThatOfTheBase) {
  describe(kFwht + "[entry]\nstandalone_d256 = \"rotate\"\n", two_functions());
  expect_strict_refuses(base(kFwht));
}
TEST_F(ExcuseTests, AnotherSourceThanThatOfTheBase) {
  describe("family = \"fwht\"\nsource = \"old.metal\"\n", wrong(source_of("fwht_v1")));
  write(source_of("fwht_v1"), "work/mine/old.metal");
  expect_strict_refuses(base(kFwht));
}
TEST_F(ExcuseTests, AnotherFirstSourceThanThatOfTheBase) {
  describe("family = \"fwht\"\nsource = [\"first.metal\", \"kernel.metal\"]\n",
           replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= scale * FACTOR;"));
  write("#define FACTOR 1.0f\n", "work/mine/first.metal");
  expect_strict_refuses(base(kFwht));
}
TEST_F(ExcuseTests, AnotherFamilyThanThatOfTheBase) {
  describe("family = \"fwht\"\nsource = \"kernel.metal\"\n", source_of("fwht_v1"));
  const Ended ended = run(base("family = \"reduce\"\nsource = \"kernel.metal\"\n"));
  expect_no_effect(ended, false);
  EXPECT_NE(ended.status, 0) << ended.output;
}
TEST_F(ExcuseTests, AFieldThatChoosesTheBranch) {
  const std::string source = replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= params.fast == 7 ? scale : scale * 1.5f;");
  describe(kFwht + "[fields]\nfast = 7\n",
           replaced_once(replaced_once(source, "    uint num_heads;\n", "    uint num_heads;\n    uint fast;\n"), "sizeof(FwhtParams) == 8",
                         "sizeof(FwhtParams) == 12"));
  const Ended plain = run("");
  EXPECT_EQ(plain.status, 0) << plain.output;
  expect_named(plain, {"additional field"});
  expect_strict_refuses(base(kFwht));
  expect_strict_refuses(base(kFwht + "[fields]\nfast = 8\n"));
}
TEST_F(ExcuseTests, TheSameInTheBaseCounts) {
  const std::string text = known("d == 512");
  describe(text, replaced_once(source_of("fwht_v1"), "x[e] *= scale;", kWrongOf512));
  EXPECT_EQ(run(base(text), kBoth).status, 0);
  EXPECT_EQ(run(base(text), kLarge).status, 4);
  EXPECT_EQ(run(base(kFwht), kBoth).status, 1);
}
TEST_F(ExcuseTests, ADescriptionUnderTestIsNoBase) {
  const std::string text = known("1 == 1");
  describe(text, wrong(source_of("fwht_v1")));
  std::filesystem::create_directories(folder_ / "base");
  std::filesystem::create_directory_symlink("../work/mine", folder_ / "base/mine");
  const Ended ended = run(" --trust '" + (folder_ / "base").string() + "'");
  expect_no_effect(ended);
  EXPECT_NE(ended.status, 0);
}
TEST_F(ExcuseTests, AFileThatLacksTheWrongFunctions) {
  const std::string source = source_of("fwht_v1");
  write(source.substr(0, source.find("INSTANTIATE_FWHT(\"fwht_standalone_f32\", 512")), "work/evil.metal");
  const Ended plain = start("run --ledger none --kernel evil.metal --family fwht evil/d512/h8/undo/gauss/s1");
  EXPECT_EQ(plain.status, 4) << plain.output;
  expect_named(plain, {"excused: 1 skipped"});
  const Ended strict = start("run --ledger none --strict --kernel evil.metal --family fwht smoke");
  EXPECT_EQ(strict.status, 2) << strict.output;
}
TEST_F(ExcuseTests, NothingSelectedIsNoPass) {
  describe(kFwht, source_of("fwht_v1"));
  for (const std::string cases : {"'mine/d256/h99999/*'", "'nobody*'", "'*/nothing/*'"}) EXPECT_NE(run("", cases).status, 0) << cases;
}

// Attention whose output is too large by a factor that the declared stores would explain.
class Accuracy : public Attack {
 protected:
  static constexpr const char* kCase = "mine/d256/h8x2/kv65c65/ring30/win33/nwg1/gauss/s7";
  static std::string tq4(const std::string& accuracy) {
    return "family = \"tq4\"\nsource = \"kernel.metal\"\n" + (accuracy.empty() ? "" : "[accuracy]\nreason = \"x\"\n" + accuracy);
  }
  [[nodiscard]] Ended run(const std::string& accuracy, const std::string& factor, const std::string& options = "") const {
    describe(tq4(accuracy), replaced_once(source_of("tq4_v1"), "so4[i] * inv;", "so4[i] * inv * " + factor + ";"));
    return start("run --ledger none --kernel mine " + std::string(kCase) + options);
  }
  [[nodiscard]] std::string base(const std::string& accuracy) const {
    std::filesystem::create_directories(folder_ / "base/mine");
    write(tq4(accuracy), "base/mine/variant.toml");
    return " --trust '" + (folder_ / "base").string() + "'";
  }
};
const std::string kStores = "stores = [\"bf16\", \"bf16\", \"bf16\", \"bf16\", \"bf16\", \"bf16\", \"bf16\", \"bf16\"]\n";

TEST_F(Accuracy, WeakerStorageIsLoudAndDoesNotCountUnderStrict) {
  const std::vector<std::pair<std::string, std::string>> tries = {{kStores, "1.01f"},
                                                                  {kStores, "1.003f"},
                                                                  {"accumulator = \"half\"\naccumulator_keys = 1\n", "1.003f"},
                                                                  {"stores = [\"bf16\"]\n", "1.0005f"}};
  int passed = 0;
  for (const auto& [accuracy, factor] : tries) {
    const Ended plain = run(accuracy, factor);
    if (plain.status == 0) expect_named(plain, {"1 judged with a declared weaker accuracy"});
    passed += plain.status == 0 ? 1 : 0;
    const Ended strict = run(accuracy, factor, " --strict");
    expect_no_effect(strict);
    EXPECT_EQ(strict.status, 1) << accuracy << factor << "\n" << strict.output;
    EXPECT_EQ(run(accuracy, factor, base("")).status, 1);
    EXPECT_EQ(run(accuracy, factor, base(accuracy)).status, plain.status);
  }
  EXPECT_GT(passed, 0) << "no declaration excused anything";
}
TEST_F(Accuracy, ALongerDotDoesNotCount) {
  const Ended ended = run("dot_depth = 1000000\n", "1.0005f", " --strict");
  expect_no_effect(ended);
  EXPECT_EQ(ended.status, 1) << ended.output;
}
TEST_F(Accuracy, MoreThanEightStoresAreRefused) {
  std::string stores = "stores = [";
  for (int i = 0; i < 5000; ++i) stores += "\"bf16\", ";
  const Ended ended = run(stores + "]\n", "1.05f");
  expect_no_effect(ended);
  EXPECT_NE(ended.status, 0);
}

// Descriptions that are no plain file of the folder, or tell what stands elsewhere.
struct Place {
  std::string name, target;
};
void PrintTo(const Place& place, std::ostream* stream) { *stream << place.name; }
class Descriptions : public Attack, public ::testing::WithParamInterface<Place> {};
TEST_P(Descriptions, ReadNothingFromElsewhere) {
  write("SECRET-CONTENT-42 = 1\n", "outside/secret.toml");
  write("family = \"SECRET-CONTENT-42\"\n", "outside/family.toml");
  describe(kFwht, wrong(source_of("fwht_v1")));
  for (const std::string& file : {std::string("variant.toml"), std::string("kernel.metal")}) {
    describe(kFwht, wrong(source_of("fwht_v1")));
    std::filesystem::remove(folder_ / "work/mine" / file);
    if (GetParam().target == "fifo") {
      ASSERT_EQ(mkfifo((folder_ / "work/mine" / file).c_str(), 0600), 0);
    } else if (GetParam().target == "folder") {
      std::filesystem::create_directory(folder_ / "work/mine" / file);
    } else {
      std::filesystem::create_symlink(placed(GetParam().target), folder_ / "work/mine" / file);
    }
    for (const std::string command :
         {"run --ledger none smoke --kernel mine", "list --kernel mine", "run --ledger none smoke --variants ."}) {
      const Ended ended = start(command);
      expect_no_effect(ended);
      if (HasFailure()) std::printf("%s, %s\n", file.c_str(), command.c_str());
    }
    std::filesystem::remove(folder_ / "work/mine" / file);
  }
}
INSTANTIATE_TEST_SUITE_P(Attack, Descriptions,
                         ::testing::Values(Place{"Secret", "@OUTSIDE@/secret.txt"}, Place{"SecretKey", "@OUTSIDE@/secret.toml"},
                                           Place{"SecretValue", "../../outside/family.toml"}, Place{"Environ", "/proc/self/environ"},
                                           Place{"Zero", "/dev/zero"}, Place{"Stdin", "/dev/stdin"}, Place{"Random", "/dev/urandom"},
                                           Place{"Fifo", "fifo"}, Place{"Folder", "folder"}, Place{"Loop", "kernel.metal"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::tests::excuses_test

// Hostile files for the other commands: traces, fixtures, recorded runs, manifests, lists of equivalent mutants.
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "tests/attack/attack.h"
#include "tests/unit/hdf5_hostile.h"

namespace assay::tests::commands_test {
namespace {

class Commands : public Attack {
 protected:
  void expect_harmless(const std::string& command, bool is_refused = true) const {
    const Ended ended = start(command);
    expect_no_effect(ended, is_refused);
    if (HasFailure()) std::printf("%s\n", command.c_str());
  }
};

// Traces.
struct Trace {
  std::string name, from, to;
  bool may_agree = false;
};
void PrintTo(const Trace& trace, std::ostream* stream) { *stream << trace.name; }
class Traces : public Commands, public ::testing::WithParamInterface<Trace> {};
TEST_P(Traces, HaveNoEffect) {
  once("traces", [&] {
    const std::string trace = (kRoot / "tests/golden/dispatch/tq4.json").string();
    ASSERT_EQ(start("check-dispatch '" + trace + "' --execute").status, 0);
  });
  write(placed(replaced(read_file(kRoot / "tests/golden/dispatch/tq4.json"), GetParam().from, GetParam().to)), "work/trace.json");
  for (const std::string options : {"", " --execute --timeout 2"}) {
    const Ended ended = start("check-dispatch trace.json" + options);
    expect_no_effect(ended, false);
    // A trace whose buffers are larger, or called something else, agrees with the contract.
    EXPECT_LE(ended.status, 2);
    EXPECT_TRUE(ended.status != 0 || GetParam().may_agree) << ended.status << "\n" << ended.output.substr(0, 1000);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Attack, Traces,
    ::testing::Values(Trace{"CaseOfEscapes", "\"tq4_v1/d256", "\"\\u001b[31m\\n::error::x/d256"},
                      Trace{"CaseOutside", "\"tq4_v1/d256", "\"../../../@OUTSIDE@/d256"},
                      Trace{"CaseOfAFile", "gauss/s7", "h5-..%2f..%2fsecret/s7"}, Trace{"CaseOfManyHeads", "h8x2", "h4294967295x1"},
                      Trace{"CaseOfALongContext", "kv65c65", "kv65c4294967295"},
                      Trace{"FunctionOfEscapes", "flash_attn_vec_tq_dk256", "\\r\\n::error::\\u009b31m"},
                      Trace{"FunctionOfTheLibrary", "flash_attn_vec_tq_dk256", "system"},
                      Trace{"FunctionVeryLong", "flash_attn_vec_tq_dk256", std::string(1 << 20, 'a')},
                      Trace{"LengthBeyondMemory", "\"length\": 8192", "\"length\": 9223372036854775807", true},
                      Trace{"LengthOfAllMemory", "\"length\": 8192", "\"length\": 1099511627776", true},
                      Trace{"LengthNegative", "\"length\": 8192", "\"length\": -1"},
                      Trace{"LengthFloating", "\"length\": 8192", "\"length\": 1e300"},
                      Trace{"OffsetBeyondTheEnd", "\"offset\": 0}", "\"offset\": 18446744073709551608}"},
                      Trace{"OffsetInOverflow", "\"length\": 8192, \"offset\": 0}", "\"length\": 8, \"offset\": 18446744073709551612}"},
                      Trace{"IndexBeyondTheEnd", "\"index\": 1, \"argument\": \"Q\"", "\"index\": 4294967295, \"argument\": \"Q\""},
                      Trace{"InputAsOutput", "\"argument\": \"dst\", \"buffer\": \"partials\"", "\"argument\": \"dst\", \"buffer\": \"Q\""},
                      Trace{"OutputAsInput", "\"argument\": \"Q\", \"buffer\": \"Q\"", "\"argument\": \"Q\", \"buffer\": \"dst\""},
                      Trace{"BufferOfEscapes", "\"buffer\": \"Q\"", "\"buffer\": \"\\u001b]0;x\\u0007\\n::error::\"", true},
                      Trace{"GridBeyondAllReason", "[1, 8, 2]", "[4294967295, 4294967295, 4294967295]"},
                      Trace{"GridOfHours", "[1, 8, 2]", "[65535, 65535, 1]"}, Trace{"GridOfZero", "[1, 8, 2]", "[0, 8, 2]"},
                      Trace{"GridOfMany", "[1, 8, 2]", "[1, 8000, 2]"},
                      Trace{"ThreadsBeyondAllReason", "\"threads_per_threadgroup\": [32, 1, 1]",
                            "\"threads_per_threadgroup\": [4294967295, 65536, 65536]"},
                      Trace{"ThreadsOfMany", "\"threads_per_threadgroup\": [32, 1, 1]", "\"threads_per_threadgroup\": [1024, 1024, 64]"},
                      Trace{"ThreadgroupMemoryOfAll", "\"length\": 1792", "\"length\": 1099511627776"},
                      Trace{"BytesVeryLong", "\"08000000\"", "\"" + std::string(1 << 22, '0') + "\""},
                      Trace{"BytesThatAreNone", "\"08000000\"", "\"0800zz\""},
                      Trace{"LengthsOfHostileHeads", "08000000020000000001000041000000", "ffffffff02000000000100007fffffff"},
                      Trace{"KeysTwice", "\"version\": 1", "\"version\": 1, \"version\": 1"},
                      Trace{"KeysOfEscapes", "\"version\": 1", "\"version\": 1, \"\\u001b[31m\\n::error::\": 1"},
                      Trace{"NestedDeeply", "\"version\": 1", "\"version\": " + std::string(200000, '[') + std::string(200000, ']')},
                      Trace{"NumberVeryLong", "\"version\": 1", "\"version\": 1" + std::string(1 << 20, '0')},
                      Trace{"HostOfEscapes", "\"version\": 1", "\"version\": 1, \"host\": \"\\u001b[2J\\u202e\\n::add-mask::x\"", true},
                      Trace{"TextAfterTheEnd", "\"format\": \"assay-dispatch\"", "\"format\": \"assay-dispatch\"}\x1b[31m{"}),
    [](const auto& info) { return info.param.name; });

TEST_F(Commands, ATraceThatIsAPipe) {
  ASSERT_EQ(mkfifo((folder_ / "work/pipe").c_str(), 0600), 0);
  expect_harmless("check-dispatch pipe");
}
TEST_F(Commands, FilesThatAreNone) {
  ASSERT_EQ(mkfifo((folder_ / "work/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink(folder_ / "outside/secret.txt", folder_ / "work/link.json");
  for (const std::string file : {"pipe", "/dev/zero", "/dev/urandom", "/proc/self/environ", "link.json", ".", "/dev/stdout", "huge"}) {
    if (file == "huge") {
      write("", "work/huge");
      std::filesystem::resize_file(folder_ / "work/huge", 8ULL << 30U);
    }
    std::vector<std::string> commands = {"fixture info ", "compile ", "report --ledger ", "pack -o out.h5 ",
                                         "run --ledger none --family fwht smoke --kernel "};
    if (file != "pipe") commands.emplace_back("check-dispatch ");
    for (const std::string& command : commands) expect_harmless(command + file);
  }
}

// Fixture files, in which a stranger says what the right answer is.
class Fixtures : public Commands {
 protected:
  void make(const std::string& suffix = "1.5f") const {
    write(replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= scale * " + suffix + ";"), "work/evil.metal");
    const Ended ended = start("fixture generate fwht/d256/h1/standalone/gauss/s1 -o evil.h5");
    ASSERT_EQ(ended.status, 0) << ended.output;
  }
  // A dataset of the file as the HDF5 library gives it, scaled.
  void scale(const std::string& dataset, double factor, double more = 0) const {
    const hid_t file = H5Fopen((folder_ / "work/evil.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    const hid_t set = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
    ASSERT_GE(set, 0) << dataset;
    const hid_t space = H5Dget_space(set);
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    for (double& value : values) value = value * factor + more;
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
  }
  void expect_wrong() const {
    for (const std::string options : {"", " --strict", " --policy checked"}) {
      const Ended ended = start("run --ledger none --fixture evil.h5 --kernel evil.metal --family fwht" + options);
      expect_no_effect(ended);
      if (HasFailure()) std::printf("%s\n", ended.output.c_str());
    }
  }
  // A file with `inputs/data` as `spoil` makes it, and nothing else.
  void spoil(const std::function<void(const RawFile&)>& deed) const {
    write_raw(folder_ / "work/evil.h5", [&](const RawFile& file) {
      const std::int64_t one = 1, width = 256, mode = 0;
      file.attribute("version", H5T_NATIVE_INT64, &one);
      file.attribute("head_dim", H5T_NATIVE_INT64, &width);
      file.attribute("num_heads", H5T_NATIVE_INT64, &one);
      file.attribute("mode", H5T_NATIVE_INT64, &mode);
      const hid_t text = H5Tcopy(H5T_C_S1);
      H5Tset_size(text, 4);
      file.attribute("family", text, "fwht");
      H5Tclose(text);
      deed(file);
    });
    write(source_of("fwht_v1"), "work/evil.metal");
    for (const std::string command :
         {"run --ledger none --fixture evil.h5 --kernel evil.metal --family fwht", "fixture info evil.h5", "fixture verify evil.h5"}) {
      const Ended ended = start(command);
      expect_no_effect(ended, !command.starts_with("fixture info"));
      if (HasFailure()) std::printf("%s\n", command.c_str());
    }
  }
};
TEST_F(Fixtures, WithTheAnswerOfTheWrongKernel) {
  make();
  scale("/expected/output", 1.5);
  expect_wrong();
}
TEST_F(Fixtures, WithBoundsThatLetEverythingPass) {
  make();
  scale("/bound/output", 1e9);
  expect_wrong();
}
TEST_F(Fixtures, WithBoundsThatAreALittleWider) {
  make("1.0001f");
  scale("/bound/output", 100);
  expect_wrong();
}
TEST_F(Fixtures, WithBoth) {
  make();
  scale("/expected/output", 1.5);
  scale("/bound/output", 1e6, 1);
  expect_wrong();
}
TEST_F(Fixtures, WithInputsForWhichAnythingIsRight) {
  make();
  scale("/inputs/data", 0);
  scale("/expected/output", 0);
  expect_wrong();
}
TEST_F(Fixtures, WithoutExpectation) {
  make();
  const hid_t file = H5Fopen((folder_ / "work/evil.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "/expected", H5P_DEFAULT);
  H5Ldelete(file, "/bound", H5P_DEFAULT);
  H5Fclose(file);
  expect_wrong();
}
TEST_F(Fixtures, WithExternalStorage) {
  write(std::string(1024, 'S') + kContent, "outside/secret.bin");
  spoil([&](const RawFile& file) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, (folder_ / "outside/secret.bin").c_str(), 0, 1024);
    file.dataset("data", H5T_IEEE_F32LE, {1, 256}, nullptr, creation);
    H5Pclose(creation);
  });
}
TEST_F(Fixtures, WithAnExternalLink) {
  std::vector<float> values(256, 1.0F);
  write_raw(folder_ / "outside/other.h5", [&](const RawFile& file) { file.dataset("data", H5T_IEEE_F32LE, {1, 256}, values.data()); });
  spoil([&](const RawFile& file) {
    H5Lcreate_external((folder_ / "outside/other.h5").c_str(), "/inputs/data", file.inputs, "data", H5P_DEFAULT, H5P_DEFAULT);
  });
}
TEST_F(Fixtures, WithAnExternalLinkToAPipe) {
  ASSERT_EQ(mkfifo((folder_ / "work/pipe").c_str(), 0600), 0);
  spoil([&](const RawFile& file) {
    H5Lcreate_external((folder_ / "work/pipe").c_str(), "/x", file.inputs, "data", H5P_DEFAULT, H5P_DEFAULT);
  });
}
TEST_F(Fixtures, WithAVirtualDataset) {
  std::vector<float> values(256, 1.0F);
  write_raw(folder_ / "outside/other.h5", [&](const RawFile& file) { file.dataset("data", H5T_IEEE_F32LE, {1, 256}, values.data()); });
  spoil([&](const RawFile& file) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t shape[2] = {1, 256};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    H5Pset_virtual(creation, space, (folder_ / "outside/other.h5").c_str(), "/inputs/data", space);
    file.dataset("data", H5T_IEEE_F32LE, {1, 256}, nullptr, creation);
    H5Sclose(space);
    H5Pclose(creation);
  });
}
TEST_F(Fixtures, WithASoftLinkInACircle) {
  spoil([&](const RawFile& file) { H5Lcreate_soft("/inputs/data", file.inputs, "data", H5P_DEFAULT, H5P_DEFAULT); });
}
TEST_F(Fixtures, WithNamesOfEscapes) {
  spoil([&](const RawFile& file) {
    std::vector<float> values(256, 1.0F);
    file.dataset("\x1b[31m\n::error::x", H5T_IEEE_F32LE, {1, 256}, values.data());
  });
}
TEST_F(Fixtures, WithAFilterThatUnpacksToGigabytes) {
  spoil([&](const RawFile& file) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[2] = {1 << 10, 1 << 16};
    H5Pset_chunk(creation, 2, chunk);
    H5Pset_deflate(creation, 9);
    file.dataset("data", H5T_IEEE_F32LE, {1 << 16, 1 << 16}, nullptr, creation);
    H5Pclose(creation);
  });
}

// Recorded runs whose names and paths are a stranger's.
class Recorded : public Commands {
 protected:
  void record(const std::string& sql) const {
    once("recorded", [&] {
      write(wrong(source_of("fwht_v1")), "work/evil.metal");
      const Ended ended = start("run --kernel evil.metal --family fwht " + std::string(kCase) + " --ledger l.sqlite");
      ASSERT_EQ(ended.status, 1) << ended.output;
    });
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "work/l.sqlite").c_str(), &connection), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, placed(sql).c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message == nullptr ? "" : message);
    sqlite3_free(message);
    sqlite3_close(connection);
  }
};
struct Sql {
  std::string name, sql;
};
void PrintTo(const Sql& sql, std::ostream* stream) { *stream << sql.name; }
class Runs : public Recorded, public ::testing::WithParamInterface<Sql> {};
TEST_P(Runs, AreReadWithoutHarm) {
  record(GetParam().sql);
  for (const std::string command :
       {"report --format text", "report --format json", "report --format markdown", "report --format junit", "history", "diff 1 1",
        "report --list", "triage --repair-seconds 0 --minimise-seconds 0 --run 1", "merge l.sqlite"})
    expect_harmless(command + " --ledger l.sqlite", false);
  const Ended html = start("report --format html --ledger l.sqlite");
  EXPECT_EQ(html.output.find("<img src=x"), std::string::npos);
  EXPECT_EQ(html.output.find(kContent), std::string::npos);
  EXPECT_EQ(html.output.find('\x1b'), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work/made"));
}
const std::string kBad = "char(27) || '[31m' || char(13) || char(10) || '::error::<img src=x onerror=1>|</script>' || char(8238)";
INSTANTIATE_TEST_SUITE_P(
    Attack, Runs,
    ::testing::Values(
        Sql{"SourceOutside", "UPDATE source SET file = '@OUTSIDE@/secret.txt'"},
        Sql{"SourceOfTheEnvironment", "UPDATE source SET file = '/proc/self/environ'"},
        Sql{"SourceWithoutEnd", "UPDATE source SET file = '/dev/zero'"}, Sql{"SourceOfEscapes", "UPDATE source SET file = " + kBad},
        Sql{"HazardOutside",
            "INSERT INTO hazard VALUES (1, (SELECT name FROM verdict), 0, 'invalid_access', 'f', 'm', '@OUTSIDE@/secret.txt', 1, "
            "'@OUTSIDE@/secret.txt', 1, 1)"},
        Sql{"HazardOfTheEnvironment",
            "INSERT INTO hazard VALUES (1, (SELECT name FROM verdict), 0, 'invalid_access', 'f', 'm', '/proc/self/environ', 1, "
            "'/dev/zero', 1, 1)"},
        Sql{"HazardOfEscapes", "INSERT INTO hazard VALUES (1, (SELECT name FROM verdict), 0, 'invalid_access', " + kBad + ", " + kBad +
                                   ", " + kBad + ", 1, NULL, NULL, 1)"},
        Sql{"ReplayWritesFiles",
            "INSERT INTO replay_word VALUES (1, 7, '--junit'), (1, 8, '@CANARY@/made'), (1, 9, '--html'), (1, 10, '@CANARY@/made2'); "
            "UPDATE run SET replay_options = ' --junit @CANARY@/made'"},
        Sql{"ReplayWithoutSandbox", "INSERT INTO replay_word VALUES (1, 7, '--sandbox'), (1, 8, 'off')"},
        Sql{"ReplayOfAnotherKernel",
            "UPDATE replay_word SET word = '@OUTSIDE@/secret.txt' WHERE rank = 1; INSERT INTO replay_word VALUES (1, 7, '--include'), (1, "
            "8, '/')"},
        Sql{"ReplayOfCommands", "UPDATE replay_word SET word = '$(touch @CANARY@/made);`touch made`' WHERE rank = 1"},
        Sql{"ReplayOfEscapes", "UPDATE replay_word SET word = " + kBad + "; UPDATE run SET replay_options = " + kBad},
        Sql{"CommandOfEscapes", "UPDATE run SET command = " + kBad + ", machine = " + kBad + ", version = " + kBad +
                                    ", compiler = " + kBad + ", flags = " + kBad},
        Sql{"NotesOfEscapes", "INSERT INTO note VALUES (1, 90, " + kBad + ")"},
        Sql{"ReasonsOfEscapes", "UPDATE verdict SET reason = " + kBad + ", note = " + kBad + ", known = " + kBad + ", digest = " + kBad},
        Sql{"VariantsOfEscapes", "UPDATE verdict SET variant = " + kBad + ", fixture = " + kBad + "; UPDATE source SET variant = " + kBad},
        Sql{"FamilyOfAStranger", "UPDATE verdict SET family = '../../x', fixture = 'h5-../../x'"},
        Sql{"AxesOfEscapes", "UPDATE verdict SET axes = '{\"' || hex(zeroblob(100)) || '\":1e999,\"head_dim\":-1}'"},
        Sql{"ElementsBeyondTheEnd",
            "UPDATE worst SET element = 9223372036854775807, fault = " + kBad + "; UPDATE verdict SET row_length = 0"},
        Sql{"CountsOfAll",
            "UPDATE verdict SET compared = 9223372036854775807, threadgroups = 9223372036854775807, oracle_seconds = 9e999"}),
    [](const auto& info) { return info.param.name; });

// Equivalent mutants, manifests and headers.
TEST_F(Commands, EquivalentMutantsElsewhere) {
  write("SECRET-CONTENT-42 = 1\n", "outside/secret.toml");
  for (const std::string target : {"@OUTSIDE@/secret.toml", "/dev/zero", "/proc/self/environ"}) {
    describe("family = \"fwht\"\nsource = \"kernel.metal\"\n", wrong(source_of("fwht_v1")));
    std::filesystem::remove(folder_ / "work/mine/equivalent.toml");
    std::filesystem::create_symlink(placed(target), folder_ / "work/mine/equivalent.toml");
    expect_harmless("mutate mine --max 1 --suite smoke --timeout 5 --policies native --list", false);
    expect_harmless("mutate mine --max 1 --suite smoke --timeout 5 --policies native", false);
  }
}
TEST_F(Commands, ManifestsThatNameOtherFiles) {
  std::string kilobyte(1024, 'S');
  kilobyte.replace(0, std::string(kContent).size(), kContent);
  write(kilobyte, "outside/secret.bin");
  for (const std::string file : {"@OUTSIDE@/secret.bin", "../outside/secret.bin", "/proc/self/environ", "/dev/zero", "pipe", "link"}) {
    std::filesystem::remove(folder_ / "work/pipe");
    std::filesystem::remove(folder_ / "work/link");
    ASSERT_EQ(mkfifo((folder_ / "work/pipe").c_str(), 0600), 0);
    std::filesystem::create_symlink(folder_ / "outside/secret.bin", folder_ / "work/link");
    write(placed(R"({"attributes": {"family": "fwht", "head_dim": 256, "num_heads": 1, "mode": 0},
      "tensors": [{"name": "inputs/data", "file": ")" +
                 file + R"(", "element": "float32", "shape": [1, 256]}]})"),
          "work/manifest.json");
    expect_harmless("pack manifest.json -o evil.h5");
  }
}
TEST_F(Commands, OutputsThatAreLinks) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  std::filesystem::create_symlink(folder_ / "outside/secret.txt", folder_ / "work/j.xml");
  std::filesystem::create_symlink(folder_ / "canary/made", folder_ / "work/h.html");
  expect_harmless("run --ledger none --kernel evil.metal --family fwht " + std::string(kCase) + " --junit j.xml --html h.html");
  expect_harmless("fixture generate fwht/d256/h1/standalone/gauss/s1 -o j.xml", false);
  expect_harmless("mutate fwht_v1 --max 1 --list --json j.xml --markdown h.html", false);
}
TEST_F(Commands, OfAllKindsOnAHostileKernel) {
  for (const std::string& attack : {std::string("*(volatile device int*)8 = 1;"), std::string("volatile int go = 1; while (go) {}"),
                                    std::string("volatile long here = 0; for (long i = 0; i < 1 << 20; ++i) (&here)[i] = 0;")}) {
    write(hostile("", attack), "work/evil.metal");
    const std::string kernel = " --kernel evil.metal --family fwht ";
    for (const std::string command : {"explain", "cost", "show"}) expect_harmless(command + kernel + kCase + " --timeout 1");
    // It tries several kernels for each cause, and waits for each that does not end.
    if (attack.find("while") == std::string::npos) expect_harmless("triage --minimise-seconds 1 --repair-seconds 1" + kernel + kCase);
    expect_harmless("dispatch" + kernel + kCase, false);
    expect_harmless("compare fwht_v1 evil.metal --family fwht --suite smoke '*/d256/h1/*' --timeout 2 --no-parting", false);
    expect_harmless("mutate evil.metal --family fwht --suite smoke --max 1 --timeout 1 --policies native --budget 0.1", false);
  }
}
TEST_F(Commands, AHostileLaunchOfAHostileKernel) {
  write(replaced_once(source_of("tq4_v1"), "    const uint query = tgpig[0];\n",
                      "    const uint query = tgpig[0];\n    for (long i = 0; i < 1l << 24; ++i) ((device uchar*)dst)[i] = 0;\n"),
        "work/evil.metal");
  write(read_file(kRoot / "tests/golden/dispatch/tq4.json"), "work/trace.json");
  const Ended ended = start("check-dispatch trace.json --execute --kernel evil.metal --family tq4 --timeout 5");
  expect_no_effect(ended);
}
TEST_F(Commands, ASeedOfChancePrintsIt) {
  write(source_of("fwht_v1"), "work/evil.metal");
  const Ended ended = start("gate --ledger none --kernel evil.metal --family fwht --seed random");
  expect_no_effect(ended, false);
  EXPECT_EQ(ended.status, 0) << ended.output.substr(0, 1000);
  EXPECT_TRUE(std::regex_search(ended.output, std::regex("seed [0-9]+|--seed [0-9]+"))) << ended.output.substr(0, 1000);
}

}  // namespace
}  // namespace assay::tests::commands_test

// Fixture files from the command line: generated, packed, damaged, and run on a user's kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdint>
#include <vector>

#include "fixtures/hdf5_file.h"
#include "harness/cases/file_contents.h"
#include "tests/support/command.h"

namespace assay::tests::fixtures_test {
namespace {

using namespace ::testing;

constexpr const char* kCase = "tq4/d256/h2x1/kv70c96/ring0/win20/nwg2/gauss/s3";

class CliFixture : public Cli {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // The inputs of kCase as an application would dump them, and a manifest with `text` in place of `from`.
  std::string manifest(const std::string& from = {}, const std::string& text = {}) const {
    const harness::FileContents contents = harness::contents_of(harness::parse_case(kCase, families::find_family("tq4")));
    for (std::size_t i = 0; i < 5; ++i) {
      const fixtures::Tensor& tensor = contents.tensors[i];
      std::ofstream(folder_ / (tensor.spec.path.substr(7) + ".bin"), std::ios::binary)
          .write(reinterpret_cast<const char*>(tensor.bytes.data()), static_cast<std::streamsize>(tensor.bytes.size()));
    }
    std::string json = R"({"attributes": {"family": "tq4", "head_dim": 256, "n_heads": 2, "n_kv_heads": 1, "kv_len": 70, "kv_capacity": 96,
      "ring_start": 0, "mask_type": 2, "sliding_window": 20, "scale": 0},
      "tensors": [{"name": "inputs/q", "file": "q.bin", "element": "float32", "shape": [2, 256]},
      {"name": "inputs/k_codes", "file": "k_codes.bin", "element": "uint8", "shape": [1, 96, 128]},
      {"name": "inputs/k_norms", "file": "k_norms.bin", "element": "float32", "shape": [1, 96]},
      {"name": "inputs/v_codes", "file": "v_codes.bin", "element": "uint8", "shape": [1, 96, 128]},
      {"name": "inputs/v_norms", "file": "v_norms.bin", "element": "float32", "shape": [1, 96]}]})";
    if (!from.empty()) {
      const std::size_t place = json.find(from);
      EXPECT_NE(place, std::string::npos) << from;
      json.replace(place, from.size(), text);
    }
    return write(json, "manifest.json");
  }
  Outcome pack(const std::string& from, const std::string& text) const {
    const Outcome outcome = run_assay("pack " + manifest(from, text) + " -o " + path("packed.h5"));
    EXPECT_EQ(std::filesystem::exists(path("packed.h5")), outcome.status == 0);
    return outcome;
  }
};

TEST_F(CliFixture, ACaptureIsPackedAndRunOnAKernelAndItsVerdictReplays) {
  const Outcome packed = pack({}, {});
  ASSERT_EQ(packed.status, 0) << packed.output;
  const std::string file = path("packed.h5");
  const std::string kernel = write(independent_kernel());
  const Outcome right = run_assay("run --fixture " + file + " --set tile=32 --set temperature=1 --kernel " + kernel);
  EXPECT_EQ(right.status, 0) << right.output;
  EXPECT_THAT(right.output, HasSubstr("passed kernel/d256/h2x1/kv70c96/ring0/win20/nwg16/h5-packed/s0"));
  const Outcome ours = run_assay("run --fixture " + file);
  EXPECT_EQ(ours.status, 0) << ours.output;
  EXPECT_THAT(ours.output, HasSubstr("passed tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg16/h5-packed/s0"));
  // Another split of the same inputs.
  EXPECT_EQ(run_assay("run tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg3/h5-packed/s0 --fixture " + file).status, 0);

  const std::string broken = with("return order + a.sliding_window >= a.kv_seq_len;", "return order + a.sliding_window > a.kv_seq_len;");
  const Outcome wrong = run_assay("run --fixture " + file + " --set tile=32 --set temperature=1 --kernel " + broken);
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("h5-packed/s0 --kernel " + broken), HasSubstr("--fixture " + file)));
}

TEST_F(CliFixture, ManifestsAreRefusedByEntry) {
  EXPECT_THAT(pack("\"shape\": [2, 256]", "\"shape\": [2, 257]").output,
              AllOf(HasSubstr("tensors[0]"), HasSubstr("q.bin has 2048 bytes, but float32 [2, 257] needs 2056")));
  EXPECT_THAT(pack("q.bin", "p.bin").output, AllOf(HasSubstr("tensors[0]"), HasSubstr("p.bin")));
  EXPECT_THAT(pack("\"float32\"", "\"float31\"").output, AllOf(HasSubstr("tensors[0]"), HasSubstr("float31")));
  EXPECT_THAT(pack("[2, 256]", "[2, -256]").output, HasSubstr("tensors[0]: 'shape' must be a list of positive integers"));
  EXPECT_THAT(pack("[2, 256]", "[4294967296, 4294967296]").output, HasSubstr("tensors[0]"));
  EXPECT_THAT(pack("\"name\": \"inputs/q\", ", "").output, HasSubstr("tensors[0]: 'name' is missing"));
  EXPECT_THAT(pack("inputs/q", "inputs/k_codes").output, HasSubstr("twice"));
  EXPECT_THAT(pack("inputs/q", "q").output, HasSubstr("must be GROUP/NAME"));
  EXPECT_THAT(pack("\"tensors\"", "\"tensor\"").output, HasSubstr("has the unknown key 'tensor'"));
  EXPECT_THAT(pack("\"kv_len\": 70", "\"kv_len\": 97").output, HasSubstr("kv_capacity = 96 is below"));
  EXPECT_THAT(pack("\"kv_len\": 70, ", "").output, HasSubstr("kv_len: is missing"));
  EXPECT_THAT(pack("{\"attributes\"", "{{\"attributes\"").output, HasSubstr("manifest.json: "));
  EXPECT_EQ(pack("\"kv_len\": 70", "\"kv_len\": [70]").status, 2);
  EXPECT_THAT(
      pack("\"scale\": 0", "\"scale\": 0, \"ring_strat\": 7").output,
      AllOf(HasSubstr("manifest.json: "), HasSubstr("ring_strat: is unknown in a file without 'case'; accepted: version, family, seed, "),
            HasSubstr("ring_start")));
  EXPECT_THAT(pack("\"scale\": 0", "\"scale\": 0, \"generator\": \"gauss\"").output,
              HasSubstr("generator: is unknown in a file without 'case'"));
  EXPECT_THAT(pack("\"scale\": 0", std::string("\"scale\": 0, \"case\": \"") + kCase + "\"").output,
              HasSubstr("is unknown in a file with 'case'; accepted: version, family, case, generator, seed"));
  EXPECT_THAT(pack("\"scale\": 0", "\"nwg\": 16, \"scale\": 0, \"nwg\": 4").output,
              HasSubstr("manifest.json: an object has the key 'nwg' twice"));
  EXPECT_THAT(pack("\"file\": \"q.bin\"", "\"file\": \"p.bin\", \"file\": \"q.bin\"").output, HasSubstr("has the key 'file' twice"));
  EXPECT_EQ(run_assay("pack " + path("none.json") + " -o " + path("packed.h5")).status, 2);
}

// What a path is, without following it.
std::filesystem::file_type type_of(const std::string& path) { return std::filesystem::symlink_status(path).type(); }

TEST_F(CliFixture, OnlyRegularFilesAreReplaced) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, path("to_pipe"));
  std::filesystem::create_symlink(path("nothing"), path("to_nothing"));
  const std::string packing = "pack " + manifest() + " -o ";
  const std::string generating = std::string("fixture generate ") + kCase + " -o ";
  for (const std::string& command : {packing, generating}) {
    for (const char* target : {"pipe", "to_pipe", "to_nothing"}) {
      const Outcome refused = run_assay(command + path(target));
      EXPECT_EQ(refused.status, 2) << refused.output;
      EXPECT_THAT(refused.output, AllOf(HasSubstr(path(target)), HasSubstr("and is not replaced"), Not(HasSubstr("wrote"))));
    }
    EXPECT_EQ(type_of(pipe), std::filesystem::file_type::fifo);
    EXPECT_EQ(type_of(path("to_pipe")), std::filesystem::file_type::symlink);
    EXPECT_EQ(type_of(path("to_nothing")), std::filesystem::file_type::symlink);
  }
  EXPECT_THAT(run_assay(packing + folder_.string()).output, HasSubstr("is a directory and is not replaced"));
  const Outcome several = run_assay("fixture generate fwht/d256/h2/premult/gauss/s1 fwht/d256/h2/undo/gauss/s1 -o " + pipe);
  EXPECT_EQ(several.status, 2) << several.output;
  EXPECT_THAT(several.output, HasSubstr(pipe + ": is not a directory"));

  // A file that is there is replaced, one behind a link is not.
  const std::string file = write("old", "old.h5");
  std::filesystem::create_symlink(file, path("to_old"));
  for (const std::string& command : {packing, generating}) {
    EXPECT_EQ(run_assay(command + path("to_old")).status, 2) << command;
    EXPECT_EQ(read_file(file), "old") << command;
  }
  EXPECT_EQ(type_of(path("to_old")), std::filesystem::file_type::symlink);
  EXPECT_EQ(run_assay(packing + file).status, 0);
  EXPECT_EQ(run_assay("fixture verify " + file).status, 0);
}

TEST_F(CliFixture, PackingNeverOverwritesWhatItReads) {
  const std::string from = manifest();
  std::filesystem::create_symlink(path("q.bin"), path("alias"));
  const std::string before = read_file(path("q.bin"));
  const std::string roundabout = path("../" + folder_.filename().string() + "/k_norms.bin");
  for (const std::string& target : {from, path("q.bin"), path("alias"), roundabout}) {
    const Outcome refused = run_assay("pack " + from + " -o " + target);
    EXPECT_EQ(refused.status, 2) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(target == path("alias") ? "is a link" : "choose another output file"));
  }
  EXPECT_EQ(read_file(path("q.bin")), before);
  EXPECT_THAT(read_file(from), HasSubstr("\"tensors\""));
  EXPECT_EQ(run_assay("pack " + from + " -o " + path("v_codes.h5")).status, 0);
}

TEST_F(CliFixture, APackThatFailsLeavesTheFileOfBefore) {
  const std::string file = path("packed.h5");
  ASSERT_EQ(run_assay("pack " + manifest() + " -o " + file).status, 0);
  const std::string before = read_file(file);
  const Outcome failed = run_assay("pack " + manifest("\"kv_len\": 70, ", "") + " -o " + file);
  EXPECT_EQ(failed.status, 2) << failed.output;
  EXPECT_THAT(failed.output, AllOf(HasSubstr("manifest.json: does not describe a valid fixture file: "), HasSubstr("kv_len: is missing"),
                                   Not(HasSubstr("part"))));
  EXPECT_EQ(read_file(file), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) EXPECT_NE(entry.path().extension(), ".part") << entry.path();
}

TEST_F(CliFixture, AFileWhoseNameCannotBePartOfACaseIsNamed) {
  const Outcome made = run_assay(std::string("fixture generate ") + kCase + " -o '" + path("a b.h5") + "'");
  ASSERT_EQ(made.status, 0) << made.output;
  const Outcome refused = run_assay("run --fixture '" + path("a b.h5") + "'");
  EXPECT_EQ(refused.status, 2) << refused.output;
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("'" + path("a b.h5") + "': the name of a fixture file"), HasSubstr("letters, digits, '.', '_' and '-'")));
  std::filesystem::rename(path("a b.h5"), path("a-b.h5"));
  EXPECT_EQ(run_assay("run --fixture " + path("a-b.h5")).status, 0);
}

TEST_F(CliFixture, AStoredExpectationCountsAsWell) {
  harness::FileContents contents = harness::contents_of(harness::parse_case(kCase, families::find_family("tq4")));
  const std::string file = path("stored.h5");
  const auto run_with = [&](double shift, double factor) {
    std::vector<fixtures::Tensor> tensors = contents.tensors;
    std::vector<double> value = tensors[5].values<double>();
    std::vector<double> bound = tensors[6].values<double>();
    value[9] += shift * bound[9];
    for (double& one : bound) one *= factor;
    tensors[5] = fixtures::make_tensor<double>(tensors[5].spec, value);
    tensors[6] = fixtures::make_tensor<double>(tensors[6].spec, bound);
    fixtures::write_file(file, contents.format, tensors);
    return run_assay("run --fixture " + file);
  };
  EXPECT_EQ(run_with(0, 1).status, 0);
  const Outcome shifted = run_with(1e-3, 1);
  EXPECT_EQ(shifted.status, 1);
  EXPECT_THAT(shifted.output, AllOf(HasSubstr("mistrusted"), HasSubstr("is not what the oracle finds")));
  // Bounds that no float kernel keeps: the recomputed ones pass, these do not.
  const Outcome tight = run_with(0, 1e-6);
  EXPECT_EQ(tight.status, 1);
  EXPECT_THAT(tight.output, AllOf(HasSubstr("failed"), HasSubstr("compared with the expectation stored in")));
}

TEST_F(CliFixture, GenerateInfoAndVerifyAgree) {
  const std::string file = path("made.h5");
  ASSERT_EQ(run_assay(std::string("fixture generate ") + kCase + " -o " + file).status, 0);
  const Outcome info = run_assay("fixture info " + file);
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.output, AllOf(HasSubstr(kCase), HasSubstr("inputs/k_codes"), HasSubstr("uint8 [1, 96, 128]")));
  EXPECT_THAT(run_assay("fixture verify " + file).output, HasSubstr("valid"));

  // Several go into a directory, each under its own name.
  const Outcome several = run_assay("fixture generate fwht/d256/h2/premult/gauss/s1 reduce/d256/rows2/nwg3/gauss/s1 -o " + path("many"));
  EXPECT_EQ(several.status, 0) << several.output;
  EXPECT_EQ(run_assay("fixture verify " + path("many") + "/*.h5").status, 0);

  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 16);
  std::ofstream(file, std::ios::binary) << bytes;
  for (const char* command : {"fixture info ", "fixture verify ", "run --fixture "}) {
    const Outcome damaged = run_assay(command + file);
    EXPECT_EQ(damaged.status, 2) << command << damaged.output;
    EXPECT_THAT(damaged.output, HasSubstr(file));
    EXPECT_THAT(damaged.output, Not(HasSubstr("HDF5-DIAG")));
  }
}

TEST_F(CliFixture, UseThatMakesNoSenseEndsWithTwo) {
  for (const char* arguments :
       {"fixture", "fixture generate", "fixture info", "fixture info /no/such/file.h5", "fixture generate tq4/d256 -o x.h5",
        "fixture generate nothing/d256/h1/gauss/s1 -o x.h5", "run tq4_v1/d256/h2x1/kv70c96/ring0/win20/nwg2/h5-nowhere/s3",
        "fixture generate tq4/d256/h32x32/kv40c1048576/ring0/nomask/nwg1/huge/s1 -o /tmp/never.h5"}) {
    EXPECT_EQ(run_assay(arguments).status, 2) << arguments;
  }
}

// Offsets of 32 bits: enough for the whole cache if they have no sign.
TEST_F(CliFixture, AHugeCacheShowsSignedOffsets) {
  const std::string variant = source_of("tq4_v1");
  const auto with_offsets = [&](const std::string& type) {
    std::string text = variant;
    for (const char* side : {"K_packed", "V_packed"}) {
      const std::string from = std::string(side) + " + kv_head * cap * (D / 2)";
      const std::size_t place = text.find(from);
      EXPECT_NE(place, std::string::npos);
      text.replace(place, from.size(), std::string(side) + " + (" + type + ")(kv_head * cap * (D / 2))");
    }
    return write(text, type + "_offsets.metal");
  };
  const std::string huge = "/d256/h2x2/kv65c16777216/ring0/win33/nwg2/huge/s2";
  const std::string small = "/d256/h2x2/kv65c128/ring0/win33/nwg2/huge/s2";
  const std::string faulty = with_offsets("int");
  const Outcome wrong = run_assay("run int_offsets" + huge + " --family tq4 --kernel " + faulty);
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_EQ(run_assay("run int_offsets" + small + " --family tq4 --kernel " + faulty).status, 0);
  const Outcome right = run_assay("run uint_offsets" + huge + " --family tq4 --kernel " + with_offsets("uint"));
  EXPECT_EQ(right.status, 0) << right.output;
}

}  // namespace
}  // namespace assay::tests::fixtures_test

// Family `custom` as its users meet it: right and wrong kernels, right, wrong and hostile references of all three kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/support/command.h"
#include "tests/support/own_cache.h"

namespace assay::tests::custom_test {
namespace {

using namespace ::testing;

const std::string kKernel = R"(
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const half* x, device float* y, device int* sign, constant uint& dim,
                  uint2 at [[thread_position_in_grid]]) {
  const uint i = at.y * dim + at.x;
  y[i] = 3.0f * float(x[i]);
  sign[i] = x[i] < 0 ? -1 : 1;
}
)";

const std::string kTensors = R"(family = "custom"
source = "kernel.metal"
[axes]
rows = [1, 3]
dim  = [8, 33]
[tensors]
x    = { type = "half",  shape = ["rows", "dim"], fill = "gauss" }
y    = { type = "float", shape = ["rows", "dim"], output = true }
sign = { type = "int",   shape = ["rows", "dim"], output = true }
[[dispatch]]
function = "scale"
threads_in_grid = ["dim", "rows"]
threads = [8, 1]
)";

const std::string kBound = "[bound]\ny = { ulps = 1 }\n";
const std::string kCommand = "[reference]\ncommand = [\"python3\", \"reference.py\"]\n";

// Answers each question; `{}` is replaced by what an answer is.
std::string reference_with(const std::string& answer) {
  return replaced_once(R"(import sys, os, h5py, numpy as np
for question, answer in zip(sys.argv[1::2], sys.argv[2::2]):
    with h5py.File(question) as asked, h5py.File(answer, "w") as out:
        x = asked["inputs/x"][:]
        {}
)",
                       "{}", answer);
}

const std::string kRight = "out['expected/y'] = 3 * x; out['expected/sign'] = np.where(x < 0, -1.0, 1.0)";

class CustomFamily : public Cli {
 protected:
  // The variant is called after its folder.
  std::filesystem::path mine() const { return folder_ / "mine"; }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((mine() / name).parent_path());
    std::ofstream(mine() / name, std::ios::binary) << text;
  }
  void make(const std::string& reference, const std::string& toml = kTensors + kBound + kCommand,
            const std::string& kernel = kKernel) const {
    put("variant.toml", toml);
    put("kernel.metal", kernel);
    put("reference.py", reference_with(reference));
  }
  Outcome run(const std::string& words, const std::string& environment = "") const {
    return run_under(environment, "run " + words + " --ledger none --kernel '" + mine().string() + "'");
  }
};

TEST_F(CustomFamily, ARightKernelPassesAndASecondRunAsksNothing) {
  make("open(os.path.dirname(answer) + '/x', 'w').write('asked'); " + kRight);
  const std::string cache = "XDG_CACHE_HOME='" + (folder_ / "cache").string() + "'";
  const Outcome first = run("gate", cache);
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("12 cases: 12 passed, 0 failed"));
  // The answers are those of the folder's files; a kernel is not among them.
  put("kernel.metal", replaced_once(kKernel, "3.0f * float(x[i])", "float(x[i]) * 3.0f"));
  const auto start = std::chrono::steady_clock::now();
  const Outcome second = run("gate", cache + " PATH=/nowhere:/usr/bin");
  EXPECT_EQ(second.status, 0) << second.output;
  put("reference.py", "raise SystemExit('asked again')");
  EXPECT_THAT(run("gate", cache).output, HasSubstr("asked again"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST_F(CustomFamily, AWrongKernelFailsInEachOfItsOutputs) {
  for (const auto& [from, to] : {std::pair{"3.0f *", "3.00001f *"},
                                 {"? -1 : 1", "? -1 : 0"},
                                 {"x[i] < 0", "x[i] > 0"},
                                 {"y[i] =", "if (at.x != 32) y[i] ="},
                                 {"sign[i] =", "if (at.x != 32) sign[i] ="},
                                 {"y[i] =", "y[i + 1] = 0; y[i] ="}}) {
    make(kRight, kTensors + kBound + kCommand, replaced_once(kKernel, from, to));
    const Outcome outcome = run("mine/rows3/dim33/gauss/s1 --policy native");
    EXPECT_EQ(outcome.status, 1) << to << outcome.output;
  }
  make(kRight, kTensors + kBound + kCommand, replaced_once(kKernel, "? -1 : 1", "? -1 : 0"));
  EXPECT_THAT(run("mine/rows3/dim33/gauss/s1").output, HasSubstr("the worst element is the one at sign[0, "));
}

TEST_F(CustomFamily, AWrongReferenceLetsNoKernelPass) {
  make("out['expected/y'] = 3.001 * x; out['expected/sign'] = np.where(x < 0, -1.0, 1.0)");
  EXPECT_EQ(run("smoke").status, 1);
  // One number for all proves nothing, even if the kernel agrees.
  make("out['expected/y'] = 0 * x; out['expected/sign'] = 0 * x", kTensors + kBound + kCommand,
       replaced_once(replaced_once(kKernel, "3.0f * float(x[i])", "0.0f"), "? -1 : 1", "? 0 : 0"));
  const Outcome constant = run("mine/rows3/dim33/gauss/s1");
  EXPECT_EQ(constant.status, 1);
  EXPECT_THAT(constant.output, HasSubstr("all 198 expected values are the same"));
  // Nor does a bound that allows everything.
  make(kRight + "; out['bound/y'] = 10 + abs(x)", kTensors + "[bound]\ny = \"reference\"\n" + kCommand);
  const Outcome wide = run("mine/rows3/dim33/gauss/s1");
  EXPECT_EQ(wide.status, 1);
  EXPECT_THAT(wide.output, HasSubstr("99 of 198 elements have a bound above 0.001 of their magnitude"));
}

TEST_F(CustomFamily, HostileReferencesEndAsMessages) {
  const std::string seconds = "seconds = 3\n";
  const std::pair<const char*, const char*> wrongs[] = {
      {"while True: pass", "did not end within 3 s; set `seconds` if it needs more"},
      {"import time; time.sleep(1000)", "did not end within 3 s"},
      {"os.fork() or os.setsid() or __import__('time').sleep(1000); os._exit(5)", "PermissionError"},
      {"pass", "/expected: is missing"},
      {"out['expected/y'] = 3 * x", "expected/sign: is missing"},
      {"out['expected/y'] = 3 * x[:, 1:]; out['expected/sign'] = x", "expected/y: is float64 [3, 32], but float64 [3, 33] is needed"},
      {"out['expected/y'] = x.astype('f4'); out['expected/sign'] = x", "expected/y: is float32 [3, 33], but float64 [3, 33] is needed"},
      {"out['expected/y'] = x * np.nan; out['expected/sign'] = x", "has nan at element 0; an expected value must be finite"},
      {"out['expected/y'] = x * 1e39; out['expected/sign'] = x", "an output of type float cannot hold it"},
      {"out['expected/y'] = x; out['expected/sign'] = x + 0.5", "an output of type int cannot hold it"},
      {"out.close(); open(answer, 'w').write('garbage')", "is not an HDF5 file"},
      {"out.close(); os.remove(answer)", "wrote no file for mine/rows3/dim33/gauss/s1"},
      {"out.close(); os.remove(answer); os.symlink('/etc/passwd', answer)", "wrote no file for mine/rows3/dim33/gauss/s1"},
      {"out.close(); os.remove(answer); os.mkfifo(answer)", "wrote no file for mine/rows3/dim33/gauss/s1"},
      {"out.close(); os.truncate(answer, 1 << 40)", "ended with status"},
      {"print('x' * (1 << 22))", "printed more than 1 MiB"},
      {"x = bytearray(1 << 40)", "MemoryError"},
      {"open('/etc/passwd').read()", "PermissionError"},
      {"open(os.path.dirname(__file__) + '/variant.toml', 'a').write('x')", "PermissionError"},
      {"__import__('socket').socket()", "PermissionError"},
      {"raise ValueError(os.environ.get('SECRET', 'nothing'))", "ValueError: nothing"},
  };
  for (const auto& [reference, message] : wrongs) {
    make(reference, kTensors + kBound + kCommand + seconds);
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = run("mine/rows3/dim33/gauss/s1", "SECRET=told");
    EXPECT_EQ(outcome.status, 2) << reference << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << reference;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << reference;
  }
}

TEST_F(CustomFamily, ALibraryAnswers) {
  make("pass", kTensors + kBound + "[reference]\nlibrary = \"libmine.so\"\nseconds = 3\n");
  const auto build = [&](const std::string& body) {
    put("mine.c",
        "#include <stdint.h>\n#include <stdio.h>\nint assay_reference(const int64_t* axes, const double* const* in, double* const* out, "
        "double* const* "
        "bound) {\n  for (int64_t i = 0; i < axes[0] * axes[1]; ++i) { out[0][i] = 3 * in[0][i]; out[1][i] = in[0][i] < 0 ? -1 : 1; }\n  " +
            body + "\n  return bound[0] != 0;\n}\n");
    const Outcome built =
        run_command("clang-19 -shared -fPIC -o '" + (mine() / "libmine.so").string() + "' '" + (mine() / "mine.c").string() + "'");
    ASSERT_EQ(built.status, 0) << built.output;
  };
  build("");
  const Outcome right = run("gate");
  EXPECT_EQ(right.status, 0) << right.output;
  build("out[0][0] += 1;");
  EXPECT_EQ(run("gate").status, 1);
  const std::pair<const char*, const char*> wrongs[] = {
      {"for (;;) {}", "'libmine.so' on mine/rows3/dim33/gauss/s1"},
      {"*(volatile int*)0 = 1;", "signal 11"},
      {"return 7;", "assay_reference() returned 7"},
      {"if (fopen(\"/etc/passwd\", \"r\")) out[0][0] += 1; else return 9;", "returned 9"}};
  for (const auto& [body, message] : wrongs) {
    build(body);
    const Outcome outcome = run("mine/rows3/dim33/gauss/s1");
    EXPECT_EQ(outcome.status, 2) << body << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << body;
  }
}

TEST_F(CustomFamily, RecordedFilesHaveInputsAndResults) {
  make("pass", kTensors + kBound + "[reference]\nfile = \"cases/r{rows}_d{dim}.h5\"\n");
  std::filesystem::create_directories(mine() / "cases");
  const auto record = [&](const std::string& change) {
    put("record.py",
        "import h5py, numpy as np\nwith h5py.File('" + (mine() / "cases/r3_d8.h5").string() +
            "', 'w') as f:\n    x = np.arange(24.0).reshape(3, 8) - 10\n    f['inputs/x'] = x\n    f['expected/y'] = 3 * x\n    "
            "f['expected/sign'] = np.where(x < 0, -1.0, 1.0)\n    " +
            change + "\n");
    ASSERT_EQ(run_command("/usr/bin/python3 '" + (mine() / "record.py").string() + "'").status, 0);
  };
  record("");
  const Outcome right = run("gate");
  EXPECT_EQ(right.status, 0) << right.output;
  EXPECT_THAT(right.output, HasSubstr("1 case: 1 passed"));
  record("f['expected/y'][1, 1] = 0");
  EXPECT_EQ(run("mine/rows3/dim8/recorded/s0").status, 1);
  record("f['inputs/x'][0, 0] = 0.1");
  EXPECT_THAT(run("mine/rows3/dim8/recorded/s0").output, HasSubstr("has 0.1, which is no half"));
  EXPECT_THAT(run("mine/rows1/dim8/recorded/s0").output, HasSubstr("is not a file of the variant's folder"));
}

TEST_F(CustomFamily, DescriptionsThatCannotBeUsed) {
  const auto refused = [&](const std::string& toml) {
    make(kRight, toml);
    const Outcome outcome = run("smoke");
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    return outcome.output;
  };
  const std::string all = kTensors + kBound + kCommand;
  EXPECT_THAT(refused(kTensors + kBound), HasSubstr("[reference] is missing"));
  EXPECT_THAT(refused(kTensors + kCommand), HasSubstr("[bound] has no y: what may the error of that output be?"));
  EXPECT_THAT(refused(replaced(all, "ulps = 1", "ulps = 0")), HasSubstr("allows no error at all"));
  EXPECT_THAT(refused(replaced(all, "reference.py", "../reference.py")), HasSubstr("leads out of the folder of this file"));
  EXPECT_THAT(refused(replaced(all, "\"python3\"", "\"/usr/bin/python3\"")), HasSubstr("leads out of the folder of this file"));
  EXPECT_THAT(refused(replaced(all, "python3", "no-such-program")), HasSubstr("cannot start no-such-program"));
  EXPECT_THAT(refused(replaced(all, "\"half\"", "\"double\"")), HasSubstr("type of tensor x is 'double'; accepted: half, float, bfloat"));
  EXPECT_THAT(refused(replaced(all, "fill = \"gauss\"", "fill = [0, 5000]")), HasSubstr("a half holds the integers -2048 .. 2048"));
  EXPECT_THAT(refused(replaced(all, "rows = [1, 3]", "rows2 = [1]")), HasSubstr("this name cannot be used in names of cases"));
  EXPECT_THAT(refused(replaced(all, "rows = [1, 3]", "rows = [3, 3]")), HasSubstr("has a value twice"));
  EXPECT_THAT(refused(replaced(all, "output = true }\nsign", "fill = \"zero\" }\nsign")), HasSubstr("unknown key 'y' in [bound]"));
  EXPECT_THAT(refused(replaced(all, "source =", "fixtures = [\"needle\"]\nsource =")),
              HasSubstr("accepted: gauss, heavy, zero, cancel, tiny"));
  // What only an evaluation shows: the case is rejected.
  make(kRight, replaced(all, "x    = { type = \"half\",  shape = [\"rows\", \"dim\"]",
                        "x    = { type = \"half\",  shape = [\"rows\", \"dim - 8\"]"));
  EXPECT_THAT(run("mine/rows3/dim8/gauss/s1").output, HasSubstr("an axis of tensor x is 'dim - 8', which is 0; accepted: 1 .. 2^28"));
  make(kRight, replaced(all, "fill = \"gauss\"", "fill = \"gauss\", strides = [4, 1]"));
  EXPECT_THAT(run("mine/rows3/dim8/gauss/s1").output, HasSubstr("the strides of tensor x give two elements the same place"));
  EXPECT_THAT(run_assay("run smoke --kernel '" + (mine() / "nothing.metal").string() + "' --family custom").output,
              HasSubstr("no such kernel"));
}

// A pull request brings a wrong kernel, and a reference that agrees with it.
TEST_F(CustomFamily, TheReferenceOfTheTrustedFolderDecides) {
  make(kRight);
  std::filesystem::create_directories(folder_ / "base");
  std::filesystem::copy(mine(), folder_ / "base/mine", std::filesystem::copy_options::recursive);
  make(std::string(replaced_once(kRight, "3 * x", "4 * x")), kTensors + "[bound]\ny = { ulps = 2 }\n" + kCommand,
       replaced_once(kKernel, "3.0f *", "4.0f *"));
  EXPECT_EQ(run("smoke").status, 0);
  const Outcome strict = run("smoke --strict --trust '" + (folder_ / "base").string() + "'");
  EXPECT_EQ(strict.status, 1) << strict.output;
  EXPECT_THAT(strict.output, HasSubstr("above their bound"));
}

TEST_F(CustomFamily, OtherCommandsTakeItLikeAnyFamily) {
  make(kRight);
  const std::string kernel = " --kernel '" + mine().string() + "'";
  const Outcome dispatch = run_assay("dispatch mine/rows3/dim33/gauss/s1" + kernel);
  EXPECT_EQ(dispatch.status, 0) << dispatch.output;
  EXPECT_THAT(dispatch.output, HasSubstr("grid 33 x 3 x 1 threads"));
  EXPECT_EQ(run_assay("cost mine/rows3/dim33/gauss/s1" + kernel).status, 0);
  EXPECT_EQ(run_assay("explain mine/rows3/dim33/gauss/s1" + kernel).status, 0);
  EXPECT_EQ(run_assay("list gate --coverage" + kernel).status, 0);
  EXPECT_EQ(run("smoke --policy checked --seed 7").status, 0);
  put("kernel.metal", replaced_once(kKernel, "at.y * dim", "at.y * (dim / 8 * 8)"));
  const Outcome triage = run_assay("triage mine/rows3/dim33/gauss/s1" + kernel);
  EXPECT_THAT(triage.output, HasSubstr("mine/rows3/dim33/gauss/s1"));
  EXPECT_EQ(run_assay("--version").status, 0);
}

}  // namespace
}  // namespace assay::tests::custom_test

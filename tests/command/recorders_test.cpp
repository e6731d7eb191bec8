// The recorders of the documents: compiled as they are shown, run on a launch, and their traces checked. The encoders for Metal are
// compiled against stand-ins of its bindings (mock/), whose calls print what they get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/command/console_document.h"
#include "tests/support/command.h"

namespace assay::tests::recorders_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const fs::path kMocks = kRoot / "tests/command/mock";
const fs::path kGolden = kRoot / "tests/golden/dispatch";

// The launch of tests/golden/dispatch/tq4.json in one heap. A host with the mistake `dropped` binds K without its offset, one with
// `elements` gives that of the norms in elements, one with `swapped` takes V for K.
constexpr const char* kRustLaunch = R"(
fn encode(encoder: &mut dyn ComputeEncoder, views: &[View; 7], mistake: &str) {
    let [q, k, k_norms, v, v_norms, partials, dst] = views;
    let (k, v) = if mistake == "swapped" { (v, k) } else { (k, v) };
    let words: [u32; 11] = [8, 2, 256, 65, 65, 0x3d800000, 2, 33, 0, 2, 30];
    let params: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    encoder.set_pipeline("flash_attn_vec_tq_dk256", &[]);
    encoder.set_bytes(0, &params);
    encoder.set_buffer(1, q.buffer, q.start);
    encoder.set_buffer(2, k.buffer, if mistake == "dropped" { 0 } else { k.start });
    encoder.set_buffer(3, k_norms.buffer, if mistake == "elements" { k_norms.start / 4 } else { k_norms.start });
    encoder.set_buffer(4, v.buffer, v.start);
    encoder.set_buffer(5, v_norms.buffer, v_norms.start);
    encoder.set_buffer(6, partials.buffer, partials.start);
    encoder.set_threadgroup_memory_length(0, 1792);
    encoder.dispatch_threadgroups([1, 8, 2], [32, 1, 1]);
    encoder.memory_barrier();
    encoder.set_pipeline("flash_attn_vec_reduce_dk256", &[]);
    encoder.set_bytes(0, &8u32.to_le_bytes());
    encoder.set_buffer(1, partials.buffer, partials.start);
    encoder.set_buffer(2, dst.buffer, dst.start);
    encoder.set_bytes(3, &2u32.to_le_bytes());
    encoder.dispatch_threadgroups([8, 1, 1], [64, 1, 1]);
}
fn tensors(views: &mut Views, heap: BufferId) -> [View; 7] {
    [
        views.slice("Q", heap, 0, 8192, 4),
        views.slice("K_packed", heap, 8192, 16640, 1),
        views.slice("K_norms", heap, 24832, 520, 4),
        views.slice("V_packed", heap, 25600, 16640, 1),
        views.slice("V_norms", heap, 42240, 520, 4),
        views.slice("partials", heap, 43008, 16512, 4),
        views.slice("dst", heap, 59648, 8192, 4),
    ]
}
)";

// What an encoder of Metal is called with, in the words of the stand-ins; `barrier` is how it says that it means all buffers.
std::string calls(const std::string& barrier) {
  return "pipeline\n44 bytes, first 8, to 0\nbuffer of 1048576 at 0 to 1\nbuffer of 1048576 at 8192 to 2\nbuffer of 1048576 at 24832 to 3\n"
         "buffer of 1048576 at 25600 to 4\nbuffer of 1048576 at 42240 to 5\nbuffer of 1048576 at 43008 to 6\nmemory 1792 to 0\n"
         "1 8 2 of 32 1 1\n" +
         barrier +
         "\npipeline\n4 bytes, first 8, to 0\nbuffer of 1048576 at 43008 to 1\nbuffer of 1048576 at 59648 to 2\n4 bytes, first 2, to 3\n"
         "8 1 1 of 64 1 1\n";
}

class Recorders : public Cli {
 protected:
  // The files that a document shows.
  void take_files(const char* document) {
    for (const DocumentStep& step : parse_document(read_file(kRoot / document))) {
      if (!step.file.empty()) write(step.text, step.file);
    }
  }
  [[nodiscard]] Outcome in_folder(const std::string& command) const { return run_command("cd '" + folder_.string() + "' && " + command); }
};

class RustRecorders : public Recorders {
 protected:
  void SetUp() override {
    Recorders::SetUp();
    if (run_command("rustc --version").status != 0) GTEST_SKIP() << "no rustc";
    take_files("docs/RECORDERS.md");
    write(kRustLaunch, "launch.rs");
  }

  // Compiles the files that `text` includes, and runs it.
  Outcome run_rust(const std::string& text, const std::string& argument) {
    write(text, "host.rs");
    const Outcome compiled = in_folder("rustc --edition 2021 -D warnings -A dead_code -L . host.rs -o host" + crates_);
    EXPECT_EQ(compiled.status, 0) << compiled.output;
    return in_folder("./host " + argument);
  }
  void compile_stand_in(const std::string& crate) {
    const Outcome compiled =
        in_folder("rustc --edition 2021 --crate-type rlib -L . '" + (kMocks / (crate + ".rs")).string() + "'" + crates_);
    ASSERT_EQ(compiled.status, 0) << compiled.output;
    crates_ += " --extern " + crate + "=lib" + crate + ".rlib";
  }

 private:
  std::string crates_;  // options for those that were compiled
};

TEST_F(RustRecorders, WriteWhatIsInTheGoldenTrace) {
  const std::string host = R"(include!("trace_recorder.rs");
include!("launch.rs");
fn main() {
    let mut views = Views::default();
    let all = tensors(&mut views, BufferId { id: 0x600003a0c000, length: 1048576 });
    let mut recorder = TraceRecorder::default();
    encode(&mut recorder, &all, &std::env::args().nth(1).unwrap());
    print!("{}", recorder.json("tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7", &views));
}
)";
  const Outcome right = run_rust(host, "right");
  EXPECT_EQ(right.output, read_file(kGolden / "recorded_with_tensors.json"));
  const Outcome strict = run_assay("check-dispatch --strict --execute " + write(right.output, "right.json"));
  EXPECT_EQ(strict.status, 0) << strict.output;
  const std::map<std::string, std::string> sentences = {
      {"dropped", "the tensor 'K_packed' starts at byte 8192 of '0x600003a0c000': the offset of the view was dropped"},
      {"elements", "the offset 6208 is that of the view in elements of 4 bytes; in bytes it is 24832"},
      {"swapped", "to index 2 (K_packed), where 'V_packed' is"}};
  for (const auto& [mistake, sentence] : sentences) {
    const Outcome outcome = run_assay("check-dispatch " + write(in_folder("./host " + mistake).output, mistake + ".json"));
    EXPECT_EQ(outcome.status, 1) << mistake << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(sentence)) << mistake;
  }
}

TEST_F(RustRecorders, EncodeWithTheCrateMetal) {
  compile_stand_in("metal");
  const Outcome outcome = run_rust(R"(include!("trace_recorder.rs");
include!("metal_encoder.rs");
include!("launch.rs");
fn main() {
    let buffers = [metal::Buffer::of(1048576)];
    let pipeline = |_: &str, _: &[(u32, i64)]| metal::ComputePipelineState(metal::ComputePipelineStateRef);
    let mut encoder = MetalEncoder { inner: &metal::ComputeCommandEncoderRef, pipeline: &pipeline, buffers: &buffers };
    let all = tensors(&mut Views::default(), BufferId { id: 0, length: 1048576 });
    encode(&mut encoder, &all, "");
}
)",
                                   "");
  EXPECT_EQ(outcome.output, calls("barrier 1"));
}

TEST_F(RustRecorders, EncodeWithTheCrateObjc2Metal) {
  compile_stand_in("objc2");
  compile_stand_in("objc2_metal");
  const Outcome outcome = run_rust(R"(include!("trace_recorder.rs");
include!("objc2_metal_encoder.rs");
include!("launch.rs");
fn main() {
    let buffers = [Retained::of(ProtocolObject::of(1048576))];
    let pipeline = |_: &str, _: &[(u32, i64)]| -> Pipeline { Retained::of(ProtocolObject::of(0)) };
    let inner = ProtocolObject::of(0);
    let mut encoder = Objc2Encoder { inner: &inner, pipeline: &pipeline, buffers: &buffers };
    let all = tensors(&mut Views::default(), BufferId { id: 0, length: 1048576 });
    encode(&mut encoder, &all, "");
}
)",
                                   "");
  EXPECT_EQ(outcome.output, calls("barrier 1"));
}

// The recorder itself is run by the commands of its document.
TEST_F(Recorders, EncodeWithMetalCpp) {
  take_files("docs/RECORDERS_CPP.md");
  write(R"(#include "metal_encoder.h"
int main() {
  MTL::ComputeCommandEncoder inner;
  MTL::ComputePipelineState pipeline;
  const MTL::Buffer buffer(4096);
  MetalEncoder encoder(&inner, [&](const std::string&, const Constants&) { return &pipeline; });
  Views views;
  const View view = views.slice("data", id_of(&buffer), 1024, 2048, 4);
  encoder.set_pipeline("f", {{50, 6}});
  encoder.set_buffer(1, view.buffer, view.start);
  const unsigned char bytes[] = {7, 8};
  encoder.set_bytes(0, bytes, sizeof bytes);
  encoder.set_threadgroup_memory_length(2, 64);
  encoder.memory_barrier();
  encoder.dispatch_threadgroups({1, 2, 3}, {32, 4, 5});
}
)",
        "host_metal.cpp");
  const Outcome compiled =
      in_folder("clang++-19 -std=c++17 -Wall -Wextra -Wconversion -Werror -isystem '" + kMocks.string() + "' host_metal.cpp -o host_metal");
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  EXPECT_EQ(in_folder("./host_metal").output,
            "pipeline\nbuffer of 4096 at 1024 to 1\n2 bytes, first 7, to 0\nmemory 64 to 2\nbarrier 1\n1 2 3 of 32 4 5\n");
}

}  // namespace
}  // namespace assay::tests::recorders_test

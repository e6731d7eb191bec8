// Writes the trace of one launch, as docs/DISPATCH.md of assay says: what a host in any language would write.
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>

#include "launch/hadamard.h"
#include "metal/buffer.h"

namespace {

namespace metal = assay::metal;

class TraceRecorder : public metal::ComputeEncoder {
 public:
  void set_pipeline(const metal::PipelineDescriptor& pipeline) override { function_ = pipeline.function; }

  void set_buffer(std::uint32_t index, metal::BufferView view) override {
    std::ostringstream entry;
    entry << R"({"index": )" << index << R"(, "buffer": ")" << view.buffer << R"(", "length": )" << view.buffer->size() << R"(, "offset": )"
          << view.offset << "}";
    bindings_[index] = entry.str();
  }

  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override {
    std::ostringstream entry;
    entry << R"({"index": )" << index << R"(, "bytes": ")" << std::hex << std::setfill('0');
    for (const std::byte byte : bytes) entry << std::setw(2) << static_cast<unsigned>(byte);
    entry << "\"}";
    bindings_[index] = entry.str();
  }

  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override { threadgroup_memory_[index] = bytes; }

  void memory_barrier() override { command(R"({"command": "barrier"})"); }

  void dispatch_threadgroups(metal::Size3 groups, metal::Size3 threads) override { dispatch("threadgroups", groups, threads); }
  void dispatch_threads(metal::Size3 all, metal::Size3 threads) override { dispatch("threads", all, threads); }

  std::string json(const std::string& test_case) const {
    return R"({"format": "assay-dispatch", "version": 1, "host": "consumer", "case": ")" + test_case + R"(", "commands": [)" + commands_ +
           "\n]}\n";
  }

 private:
  void command(const std::string& text) { commands_ += (commands_.empty() ? "\n  " : ",\n  ") + text; }

  void dispatch(const char* extent, metal::Size3 grid, metal::Size3 threads) {
    std::ostringstream text;
    text << R"({"command": "dispatch", "function": ")" << function_ << R"(", "bindings": [)";
    const char* separator = "";
    for (const auto& [index, entry] : bindings_) {
      text << separator << entry;
      separator = ", ";
    }
    text << R"(], "threadgroup_memory": [)";
    separator = "";
    for (const auto& [index, length] : threadgroup_memory_) {
      text << separator << R"({"index": )" << index << R"(, "length": )" << length << "}";
      separator = ", ";
    }
    text << "], \"" << extent << "\": [" << grid.x << ", " << grid.y << ", " << grid.z << R"(], "threads_per_threadgroup": [)" << threads.x
         << ", " << threads.y << ", " << threads.z << "]}";
    command(text.str());
  }

  std::string function_;
  std::map<std::uint32_t, std::string> bindings_;
  std::map<std::uint32_t, std::size_t> threadgroup_memory_;
  std::string commands_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: record_launch FILE.json\n", stderr);
    return 2;
  }
  metal::Buffer rows(5 * 256 * sizeof(float));
  TraceRecorder recorder;
  encode_hadamard(recorder, 5, 256, {&rows});
  std::ofstream file(argv[1]);
  file << recorder.json("hadamard_threadgroup/d256/h5/standalone/gauss/s7");
  return file.flush() ? 0 : 1;
}

// Compiles one kernel, runs it, and collects its buffers and hazards.
#include "tests/conformance/execute.h"
#include "metal/compile/library.h"
#include "tests/support/both_engines.h"
#include "tests/support/on_gpu.h"
#include "tests/support/ptx.h"

#include <fmt/format.h>

#include <memory>
#include <span>

namespace assay::tests {

namespace {

using Buffers = std::vector<std::unique_ptr<metal::Buffer>>;

// The output, then the inputs.
Buffers make_buffers(const Execution& execution) {
  Buffers buffers;
  buffers.push_back(std::make_unique<metal::Buffer>(execution.output_words * sizeof(std::uint32_t), "output"));
  for (const auto& words : execution.inputs) {
    const auto unwritten = execution.unwritten_words.find(static_cast<std::uint32_t>(buffers.size()));
    buffers.push_back(unwritten == execution.unwritten_words.end()
                          ? metal::Buffer::of<std::uint32_t>(words)
                          : std::make_unique<metal::Buffer>(unwritten->second * sizeof(std::uint32_t)));
  }
  return buffers;
}

void encode(const Execution& execution, metal::ComputeEncoder& encoder, const Buffers& buffers) {
  encoder.set_pipeline({execution.kernel, execution.constants});
  for (std::uint32_t index = 0; index < buffers.size(); ++index) {
    if (execution.set_bytes.contains(index)) {
      encoder.set_bytes(index, std::as_bytes(std::span(execution.inputs[index - 1])));
    } else {
      encoder.set_buffer(index, {buffers[index].get(), 0});
    }
  }
  if (execution.threadgroup_bytes != 0) encoder.set_threadgroup_memory_length(0, execution.threadgroup_bytes);
  encoder.dispatch_threadgroups(execution.threadgroups, execution.threads);
}

}  // namespace

Outcome execute(const Execution& execution) {
  const auto library = metal::Library::from_source(execution.source, "test.metal");
  metal::Simulator simulator({library}, execution.options);
  const Buffers buffers = make_buffers(execution);
  encode(execution, simulator, buffers);
  expect_ptx(*library, {execution.kernel, execution.constants});
  expect_same_on_fibers(
      {library}, execution.options, simulator,
      [&](metal::ComputeEncoder& encoder, const Buffers& fresh) { encode(execution, encoder, fresh); }, buffers, make_buffers(execution));
  // What a hazard leaves behind, no other device need leave.
  if (tests_on_gpu() && simulator.hazards().empty()) {
    expect_same_on_gpu(
        {library}, [&](metal::ComputeEncoder& encoder, const Buffers& fresh) { encode(execution, encoder, fresh); }, buffers,
        make_buffers(execution));
  }
  const auto words = buffers.front()->as<std::uint32_t>();
  return {{words.begin(), words.end()}, simulator.hazards(), simulator.counters()};
}

std::string failure(const Execution& execution) {
  try {
    execute(execution);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::string kernel_of(std::string_view body) {
  return fmt::format(
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) "
      "{{\n{}\n}}\n",
      body);
}

}  // namespace assay::tests

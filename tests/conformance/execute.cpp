// Compiles one kernel, runs it, and collects its buffers and hazards.
#include "tests/conformance/execute.h"
#include "metal/compile/library.h"
#include "tests/support/ptx.h"

#include <fmt/format.h>

#include <memory>
#include <span>

namespace assay::tests {

Outcome execute(const Execution& execution) {
  const auto library = metal::Library::from_source(execution.source, "test.metal");
  metal::Simulator simulator({library}, execution.options);
  simulator.set_pipeline({execution.kernel, execution.constants});
  expect_ptx(*library, {execution.kernel, execution.constants});
  metal::Buffer output(execution.output_words * sizeof(std::uint32_t), "output");
  simulator.set_buffer(0, {&output, 0});
  std::vector<std::unique_ptr<metal::Buffer>> inputs;
  for (const auto& words : execution.inputs) {
    const auto index = static_cast<std::uint32_t>(inputs.size() + 1);
    const auto unwritten = execution.unwritten_words.find(index);
    inputs.push_back(unwritten == execution.unwritten_words.end()
                         ? metal::Buffer::of<std::uint32_t>(words)
                         : std::make_unique<metal::Buffer>(unwritten->second * sizeof(std::uint32_t)));
    if (execution.set_bytes.contains(index)) {
      simulator.set_bytes(index, std::as_bytes(std::span(words)));
    } else {
      simulator.set_buffer(index, {inputs.back().get(), 0});
    }
  }
  if (execution.threadgroup_bytes != 0) simulator.set_threadgroup_memory_length(0, execution.threadgroup_bytes);
  simulator.dispatch_threadgroups(execution.threadgroups, execution.threads);
  const auto words = output.as<std::uint32_t>();
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

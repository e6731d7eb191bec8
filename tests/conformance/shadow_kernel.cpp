// Builds and runs the kernel of a body under the policy `shadow`.
#include "tests/conformance/shadow_kernel.h"
#include "metal/compile/library.h"

#include <stdexcept>

namespace assay::tests {

ShadowedRun run_shadowed(std::string_view body, metal::FloatType type, int dispatches, metal::SimulatorOptions options) {
  constexpr std::size_t kThreads = 32;
  const auto library = metal::Library::from_source(shadow_kernel(body), "test.metal");
  metal::Simulator simulator({library}, std::move(options));
  simulator.set_pipeline({"test", {}});
  std::vector<float> numbers(kThreads);
  for (std::size_t lane = 0; lane < kThreads; ++lane) numbers[lane] = 1.0F + static_cast<float>(lane) / 64.0F;
  const std::vector<std::uint32_t> zeros(kThreads, 0);
  const auto out = metal::Buffer::of<std::uint32_t>(zeros);
  const auto in = metal::Buffer::of<float>(numbers);
  const auto scratch = metal::Buffer::of<std::uint32_t>(zeros);
  for (const std::uint32_t index : {0U, 1U, 2U}) simulator.set_buffer(index, {out.get(), 0});
  simulator.set_buffer(3, {in.get(), 0});
  simulator.set_buffer(4, {scratch.get(), 0});
  simulator.set_threadgroup_memory_length(0, 1024);
  for (int dispatch = 0; dispatch < dispatches; ++dispatch) simulator.dispatch_threadgroups({1, 1, 1}, {kThreads, 1, 1});
  for (const auto& hazard : simulator.hazards()) throw std::runtime_error(hazard.message);
  const auto words = out->as<std::uint32_t>();
  return {{words.begin(), words.end()},
          simulator.shadows(*out, 0, kThreads, type),
          simulator.lost_shadows(),
          simulator.roundings(),
          simulator.birth()};
}

std::vector<std::uint32_t> run_native(std::string_view body) { return run_shadowed(body, metal::FloatType::float32, 1, {}).bits; }

}  // namespace assay::tests

// Makes work for a GPU of encoding calls.
#include "metal/devices/cuda/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hash.h"
#include "metal/devices/pipelines.h"
#include "metal/devices/simulator.h"
#include "metal/errors.h"

namespace assay::metal {

compile::PtxOptions ptx_options(const DeviceChoice& device) {
  compile::PtxOptions options;
  options.keeps_lockstep = device.keeps_lockstep;
  options.is_fast = device.is_fast;
  options.architecture = device.architecture;
  return options;
}

}  // namespace assay::metal

namespace assay::metal::cuda {

Kernel kernel_of(std::string function, std::string ptx) {
  base::Hash digest;
  digest.add(ptx);
  return {std::move(function), digest.hex(), std::move(ptx)};
}

Compile compile_from(std::vector<std::shared_ptr<Library>> libraries, compile::PtxOptions options) {
  return [libraries = std::move(libraries), options = std::move(options)](const PipelineDescriptor& descriptor) -> CompiledFunction {
    // The compiler for the CPU knows the arguments and refuses what is no kernel.
    const auto pipeline = find_pipeline(libraries, descriptor, SimulatorOptions{});
    return {compile::compile_ptx(libraries, descriptor, options), pipeline->layout()};
  };
}

void Encoder::set_pipeline(const PipelineDescriptor& pipeline) {
  const auto found = known_.find(pipeline);
  if (found != known_.end()) {
    current_ = &found->second;
    return;
  }
  Known known{compile_(pipeline), work_.kernels.size()};
  work_.kernels.push_back(kernel_of(known.function.layout.function, known.function.kernel.text));
  current_ = &known_.emplace(pipeline, std::move(known)).first->second;
}

Argument Encoder::argument_of(std::uint32_t index, const devices::Binding& binding, const ArgumentLayout& layout) {
  Argument argument;
  argument.index = index;
  if (binding.is_bytes) {
    argument.bytes.assign(reinterpret_cast<const char*>(binding.data()), binding.size());
    return argument;
  }
  const auto found = std::ranges::find(buffers_, binding.view.buffer);
  argument.buffer = static_cast<std::uint64_t>(found - buffers_.begin());
  argument.offset = binding.view.offset;
  if (found == buffers_.end()) buffers_.push_back(binding.view.buffer);
  const BoundArgument* declared = layout.find(AddressSpace::device, index);
  if (declared == nullptr) declared = layout.find(AddressSpace::constant, index);
  if (declared == nullptr || !declared->is_const) written_.insert(binding.view.buffer);
  return argument;
}

void Encoder::dispatch(const devices::Grid& grid) {
  if (current_ == nullptr) throw EncodeError("dispatch without a pipeline: set_pipeline was not called");
  const auto& [kernel, layout] = current_->function;
  devices::check_grid(layout, grid);
  if (grid.threadgroups.count() > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    throw EncodeError(fmt::format("'{}': {} threadgroups are more than a GPU of NVIDIA takes in one dispatch", layout.function,
                                  grid.threadgroups.count()));
  bindings_.choose(layout);

  Dispatch made;
  made.kernel = current_->number;
  made.threadgroups = grid.threadgroups;
  made.threads = grid.threads;
  made.total = grid.total;
  made.threadgroup_arguments.resize(cuda_abi::kBuffers);
  const std::uint32_t used = bindings_.place_threadgroup_arguments(layout, made.threadgroup_arguments);
  // The variables of the kernel take other room there than on the CPU; the arguments behind them keep their distances.
  const auto fixed = static_cast<std::uint32_t>(layout.static_threadgroup_bytes);
  for (const BoundArgument& argument : layout.arguments) {
    if (argument.space != AddressSpace::threadgroup) continue;
    std::uint32_t& offset = made.threadgroup_arguments[argument.index];
    offset = offset - fixed + kernel.threadgroup_bytes;
  }
  made.shared_bytes = used - fixed + kernel.threadgroup_bytes;
  for (std::uint32_t index = 0; index < cuda_abi::kBuffers; ++index) {
    const devices::Binding& binding = bindings_.all()[index];
    if (binding.bound) made.arguments.push_back(argument_of(index, binding, layout));
  }
  work_.dispatches.push_back(std::move(made));
}

void Encoder::dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) {
  dispatch(devices::grid_of_threadgroups(threadgroups, threads_per_threadgroup));
}

void Encoder::dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) {
  dispatch(devices::grid_of_threads(threads, threads_per_threadgroup));
}

}  // namespace assay::metal::cuda

// Records the calls to an encoder, and makes them again.
#include "metal/devices/commands.h"

#include <algorithm>
#include <type_traits>

namespace assay::metal {
namespace {

template <typename T>
std::uint64_t number_in(std::vector<T>& all, const T& one) {
  const auto found = std::ranges::find(all, one);
  const auto number = static_cast<std::uint64_t>(found - all.begin());
  if (found == all.end()) all.push_back(one);
  return number;
}

}  // namespace

std::uint64_t CommandRecorder::number_of(Buffer& buffer) { return number_in(buffers_, &buffer); }

void CommandRecorder::set_pipeline(const PipelineDescriptor& pipeline) {
  commands_.emplace_back(command::SetPipeline{number_in(pipelines_, pipeline)});
}

void CommandRecorder::set_buffer(std::uint32_t index, BufferView view) {
  command::SetBuffer& set = std::get<command::SetBuffer>(commands_.emplace_back(command::SetBuffer{}));
  set.index = index;
  if (view.buffer != nullptr) set.number = number_of(*view.buffer);
  set.offset = view.offset;
  set.needed = view.needed;
  set.limit = view.limit;
}

void CommandRecorder::set_bytes(std::uint32_t index, std::span<const std::byte> bytes) {
  commands_.emplace_back(command::SetBytes{index, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
}

void CommandRecorder::set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) {
  commands_.emplace_back(command::SetThreadgroupMemory{index, bytes});
}

void CommandRecorder::memory_barrier() { commands_.emplace_back(command::MemoryBarrier{}); }

void CommandRecorder::dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) {
  commands_.emplace_back(command::DispatchThreadgroups{threadgroups, threads_per_threadgroup});
}

void CommandRecorder::dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) {
  commands_.emplace_back(command::DispatchThreads{threads, threads_per_threadgroup});
}

void replay(std::span<const Command> commands, std::span<const PipelineDescriptor> pipelines,
            std::span<const std::unique_ptr<Buffer>> buffers, ComputeEncoder& encoder) {
  const auto make = [&](const auto& call) {
    using Call = std::decay_t<decltype(call)>;
    if constexpr (std::is_same_v<Call, command::SetPipeline>)
      encoder.set_pipeline(pipelines[call.number]);
    else if constexpr (std::is_same_v<Call, command::SetBuffer>)
      encoder.set_buffer(call.index, {call.number ? buffers[*call.number].get() : nullptr, call.offset, call.needed, call.limit});
    else if constexpr (std::is_same_v<Call, command::SetBytes>)
      encoder.set_bytes(call.index, std::as_bytes(std::span(call.bytes)));
    else if constexpr (std::is_same_v<Call, command::SetThreadgroupMemory>)
      encoder.set_threadgroup_memory_length(call.index, call.bytes);
    else if constexpr (std::is_same_v<Call, command::MemoryBarrier>)
      encoder.memory_barrier();
    else if constexpr (std::is_same_v<Call, command::DispatchThreadgroups>)
      encoder.dispatch_threadgroups(call.threadgroups, call.threads_per_threadgroup);
    else
      encoder.dispatch_threads(call.threads, call.threads_per_threadgroup);
  };
  for (const Command& command : commands) std::visit(make, command);
}

}  // namespace assay::metal

// The calls to an encoder as data, so that another process can make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "metal/buffer.h"
#include "metal/devices/encoder.h"
#include "metal/size3.h"

namespace assay::metal {

namespace command {

struct SetPipeline {
  std::uint64_t number = 0;  // into CommandRecorder::pipelines()
};
struct SetBuffer {
  std::uint32_t index = 0;
  std::optional<std::uint64_t> number;  // into CommandRecorder::buffers(); none: a view of nothing
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> needed, limit;  // as in BufferView
};
struct SetBytes {
  std::uint32_t index = 0;
  std::string bytes;
};
struct SetThreadgroupMemory {
  std::uint32_t index = 0;
  std::uint64_t bytes = 0;
};
struct MemoryBarrier {};
struct DispatchThreadgroups {
  Size3 threadgroups, threads_per_threadgroup;
};
struct DispatchThreads {
  Size3 threads, threads_per_threadgroup;
};

}  // namespace command

using Command = std::variant<command::SetPipeline, command::SetBuffer, command::SetBytes, command::SetThreadgroupMemory,
                             command::MemoryBarrier, command::DispatchThreadgroups, command::DispatchThreads>;

// Records calls. Pipelines and buffers are numbered in the order of their first use.
class CommandRecorder final : public ComputeEncoder {
 public:
  void set_pipeline(const PipelineDescriptor& pipeline) override;
  void set_buffer(std::uint32_t index, BufferView view) override;
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override;
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override;
  void memory_barrier() override;
  void dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) override;
  void dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) override;

  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }
  [[nodiscard]] const std::vector<PipelineDescriptor>& pipelines() const { return pipelines_; }
  [[nodiscard]] const std::vector<Buffer*>& buffers() const { return buffers_; }
  // The number of a buffer, which from now on belongs to buffers().
  std::uint64_t number_of(Buffer& buffer);

 private:
  std::vector<Command> commands_;
  std::vector<PipelineDescriptor> pipelines_;
  std::vector<Buffer*> buffers_;
};

// Makes the calls. Numbers must be in range.
void replay(std::span<const Command> commands, std::span<const PipelineDescriptor> pipelines,
            std::span<const std::unique_ptr<Buffer>> buffers, ComputeEncoder& encoder);

}  // namespace assay::metal

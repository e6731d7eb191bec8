// What a process that has a GPU is asked, and what it answers.
//
// It loads the driver and makes a context as soon as it starts, confines itself (base::confine_driver), and carries out work of one process
// after another. A process begins with a request that has the file of its memory: then the GPU forgets what it had before.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/server.h"
#include "harness/prepare/gpu_driver.h"
#include "metal/devices/cuda/gpu.h"
#include "metal/devices/cuda/work.h"

namespace assay::harness::on_gpu {

inline constexpr std::uint64_t kLongestReport = std::uint64_t{1} << 24;

// A buffer in the memory that both processes have.
struct SharedBuffer {
  std::uint64_t place = 0;  // of its first byte
  std::uint64_t size = 0;
  std::string label;
  bool is_constant = false;  // HostBuffer::is_constant
};
struct Request {
  std::uint64_t number = 0;  // that no other request has
  metal::cuda::Work work;
  std::vector<SharedBuffer> buffers;
  double limit = 0;  // seconds
};
struct Failure {
  metal::cuda::GpuError::Kind kind = metal::cuda::GpuError::Kind::refused;
  std::string function, text;
};
using Ending = std::variant<metal::cuda::WorkReport, Failure>;

struct Answer {
  std::uint64_t number = 0;  // Request::number: a process that was killed leaves an answer for nobody
  Ending ending;
};

[[nodiscard]] base::Bytes to_bytes(const Request& request);
// Throws base::DamagedArchive.
[[nodiscard]] Answer answer_from(std::span<const std::byte> bytes);

// Of the dispatches of a kernel, the threads of the largest threadgroup.
[[nodiscard]] std::uint32_t most_threads(const metal::cuda::Work& work, std::uint64_t kernel);

// To be called before processes start that shall take turns with each other where a GPU has room for one.
void prepare_turns();

// A process of GPU `number`. It ends after a failure, and after a stray write, which may have reached its memory. Throws ProcessRefused as
// metal::EnvironmentError.
[[nodiscard]] base::Server start(const LoadDriver& load, unsigned number);

}  // namespace assay::harness::on_gpu

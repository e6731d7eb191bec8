// Chooses the process that runs kernels, and says how one ended.
#include "harness/execute/kernel_host.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "harness/execute/gpu_process.h"
#include "harness/execute/kernel_process.h"

namespace assay::harness {

Fault fault_of(const base::Reply& reply, const base::Server& server) {
  const std::string words = server.last_words();
  const auto number = static_cast<std::uint64_t>(reply.ending.number);
  switch (reply.kind) {
    case base::Reply::Kind::answer:
      break;
    case base::Reply::Kind::too_long:
      return fault::MalformedVerdict{fmt::format("its length is given as {} bytes", reply.announced), words};
    case base::Reply::Kind::out_of_memory:
      return fault::OutOfMemory{words};
    case base::Reply::Kind::closed:
      return fault::ClosedChannel{words};
    case base::Reply::Kind::ended:
      if (reply.ending.kind == base::Ending::Kind::exited) return fault::Exited{number, words};
      if (reply.ending.kind == base::Ending::Kind::killed) return fault::Killed{number, words};
      break;
  }
  return fault::Vanished{words};
}

KernelHost& kernel_host(const metal::DeviceChoice& device) {
  if (device.is_gpu()) return GpuProcess::own(device);
  return KernelProcess::own();
}

}  // namespace assay::harness

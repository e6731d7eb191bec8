// Has a small kernel look for bytes that are not 0.
#include "metal/devices/cuda/zero_scan.h"

#include <cstdint>

#include "metal/cuda_abi.h"

namespace assay::metal::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;

}  // namespace

// The oldest target that the rest of assay's code has. 256 threads take the words of a piece in turn.
const std::string& ZeroScan::ptx() {
  static const std::string text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry )" + std::string(cuda_abi::kEntry) +
                                  R"((.param .align 8 .b8 parameter[16])
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [parameter];
  ld.param.u64 %rd2, [parameter+8];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r1, 65536;
  add.s64 %rd4, %rd1, %rd3;
  mul.wide.u32 %rd5, %r2, 4;
  add.s64 %rd4, %rd4, %rd5;
  mov.u32 %r3, 0;
  mov.u32 %r4, 64;
again:
  ld.global.u32 %r5, [%rd4];
  or.b32 %r3, %r3, %r5;
  add.s64 %rd4, %rd4, 1024;
  sub.u32 %r4, %r4, 1;
  setp.ne.u32 %p1, %r4, 0;
  @%p1 bra again;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra done;
  cvt.u64.u32 %rd6, %r1;
  add.s64 %rd7, %rd2, %rd6;
  mov.u32 %r6, 1;
  st.global.u8 [%rd7], %r6;
done:
  ret;
}
)";
  return text;
}

Status ZeroScan::load() {
  if (function_ != nullptr) return Status::success;
  Handle module = nullptr;
  std::string log;
  if (const Status status = driver_.load_module(ptx(), 0, module, log); status != Status::success) return status;
  return driver_.find_function(module, cuda_abi::kEntry, function_);
}

Status ZeroScan::run(Address first, std::size_t pieces, Address scratch, std::vector<char>& flags) {
  flags.assign(pieces, 0);
  if (pieces == 0) return Status::success;
  Parameter parameter{first, scratch};
  const LaunchShape shape{static_cast<std::uint32_t>(pieces), kThreads, 0};
  Status status = load();
  if (status == Status::success) status = driver_.copy_in(scratch, flags.data(), pieces);
  if (status == Status::success) status = driver_.launch(function_, shape, &parameter);
  // Waits for the kernel.
  return status == Status::success ? driver_.copy_out(flags.data(), scratch, pieces) : status;
}

}  // namespace assay::metal::cuda

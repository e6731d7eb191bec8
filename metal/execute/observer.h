// The events of a running dispatch, for the single consumer that checks, records or measures it.
//
// A dispatch has at most one observer: its kernel is compiled for one kind (Instrumentation), and compiled code does not report events
// that this kind does not need. Under `native` there is none, and each event costs a test of a pointer.
//
// Calls that return a decision are not events. Checker::access() returns the address to use, ShadowWatch::rounded_together() the shadow
// of a result. They run for every access or operation under their policies, so they stay direct calls: the functions for kernels of a
// policy (checked_services, shadowed_services) know the type of the observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "metal/lane_abi.h"
#include "metal/size3.h"

namespace assay::metal::execute {

struct Lane;

// The start of a threadgroup.
struct ThreadgroupStart {
  Size3 position;             // threadgroup_position_in_grid
  std::uint32_t threads = 0;  // in the threadgroup
  std::span<const std::byte> memory;
  std::span<const std::uint32_t> offsets, lengths;  // of the [[threadgroup(n)]] arguments in threadgroup memory, by index
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void begin_threadgroup(const ThreadgroupStart&) {}
  // Sets the members of a lane through which compiled code counts or measures without a call.
  virtual void prepare(abi::Lane&) {}

  // The lanes of a simdgroup meet at a site.
  virtual void met(std::uint32_t /*site*/) {}
  // A barrier releases its lanes; `flags` as in the kernel.
  virtual void simdgroup_barrier(std::uint32_t /*simdgroup*/, std::uint32_t /*flags*/) {}
  virtual void threadgroup_barrier(std::uint32_t /*site*/, std::uint32_t /*flags*/) {}

  // A store that waited for its meeting point commits. `source` has not been copied yet.
  virtual void wrote(const Lane&, std::uint32_t /*site*/, const void* /*address*/, const void* /*source*/, std::size_t /*bytes*/) {}

  // In kernels compiled to be traced or recorded: an access to memory that lanes share.
  virtual void accessed(const Lane&, const void* /*address*/, std::size_t /*bytes*/, bool /*is_write*/) {}
  // In kernels compiled to be recorded: a value was computed or is stored. The arguments are those of abi::kRecord.
  virtual void computed(const Lane&, std::uint32_t /*operation*/, const void* /*value*/, std::uint64_t /*bytes*/) {}
};

}  // namespace assay::metal::execute

// What a dispatch reports while it runs, to the one consumer that checks, records or measures it.
//
// A dispatch has one observer at most: its kernel is compiled for one kind (Instrumentation), and events that it does not need are not
// reported by the compiled code at all. Under `native` there is none, and each event costs a test of a pointer.
//
// Calls that decide something are no events. Checker::access() returns the address to use, ShadowWatch::rounded_together() the shadow of a
// result. They run for every access or operation under their policies, so they stay direct calls: the functions for kernels of a policy
// (checked_services, shadowed_services) know the type of the observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "metal/lane_abi.h"
#include "metal/size3.h"

namespace assay::metal::execute {

struct Lane;

// A threadgroup that begins.
struct ThreadgroupStart {
  Size3 position;             // threadgroup_position_in_grid
  std::uint32_t threads = 0;  // in it
  std::span<const std::byte> memory;
  std::span<const std::uint32_t> offsets, lengths;  // of the [[threadgroup(n)]] arguments in its memory, by index
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void begin_threadgroup(const ThreadgroupStart&) {}
  // Sets the members of a lane by which compiled code counts or measures without a call.
  virtual void prepare(abi::Lane&) {}

  // The lanes of a simdgroup meet at a site.
  virtual void met(std::uint32_t /*site*/) {}
  // Barriers release their lanes; `flags` as in the kernel.
  virtual void simdgroup_barrier(std::uint32_t /*simdgroup*/, std::uint32_t /*flags*/) {}
  virtual void threadgroup_barrier(std::uint32_t /*site*/, std::uint32_t /*flags*/) {}

  // A store that waited for its meeting point commits `source` now, and has not been copied yet.
  virtual void wrote(const Lane&, std::uint32_t /*site*/, const void* /*address*/, const void* /*source*/, std::size_t /*bytes*/) {}

  // Of kernels that were compiled to be traced or recorded: an access to memory that lanes share.
  virtual void accessed(const Lane&, const void* /*address*/, std::size_t /*bytes*/, bool /*is_write*/) {}
  // Of kernels that were compiled to be recorded: a value was computed or is stored; the arguments are those of abi::kRecord.
  virtual void computed(const Lane&, std::uint32_t /*operation*/, const void* /*value*/, std::uint64_t /*bytes*/) {}
};

}  // namespace assay::metal::execute

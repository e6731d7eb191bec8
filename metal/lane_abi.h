// The contract between compiled kernels and the runtime: what the lockstep pass (pass/) emits and execute/ provides.
//
// Included by both sides, and so free of anything but plain data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::metal::abi {

// Changes whenever anything in this file does; a module with another number is rebuilt.
inline constexpr std::uint32_t kVersion = 9;

inline constexpr std::uint32_t kLanes = 32;         // a SIMD-group
inline constexpr std::uint32_t kMaxBuffers = 31;    // [[buffer(0..30)]]
inline constexpr std::uint32_t kMaxLoopDepth = 10;  // loops around one meeting point, helpers included

// What a kernel can ask about its position; three components each, in the order of Lane::builtins.
enum Builtin : std::uint32_t {
  kThreadPositionInGrid,
  kThreadPositionInThreadgroup,
  kThreadgroupPositionInGrid,
  kThreadgroupsPerGrid,
  kThreadsPerThreadgroup,          // of this threadgroup (smaller at a ragged edge)
  kDispatchThreadsPerThreadgroup,  // as dispatched
  kThreadsPerGrid,
  kThreadIndexInThreadgroup,
  kThreadIndexInSimdgroup,
  kSimdgroupIndexInThreadgroup,
  kSimdgroupsPerThreadgroup,
  kDispatchSimdgroupsPerThreadgroup,
  kThreadsPerSimdgroup,
  kThreadIndexInQuadgroup,
  kQuadgroupIndexInThreadgroup,
  kQuadgroupsPerThreadgroup,
  kDispatchQuadgroupsPerThreadgroup,
  kGridOrigin,
  kGridSize,
  kBuiltinCount
};

// The part of a lane that compiled code reads and writes. The pass addresses the members by these offsets. What is touched at
// every meeting point comes last, where execute/ puts its own such state behind it in the same cache line.
struct Lane {
  std::uint32_t builtins[kBuiltinCount][3];
  std::uint32_t ordered_buffers;  // bit i: stores to buffer i are meeting points, because the dispatch also reads it
  void* buffers[kMaxBuffers];
  void* threadgroup_arguments[kMaxBuffers];
  char* threadgroup_memory;                            // static variables start here
  alignas(64) std::uint32_t iteration[kMaxLoopDepth];  // of each loop around the lane's position, outermost first
};

// The functions that the runtime provides, in the order of the module's table. Each takes (Lane*, site, ...).
enum Service : std::uint32_t {
  kStore,            // (destination, source, bytes): commits with the stores of the other lanes at this point
  kSimdReduceWord,   // (value) -> result: kSimdReduce of one 32-bit scalar, in registers; the rest stands in the site
  kSimdShuffleWord,  // (value, argument) -> result: the same for kSimdShuffle of four bytes, without a fill
  kSimdReduce,       // the arguments of metal/shader/runtime.h from here on
  kSimdShuffle,
  kSimdBallot,
  kSimdActive,
  kBarrier,
  kMatrixMultiply,  // (a, b, c) -> a b + c: the lane's elements, in registers
  kAtomic,
  kReconverge,  // (): lanes that took different ways come together
  kTrace,       // (address, bytes, is_write): in modules compiled to be traced
  kServiceCount
};

// One meeting point of a kernel, numbered in program order: a site that can be reached from another within the same
// iteration of the same loops has the larger number.
struct Site {
  std::uint32_t service;
  std::uint32_t operation;  // of kSimdReduceWord: operation | type << 8 | width << 16; of kSimdShuffleWord: mode | width << 16
  std::uint32_t file;       // index into Module::files
  std::uint32_t line;
  std::uint32_t depth;                 // loops around it
  std::uint32_t loops[kMaxLoopDepth];  // their numbers, outermost first
};

// The module's symbol `__assay_module`.
struct Module {
  std::uint32_t version;
  std::uint32_t site_count;
  const Site* sites;
  const char* const* files;
  std::uint32_t file_count;
  std::uint32_t threadgroup_bytes;  // static variables, padded to 16
  std::uint32_t read_buffers;       // bit i: the kernel may read device buffer i
  std::uint32_t written_buffers;    // bit i: the kernel may write device buffer i
  std::uint32_t present_buffers;    // bit i: [[buffer(i)]] is an argument of this specialisation
  std::uint32_t present_threadgroup_arguments;
  std::uint32_t has_device_atomics;
  std::uint32_t max_total_threads;  // what the kernel allows in a threadgroup; 0: it says nothing
  const char* reflection;           // see pass/reflection.h
  void** services;                  // kServiceCount entries, filled in by the loader
  void (*entry)(Lane*);
};

}  // namespace assay::metal::abi

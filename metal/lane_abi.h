// The contract between compiled kernels and the runtime: what the lockstep pass (pass/) emits and execute/ provides.
//
// Both sides include this file, so it contains only plain data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::metal::abi {

// Changes whenever anything in this file changes. A module with another number is rebuilt.
inline constexpr std::uint32_t kVersion = 20;

inline constexpr std::uint32_t kLanes = 32;         // per SIMD-group
inline constexpr std::uint32_t kMaxBuffers = 31;    // [[buffer(0..30)]]
inline constexpr std::uint32_t kMaxLoopDepth = 10;  // loops around one meeting point, including those of helpers

// The position values that a kernel can read, of three components each, in the order of Lane::builtins.
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
  kChoice,  // of no position: SimulatorOptions::choice, with which one compiled kernel stands for several
  kBuiltinCount
};

// In modules compiled to be checked: data with which a read of a buffer tests inline that it is harmless, counts itself and marks its
// bytes. A read that does not start below `limit` bytes after `data`, or that is misaligned, calls kAccess instead.
struct Quick {
  const void* data;
  std::uint64_t limit;    // 0: always call
  std::uint64_t touched;  // plus an eighth of the address: the byte that contains the bit of the address, eight bits to a byte
  std::uint64_t hits;
};

// In modules compiled to carry shadows: the shadow of the number at an address. There is a cell for every kCellGranule bytes of the
// address modulo kCellWindow. A number uses the first cell that it covers. The cell is valid if its tag has the type and the bits
// of the number.
struct Cell {
  double shadow;
  std::uint64_t tag;  // bits | (FloatType + 1) << kCellKindShift
};
inline constexpr std::uint64_t kCellWindow = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kCellGranule = 2;
inline constexpr std::uint64_t kCellBytes = sizeof(Cell);
inline constexpr std::uint64_t kCellKindShift = 32;

// The part of a lane that compiled code reads and writes. The pass addresses the members by these offsets. The member that every
// meeting point uses comes last, so that execute/ can put its own such state after it in the same cache line.
struct Lane {
  std::uint32_t builtins[kBuiltinCount][3];
  std::uint32_t kept_buffers;  // bit i: vector code keeps what it overwrites in buffer i, because the dispatch also reads it
  void* buffers[kMaxBuffers];
  void* threadgroup_arguments[kMaxBuffers];
  char* threadgroup_memory;        // static variables start here
  Quick* quick;                    // by access, in modules compiled to be checked
  std::uint64_t* block_counts;     // array of Module::block_count elements, in modules compiled to be checked
  Cell* cells;                     // in modules compiled to carry shadows, as the next ones
  std::uint32_t shadowed_buffers;  // bit i: buffer i may contain numbers that kernels have computed
  std::uint32_t is_watched;        // not 0: kRounded is called
  const double* weights;           // by operation: shadows are rounded where the weight is not 0, in modules compiled to be explained
  std::uint64_t meetings;          // counted by vector code, as the next three; see ExecutionCounters
  std::uint64_t collectives;
  std::uint64_t divergent_collectives;
  std::uint64_t products;
  std::uint32_t yields;                                // not 0: vector code calls kVectorYield after a meeting
  alignas(64) std::uint32_t iteration[kMaxLoopDepth];  // of each loop around the lane's position, outermost first
};

// The functions of the runtime, in the order of the module's table. Each takes (Lane*, site, ...).
enum Service : std::uint32_t {
  kStore,            // (destination, source, bytes): commits with the stores of the other lanes at this point
  kSimdReduceWord,   // (value) -> result: kSimdReduce of one 32-bit scalar, in registers; Site::operation has the rest
  kSimdShuffleWord,  // (value, argument) -> result: the same for kSimdShuffle of four bytes, without a fill
  kSimdReduce,       // from here on with the arguments of metal/shader/runtime.h
  kSimdShuffle,
  kSimdBallot,
  kSimdActive,
  kBarrier,
  kMatrixMultiply,  // (a, b, c) -> a b + c: the lane's elements, in registers
  kAtomic,
  kReconverge,   // (): lanes that took different branches meet again
  kTrace,        // (address, bytes, is_write): in modules compiled to be traced
  kAccess,       // (address, bytes) -> address to use: in modules compiled to be checked, before every read of memory that lanes share; the
                 // site is the number of the access
  kArithmetic,   // (result, a, b, c): in the same modules, after a floating-point operation with a NaN or an infinity in its result; the
                 // site is the number of the operation; all are addresses, null for absent operands
  kFence,        // (flags): in modules compiled to be checked
  kCopyShadows,  // (destination, source, bytes): in modules compiled to carry shadows, after a copy of memory
  kRounded,      // (rows): in modules compiled to be explained, after an operation that rounds; the site is its number, and the rows are
                 // those of RoundedRow
  kRecord,       // (address, bytes): in modules compiled to be recorded, after an operation that makes a value and before one that stores a
                 // value; the site is the number of the operation
  kMisaligned,   // (address): before an access whose address is not a multiple of Access::alignment; the site is the number of the access
  kUnset,     // (offset): in modules compiled to be checked, before a read of a local array that the lane has not written, and before any
              // access outside of it; the site is the number of the access, whose `alignment` is the size of the array
  kNarrowed,  // (value, what is left of it, type): in modules compiled to be checked, after a conversion that has lost bits of an index;
              // the site is the number of an access with the place, and the type is the width in bits | kSignedIndex
  // From here on for vector code, which calls them once for a SIMD-group, with the first of its lanes. `lanes` has the bits of those that
  // meet; arrays have an element for each lane.
  kVectorMeet,         // (lanes, finished lanes, words, results): any other service; `words` has 32 words for each of its arguments
  kVectorReduceWord,   // (lanes, operation, values): a reduction of one word, with Site::operation; results replace the values
  kVectorShuffleWord,  // (lanes, operation, values, arguments): the same for a shuffle without a fill
  kVectorYield,        // (): another SIMD-group may run
  kVectorGiveUp,       // (): does not return; the threadgroup runs again, lane by lane
  kVectorKeep,         // (lanes, addresses, bytes): before stores to a buffer of Lane::kept_buffers
  // In modules compiled to be checked. What must be reported ends the attempt, as kVectorGiveUp does.
  kVectorAccess,    // (lanes, number of the access, address of lane 0, distance from lane to lane, bytes): before a read or a write
  kVectorAccesses,  // (lanes, number of the access, addresses, bytes): the same with an address for each lane
  kVectorMet,       // (site): a meeting that does not call kVectorMeet
  kServiceCount
};

// Rows of kRowLength doubles: the result, the result without its rounding, its shadow, then value and shadow of each operand.
enum RoundedRow : std::uint32_t { kResultRow, kExactRow, kShadowRow, kFirstOperandRow };
inline constexpr std::uint32_t kRowLength = 16;
inline constexpr std::uint32_t kMaxOperands = 3;

inline constexpr std::uint32_t kSignedIndex = 1u << 31;

// One meeting point of a kernel. Sites are numbered in program order: within one iteration of the same loops, a site has a larger
// number than those from which it can be reached.
struct Site {
  std::uint32_t service;
  std::uint32_t operation;  // for kSimdReduceWord: operation | type << 8 | width << 16; for kSimdShuffleWord: mode | width << 16
  std::uint32_t file;       // index into Module::files
  std::uint32_t line;
  std::uint32_t depth;                 // loops around it
  std::uint32_t loops[kMaxLoopDepth];  // numbers of these loops, outermost first
};

// One place where memory that lanes share is read or written. Modules compiled to be checked list all such places; those of meeting
// points come first and have their numbers. Other modules list the places whose alignment is not known at compile time.
struct Access {
  std::uint32_t file;  // index into Module::files
  std::uint32_t line;
  std::uint32_t kind;       // bits of AccessKind; 0 for a meeting point that accesses no memory, and for a conversion
  std::uint32_t alignment;  // in bytes, on which the access relies
  std::uint32_t object;     // the object from which the pointer was derived: a buffer if below kMaxBuffers, else one of AccessObject
  std::uint32_t bytes;      // 0 if known only at run time
};
enum AccessKind : std::uint32_t {
  kReads = 1,
  kWrites = 2,
  kAtomically = 4,
  kCopiesWhole = 8,    // reads what may be a vector of three, whose last quarter is padding
  kCopiesPadding = 16  // reads what may be padding and only copies it
};
enum AccessObject : std::uint32_t {
  kAnyObject = kMaxBuffers,    // not known at compile time
  kThreadgroupArgument = 64,   // + index
  kThreadgroupVariable = 128,  // + number in Module::variables
};

// A variable in threadgroup memory that the kernel declares.
struct Variable {
  std::uint32_t offset;
  std::uint32_t size;
  const char* name;  // empty if unknown
};

// One floating-point operation of the kernel, in modules compiled to be checked, explained or recorded. In modules compiled to be
// recorded, also an operation that moves or stores values.
struct Operation {
  std::uint32_t file;  // index into Module::files
  std::uint32_t line;
  std::uint32_t what;  // an Arithmetic
  std::uint32_t type;  // of the result, a FloatType
  std::uint32_t from;  // of the operands
  std::uint32_t operands;
  std::uint32_t count;  // number of components
  std::uint32_t flops;  // floating-point operations per component
  std::uint32_t block;  // index into Lane::block_counts, which counts executions
};
enum Arithmetic : std::uint32_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kFusedMultiplyAdd,
  kConvert,
  kLibraryFunction,
  kMove,
  kStoreValue
};
enum FloatType : std::uint32_t { kFloat, kHalf, kBfloat, kDouble, kFloatTypeCount };
inline constexpr std::uint32_t kInteger = kFloatTypeCount;  // in Operation::type of a store: an integer

// A place where a kernel computes with the bits of a number, in modules compiled to carry shadows.
struct Lost {
  std::uint32_t file;  // index into Module::files
  std::uint32_t line;
};
enum ShadowKind : std::uint32_t { kNoShadows, kShadows, kExplained };

// A place in the user's source.
struct Place {
  std::uint32_t file;  // index into Module::files
  std::uint32_t line;
};

// The content of the module's symbol `__assay_module`.
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
  std::uint32_t max_total_threads;  // most threads that the kernel allows in a threadgroup; 0: not given
  std::uint32_t is_checked;
  std::uint32_t access_count;
  std::uint32_t variable_count;
  std::uint32_t operation_count;
  std::uint32_t block_count;
  const Access* accesses;
  const Variable* variables;
  const Operation* operations;
  std::uint32_t shadows;     // a ShadowKind
  std::uint32_t lost_count;  // places where a shadow is lost
  const Lost* lost;
  const std::uint32_t* alignments;  // kMaxBuffers elements: the address of buffer i must be a multiple of element i
  std::uint32_t place_count;
  const Place* places;     // line n of the object's line table (execute/line_table.h) stands for place n - 1
  const char* reflection;  // see pass/reflection.h
  void** services;         // kServiceCount entries, set when the kernel is first executed
  void (*entry)(Lane*);
  // The kernel for all lanes of a full SIMD-group at once, called with the first of them; null if it has no such form, and then why.
  void (*vector_entry)(Lane*);
  std::uint32_t vector_needs_rows;  // not 0: only for threadgroups whose width is a multiple of kLanes
  const char* vector_refusal;
};

}  // namespace assay::metal::abi

// The contract between compiled kernels and the runtime: what the lockstep pass (pass/) emits and execute/ provides.
//
// Included by both sides, and so free of anything but plain data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::metal::abi {

// Changes whenever anything in this file does; a module with another number is rebuilt.
inline constexpr std::uint32_t kVersion = 14;

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

// In modules compiled to be checked: data with which a read of a buffer can test inline that it is harmless, count itself and mark its
// bytes. A read that does not start below `limit` bytes behind `data`, or that is misaligned, calls kAccess.
struct Quick {
  const void* data;
  std::uint64_t limit;    // 0: always call
  std::uint64_t touched;  // with an eighth of the address added: where the bit of the byte is, eight to a byte
  std::uint64_t hits;
};

// In modules compiled to carry shadows: the shadow of the number at an address. There is a cell for every kCellGranule bytes of the address
// modulo kCellWindow; a number uses the first one that it covers. The cell is valid if its tag has the type and the bits of the number.
struct Cell {
  double shadow;
  std::uint64_t tag;  // bits | (FloatType + 1) << kCellKindShift
};
inline constexpr std::uint64_t kCellWindow = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kCellGranule = 2;
inline constexpr std::uint64_t kCellBytes = sizeof(Cell);
inline constexpr std::uint64_t kCellKindShift = 32;

// The part of a lane that compiled code reads and writes. The pass addresses the members by these offsets. What is touched at
// every meeting point comes last, where execute/ puts its own such state behind it in the same cache line.
struct Lane {
  std::uint32_t builtins[kBuiltinCount][3];
  std::uint32_t ordered_buffers;  // bit i: stores to buffer i are meeting points, because the dispatch also reads it
  void* buffers[kMaxBuffers];
  void* threadgroup_arguments[kMaxBuffers];
  char* threadgroup_memory;        // static variables start here
  Quick* quick;                    // by access, in modules compiled to be checked
  std::uint64_t* block_counts;     // Module::block_count of them, in modules compiled to be checked
  Cell* cells;                     // in modules compiled to carry shadows, as the next ones
  std::uint32_t shadowed_buffers;  // bit i: buffer i may hold numbers that kernels have computed
  std::uint32_t is_watched;        // kRounded is called
  const double* weights;           // by operation: shadows are rounded where it is not 0, in modules compiled to be explained
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
  kReconverge,   // (): lanes that took different branches meet again
  kTrace,        // (address, bytes, is_write): in modules compiled to be traced
  kAccess,       // (address, bytes) -> address: in modules compiled to be checked, before every read of memory that lanes share; the site
                 // is the number of the access, and the returned address is the one to use
  kArithmetic,   // (result, a, b, c): there too, behind a floating-point operation with a NaN or an infinity in its result; the site is the
                 // number of the operation, all are addresses, and null where it has no such operand
  kFence,        // (flags): in modules compiled to be checked
  kCopyShadows,  // (destination, source, bytes): in modules compiled to carry shadows, behind a copy of memory
  kRounded,  // (rows): in those compiled to be explained, behind an operation that rounds; the site is its number, and the rows are those
             // of RoundedRow
  kRecord,   // (address, bytes): in modules compiled to be recorded, behind what makes a value and before what stores one; the site is the
             // number of the operation
  kMisaligned,  // (address): before an access whose address is not a multiple of Access::alignment; the site is the number of the access
  kServiceCount
};

// Of kRowLength doubles each: the result, as it would be without its rounding, its shadow; then of each operand value and shadow.
enum RoundedRow : std::uint32_t { kResultRow, kExactRow, kShadowRow, kFirstOperandRow };
inline constexpr std::uint32_t kRowLength = 16;
inline constexpr std::uint32_t kMaxOperands = 3;

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

// One place where memory that lanes share is read or written. In modules compiled to be checked these are all such places; those of meeting
// points come first and have their numbers. In other modules they are the places whose alignment is not known at compile time.
struct Access {
  std::uint32_t file;  // index into Module::files
  std::uint32_t line;
  std::uint32_t kind;       // bits of AccessKind; 0 for a meeting point that accesses no memory
  std::uint32_t alignment;  // in bytes, that the access relies on
  std::uint32_t object;     // what the pointer was derived from: below kMaxBuffers that buffer, else one of AccessObject and the next ones
  std::uint32_t bytes;      // 0 if only the running kernel knows
};
enum AccessKind : std::uint32_t {
  kReads = 1,
  kWrites = 2,
  kAtomically = 4,
  kCopiesWhole = 8,    // reads what may be a vector of three, whose last quarter is padding
  kCopiesPadding = 16  // reads what may be padding and only copies it
};
enum AccessObject : std::uint32_t {
  kAnyObject = kMaxBuffers,    // not known when the kernel was compiled
  kThreadgroupArgument = 64,   // + index
  kThreadgroupVariable = 128,  // + number in Module::variables
};

// A variable in threadgroup memory that the kernel declares.
struct Variable {
  std::uint32_t offset;
  std::uint32_t size;
  const char* name;  // empty if the compiler does not say
};

// One floating-point operation of the kernel, in modules compiled to be checked, explained or recorded; in the last also what moves and
// stores values.
struct Operation {
  std::uint32_t file;  // index into Module::files
  std::uint32_t line;
  std::uint32_t what;  // an Arithmetic
  std::uint32_t type;  // of the result, a FloatType
  std::uint32_t from;  // of the operands
  std::uint32_t operands;
  std::uint32_t count;  // of components
  std::uint32_t flops;  // that one component costs
  std::uint32_t block;  // index into Lane::block_counts: how often it was executed
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
inline constexpr std::uint32_t kInteger = kFloatTypeCount;  // in Operation::type, of a store

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
  const std::uint32_t* alignments;  // kMaxBuffers of them: what the address of buffer i must be a multiple of
  std::uint32_t place_count;
  const Place* places;     // line n of the object's table of lines (execute/line_table.h) stands for the place n - 1
  const char* reflection;  // see pass/reflection.h
  void** services;         // kServiceCount entries, filled in when the kernel is first executed
  void (*entry)(Lane*);
};

}  // namespace assay::metal::abi

// The encoder that executes: dispatches run on this machine's cores, in lockstep simdgroups of 32 lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metal/encoder.h"
#include "metal/library.h"

namespace assay::metal {

// The order in which the simdgroups of a threadgroup take turns. Results of a right kernel do not depend on it.
struct Schedule {
  enum class Kind { forward, reverse, random } kind = Kind::forward;
  std::uint64_t seed = 0;  // of `random`

  // "forward", "reverse" or "random:<seed>"; throws std::invalid_argument for anything else.
  static Schedule parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

struct ValueTrace;  // metal/value_trace.h

// A place in the user's source.
struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

enum class HazardKind {
  barrier_divergence,
  dispatch_hazard,
  invalid_access,
  // Those of the policy `checked`, but for misaligned accesses, which all policies see.
  out_of_bounds,       // of the bound view, the threadgroup argument or variable
  uninitialised_read,  // of a byte that nobody has written
  misaligned_access,   // to no multiple of what its type wants
  threadgroup_race,    // in threadgroup memory, between simdgroups
  unfenced_barrier,    // the same, where a barrier stands between the two that does not fence threadgroup memory
  device_race,         // in device memory, between threadgroups of one dispatch
  simdgroup_race,      // in threadgroup memory, within one simdgroup: harmless in lockstep, undefined by the language
  identical_writes,    // unordered, of the same bits to one place
  nonfinite_result,    // a NaN or an infinity that an operation made of finite operands
};
inline constexpr HazardKind kLastHazardKind = HazardKind::nonfinite_result;
[[nodiscard]] std::string_view to_string(HazardKind kind);
// Whether a kernel that shows it is wrong; what is not is listed and no more.
[[nodiscard]] bool is_defect(HazardKind kind);

// Something a right kernel never does, seen while it ran. Equal hazards are merged and counted.
struct Hazard {
  HazardKind kind = HazardKind::barrier_divergence;
  std::string function;
  std::string message;  // one line, both parties named
  SourceLocation first;
  std::optional<SourceLocation> second;
  std::uint64_t count = 1;
};

// How a kernel is compiled (metal/README.md): `checked` watches every access to memory that lanes share; `shadow` carries beside every
// floating-point value what it would be without any rounding, to the precision of a double. Control flow and bits are the same in all.
enum class Policy { native, checked, shadow };
// "native", "checked" or "shadow"; throws std::invalid_argument for anything else.
[[nodiscard]] Policy parse_policy(std::string_view text);

struct SimulatorOptions {
  unsigned threads = 1;  // CPU threads; 0 takes all cores. Results do not depend on it.
  Schedule schedule = {};
  Policy policy = Policy::native;
  bool concurrent = false;  // MTLDispatchTypeConcurrent: dispatches overlap unless a memory_barrier() stands between

  // Under the policy `shadow`: count what each line rounds away (Simulator::roundings), and note where a relative error above
  // `large_error` is born (Simulator::birth). Slower.
  bool explain = false;
  double large_error = 0.01;
  // With `explain`: shadows are rounded at this line as the values are, and nowhere else. Their distance from those of a run without
  // is what the line contributes to an error, to first order.
  std::optional<SourceLocation> rounded_line = {};

  // Under the policy `native`: what every thread computes is added to it, on one CPU thread, until it is full. Much slower.
  ValueTrace* trace = nullptr;
};

// What the operations of one line lose, under SimulatorOptions::explain. The error of one operation is the distance between its result
// and the same operation in double on the same operands; conversions are operations too.
struct LineRounding {
  SourceLocation place;
  std::string what;              // "half add": the operation of the line that loses the most, relative to its results
  std::uint64_t operations = 0;  // of the line, by component
  double largest_relative = 0;   // error / |result|; infinite if a finite operation overflowed
  double mean_relative = 0;      // over the operations
};

// The first operation whose result has a large relative error while none of its operands has.
struct ErrorBirth {
  SourceLocation place;
  std::string function;
  std::string message;       // one line: place, operation, thread, value and shadow of the result and of each operand
  bool is_overflow = false;  // the value is no finite number, and the shadow is one
};

// The scalar type of the numbers in a buffer.
enum class FloatType { float32, half, bfloat };

// What running the dispatches cost; the same numbers in every run of the same work.
struct ExecutionCounters {
  std::uint64_t threadgroups = 0;
  std::uint64_t meeting_points = 0;  // simdgroup-wide: stores committed, collectives, barriers
  std::uint64_t collectives = 0;     // SIMD-group functions evaluated, once per simdgroup
  // Of those, with fewer lanes than are alive. A lane that has no meeting point before it has returned already: whether it
  // passed by a branch or left by `return` is the same control flow.
  std::uint64_t divergent_collectives = 0;
  std::uint64_t matrix_multiplies = 0;  // 8x8 multiply(-accumulate)s evaluated
};

// What kernels would cost elsewhere too; the same numbers in every run of the same work.
struct Cost {
  std::uint64_t device_bytes_read = 0;      // through device pointers, by every lane for itself
  std::uint64_t device_bytes_written = 0;   // atomic operations read and write
  std::uint64_t distinct_device_bytes = 0;  // of these, each byte once in a dispatch
  std::uint64_t threadgroup_accesses = 0;   // reads, writes and atomic operations of threadgroup memory, by lane
  std::uint64_t simdgroup_calls = 0;        // SIMD-group functions, matrix products and atomic operations, once per simdgroup
  std::uint64_t barriers = 0;               // of threadgroups and simdgroups, once per simdgroup
  // Additions, products, quotients, roots by component; a fused multiply-add is two. A library function is one, of float.
  std::uint64_t float_operations = 0;
  std::uint64_t half_operations = 0;
  std::uint64_t bfloat_operations = 0;
  friend bool operator==(const Cost&, const Cost&) = default;
  Cost& operator+=(const Cost& part);
};
struct LineCost {
  SourceLocation place;
  Cost cost;
  friend bool operator==(const LineCost&, const LineCost&) = default;
};
struct KernelCost {
  std::string function;
  std::uint64_t dispatches = 0;
  Cost total;                   // bytes that several lines touch are distinct once
  std::vector<LineCost> lines;  // ascending
  friend bool operator==(const KernelCost&, const KernelCost&) = default;
};

// Executes each dispatch when it is encoded. A barrier divergence, a trap, a stack that overflows or an address that no page can have ends
// its threadgroup, and is recorded in hazards(); every other hazard is recorded, and the kernel goes on. EncodeError, PipelineError and
// CompileError are thrown by the calls.
class Simulator final : public ComputeEncoder {
 public:
  // Functions are looked up in `libraries`, the first that has the name wins. Throws std::invalid_argument for a trace under another policy
  // than `native`, or of a concurrent encoder.
  explicit Simulator(std::vector<std::shared_ptr<Library>> libraries, SimulatorOptions options = {});
  ~Simulator() override;

  void set_pipeline(const PipelineDescriptor& pipeline) override;
  void set_buffer(std::uint32_t index, BufferView view) override;
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override;
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override;
  void memory_barrier() override;
  void dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) override;
  void dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) override;

  [[nodiscard]] const std::vector<Hazard>& hazards() const;
  [[nodiscard]] const ExecutionCounters& counters() const;
  // Of each function, in the order of their first dispatches; empty under other policies than `checked`.
  [[nodiscard]] const std::vector<KernelCost>& cost() const;

  // Under the policy `shadow`: what `count` numbers from byte `first` of `buffer` on would be without rounding. A number that no kernel
  // of this simulator computed is its own shadow.
  [[nodiscard]] std::vector<double> shadows(const Buffer& buffer, std::size_t first, std::size_t count, FloatType type) const;
  // Where a kernel computes with the bits of a number (hand-written rounding, say), so that its shadow was lost and began again as the
  // value: errors behind it cannot be split. In the order of dispatches, each place once.
  [[nodiscard]] const std::vector<SourceLocation>& lost_shadows() const;
  // With SimulatorOptions::explain; lines ascending.
  [[nodiscard]] std::vector<LineRounding> roundings() const;
  [[nodiscard]] const std::optional<ErrorBirth>& birth() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::metal

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

// A place in the user's source.
struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

enum class HazardKind { barrier_divergence, dispatch_hazard, invalid_access };
[[nodiscard]] std::string_view to_string(HazardKind kind);

// Something a right kernel never does, seen while it ran. Equal hazards are merged and counted.
struct Hazard {
  HazardKind kind = HazardKind::barrier_divergence;
  std::string function;
  std::string message;  // one line, both parties named
  SourceLocation first;
  std::optional<SourceLocation> second;
  std::uint64_t count = 1;
};

struct SimulatorOptions {
  unsigned threads = 1;  // CPU threads; 0 takes all cores. Results do not depend on it.
  Schedule schedule = {};
  bool concurrent = false;  // MTLDispatchTypeConcurrent: dispatches overlap unless a memory_barrier() stands between
};

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

// Executes each dispatch when it is encoded. A dispatch that meets a hazard stops that threadgroup, records it in
// hazards() and goes on with the next. EncodeError, PipelineError and CompileError are thrown by the calls.
class Simulator final : public ComputeEncoder {
 public:
  // Functions are looked up in `libraries`, the first that has the name wins.
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

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::metal

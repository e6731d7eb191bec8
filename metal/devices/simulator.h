// The encoder that executes: dispatches run on this machine's cores, in lockstep simdgroups of 32 lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metal/cost.h"
#include "metal/devices/encoder.h"
#include "metal/execute/rounding.h"
#include "metal/execute/schedule.h"
#include "metal/float_type.h"
#include "metal/hazard.h"
#include "metal/policy.h"

namespace assay::metal {

class Library;      // metal/compile/library.h
struct ValueTrace;  // metal/execute/value_trace.h

struct SimulatorOptions {
  unsigned threads = 1;  // CPU threads; 0 takes all cores. Results do not depend on it.
  Schedule schedule = {};
  Policy policy = Policy::native;
  bool concurrent = false;  // MTLDispatchTypeConcurrent: dispatches overlap unless a memory_barrier() stands between

  // Under the policy `shadow`: count what each line rounds away (Simulator::roundings), and note where a relative error above
  // `large_error` is born (Simulator::birth). Slower.
  bool explain = false;
  double large_error = kLargeError;
  // With `explain`: shadows are rounded at this line as the values are, and nowhere else. Their distance from those of a run without
  // is what the line contributes to an error, to first order.
  std::optional<SourceLocation> rounded_line = {};

  // Under the policy `native`: what every thread computes is added to it, on one CPU thread, until it is full. Much slower.
  ValueTrace* trace = nullptr;
};

// Executes each dispatch when it is encoded. A barrier divergence, a trap, a stack overflow or an address that no page can have ends its
// threadgroup and is recorded in hazards(). Every other hazard is recorded, and the kernel continues. EncodeError, PipelineError and
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
  // Where a kernel computes with the bits of a number (such as hand-written rounding): its shadow is lost and restarts as the value, so
  // errors behind it cannot be split. In the order of dispatches, each place once.
  [[nodiscard]] const std::vector<SourceLocation>& lost_shadows() const;
  // With SimulatorOptions::explain; lines ascending.
  [[nodiscard]] std::vector<LineRounding> roundings() const;
  [[nodiscard]] const std::optional<ErrorBirth>& birth() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::metal

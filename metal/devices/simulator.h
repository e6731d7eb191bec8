// The encoder that executes: dispatches run on this machine's cores, in lockstep simdgroups of 32 lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metal/cost.h"
#include "metal/devices/encoder.h"
#include "metal/engine.h"
#include "metal/execute/rounding.h"
#include "metal/execute/schedule.h"
#include "metal/float_type.h"
#include "metal/hazard.h"
#include "metal/policy.h"

namespace assay::metal {

class Library;      // metal/compile/library.h
struct ValueTrace;  // metal/execute/value_trace.h

struct SimulatorOptions {
  unsigned threads = 1;  // CPU threads; 0: one per core. Results do not depend on it.
  Schedule schedule = {};
  Policy policy = Policy::native;
  Engine engine = Engine::vector;  // under the policy `native`; others run lane by lane
  bool concurrent = false;         // MTLDispatchTypeConcurrent: dispatches overlap unless a memory_barrier() separates them

  // Under the policy `shadow`: sum up what each line rounds away (Simulator::roundings), and record where a relative error above
  // `large_error` originates (Simulator::birth). Slower.
  bool explain = false;
  double large_error = kLargeError;
  // With `explain`: shadows are rounded like the values at this line, and nowhere else. The difference to the shadows of a run without
  // it is, to first order, what the line contributes to an error.
  std::optional<SourceLocation> rounded_line = {};

  // What __assay_choice() of metal/shader/entry.h returns in kernels: an edit among those of harness/triage/edit_schema.h.
  std::uint32_t choice = 0;

  // Under the policy `native`: collects the values that every thread computes, until the trace is full. Runs on one CPU thread and
  // is much slower.
  ValueTrace* trace = nullptr;
};

// Executes each dispatch when it is encoded. A barrier divergence, a trap, a stack overflow or an address that no page can have ends
// its threadgroup and is recorded in hazards(). Every other hazard is recorded, and the kernel continues. The calls throw EncodeError,
// PipelineError and CompileError.
class Simulator final : public ComputeEncoder {
 public:
  // Functions are looked up in `libraries`; the first library with that name is used. Throws std::invalid_argument for a trace with a
  // concurrent encoder, or under another policy than `native`.
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
  // The cost of each function, in the order of their first dispatches. Empty under other policies than `checked`.
  [[nodiscard]] const std::vector<KernelCost>& cost() const;

  // Under the policy `shadow`: the values without rounding of `count` numbers from byte `first` of `buffer` on. A number that no kernel
  // of this simulator computed is its own shadow. Throws std::invalid_argument if the numbers are not all in the buffer.
  [[nodiscard]] std::vector<double> shadows(const Buffer& buffer, std::size_t first, std::size_t count, FloatType type) const;
  // Places where a kernel computes with the bits of a number (such as hand-written rounding). There the shadow is lost and restarts as
  // the value, so later errors cannot be split. In the order of dispatches, each place once.
  [[nodiscard]] const std::vector<SourceLocation>& lost_shadows() const;
  // With SimulatorOptions::explain; by ascending line.
  [[nodiscard]] std::vector<LineRounding> roundings() const;
  [[nodiscard]] const std::optional<ErrorBirth>& birth() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::metal

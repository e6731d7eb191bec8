// Encodes the dispatches of a trace on a simulator.
#include "harness/dispatch/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/dispatch/correspondence.h"
#include "harness/dispatch/recorder.h"
#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/errors.h"
#include "metal/limits.h"

namespace assay::harness {
namespace {

class Replay {
 public:
  Replay(const PreparedVariant& prepared, const LaunchRecorder& own, const Trace& trace, metal::ComputeEncoder& simulator,
         HostBuffers& host_buffers)
      : prepared_(prepared), own_(own), correspondence_(own.dispatches(), trace), simulator_(simulator), foreign_(host_buffers) {
    for (std::size_t i = 0; i < own.dispatches().size(); ++i) {
      for (const auto& [index, view] : own.views()[i]) {
        const TraceBuffer& buffer = *own.dispatches()[i].trace.bindings.at(index).buffer;
        longest_ = std::max(longest_, view.size());
        if (buffer.length != 0) views_.emplace(buffer.name, view);
      }
    }
  }

  void dispatch(const TraceDispatch& trace, std::size_t number) {
    if (trace.after_barrier) simulator_.memory_barrier();
    metal::PipelineDescriptor pipeline{trace.function, {}, definitions_of(trace.function)};
    for (const auto& [index, constant] : trace.constants) pipeline.constants.emplace(index, constant.value);
    simulator_.set_pipeline(pipeline);
    for (const metal::BoundArgument& argument : layout_of(pipeline).arguments) bind(trace, number, argument);
    const auto run = trace.counts_threads ? &metal::ComputeEncoder::dispatch_threads : &metal::ComputeEncoder::dispatch_threadgroups;
    (simulator_.*run)(trace.grid, trace.threads_per_threadgroup);
  }

 private:
  [[nodiscard]] const metal::ArgumentLayout& layout_of(const metal::PipelineDescriptor& pipeline) const {
    const auto library = std::ranges::find_if(prepared_.libraries, [&](const auto& candidate) { return candidate->offers(pipeline); });
    return (*library)->pipeline(pipeline)->layout();
  }

  // A trace does not say from which library a function is. It is the contract's library if that has the function, else the first one
  // that has it.
  [[nodiscard]] std::vector<std::string> definitions_of(const std::string& function) const {
    for (const ContractDispatch& dispatch : own_.dispatches()) {
      if (dispatch.trace.function == function) return dispatch.trace.definitions;
    }
    const auto library =
        std::ranges::find_if(prepared_.libraries, [&](const auto& candidate) { return candidate->has_function(function); });
    return library == prepared_.libraries.end() ? std::vector<std::string>() : (*library)->configuration();
  }

  void bind(const TraceDispatch& trace, std::size_t number, const metal::BoundArgument& argument) {
    if (argument.space == metal::AddressSpace::threadgroup) {
      // 0 if the trace reserves none, so that the reservation of an earlier dispatch does not remain.
      const auto found = trace.threadgroup_memory.find(argument.index);
      const std::uint64_t length = found == trace.threadgroup_memory.end() ? 0 : found->second;
      if (length > metal::kMaxThreadgroupBytes)
        throw metal::EncodeError(fmt::format("{} '{}': {} bytes of threadgroup memory {}; Metal allows {}", trace.place, trace.function,
                                             length, argument.index, metal::kMaxThreadgroupBytes));
      simulator_.set_threadgroup_memory_length(argument.index, length);
      return;
    }
    const auto found = trace.bindings.find(argument.index);
    if (found == trace.bindings.end())
      throw metal::EncodeError(
          fmt::format("{} '{}': nothing is bound at index {} ({})", trace.place, trace.function, argument.index, argument.name));
    const TraceBinding& binding = found->second;
    if (binding.bytes) {
      simulator_.set_bytes(argument.index, *binding.bytes);
    } else {
      simulator_.set_buffer(argument.index, view_of(*binding.buffer, number, argument.index));
    }
  }

  // A host's buffer may be too short. Ours is not, and only the policy `checked` holds a kernel to less of it.
  static metal::BufferView with_room_of(const TraceBuffer& buffer, metal::BufferView view) {
    view.limit = std::min<std::uint64_t>(view.size(), buffer.offset > buffer.length ? 0 : buffer.length - buffer.offset);
    return view;
  }

  metal::BufferView view_of(const TraceBuffer& buffer, std::size_t number, std::uint32_t index) {
    if (const Correspondence::Stand* stand = correspondence_.find(buffer)) return with_room_of(buffer, views_.at(stand->role));
    // A place further into a known buffer, for example with an offset that differs between two dispatches.
    for (const Correspondence::Stand& stand : correspondence_.all()) {
      if (stand.name == buffer.name && stand.offset < buffer.offset && buffer.offset - stand.offset < stand.needed) {
        const metal::BufferView view = views_.at(stand.role);
        return with_room_of(buffer, {view.buffer, view.offset + (buffer.offset - stand.offset)});
      }
    }
    // An argument that the contract binds only as a placeholder is bound as one here too.
    if (const auto contract = correspondence_.contract_of()[number]) {
      const auto& bindings = own_.dispatches()[*contract].trace.bindings;
      const auto wanted = bindings.find(index);
      if (wanted != bindings.end() && wanted->second.buffer && wanted->second.buffer->length == 0) return own_.views()[*contract].at(index);
    }
    auto& foreign = foreign_[{buffer.name, buffer.offset}];
    if (!foreign) foreign = std::make_unique<metal::Buffer>(longest_, buffer.name, &kernel_host({}).memory());
    return {foreign.get()};
  }

  const PreparedVariant& prepared_;
  const LaunchRecorder& own_;
  Correspondence correspondence_;
  metal::ComputeEncoder& simulator_;
  std::map<std::string, metal::BufferView> views_;  // by the contract's names
  std::size_t longest_ = 0;                         // bytes of the contract's longest buffer
  HostBuffers& foreign_;
};

}  // namespace

void replay(const PreparedVariant& prepared, const Trace& trace, metal::ComputeEncoder& simulator, const Encode& encode,
            HostBuffers& host_buffers) {
  host_buffers.clear();
  LaunchRecorder own(prepared);
  encode(own);
  // Separates this launch from earlier launches of the case.
  simulator.memory_barrier();
  Replay replay(prepared, own, trace, simulator, host_buffers);
  for (std::size_t i = 0; i < trace.dispatches.size(); ++i) replay.dispatch(trace.dispatches[i], i);
}

}  // namespace assay::harness

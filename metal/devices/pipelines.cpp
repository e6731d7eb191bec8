// Finds the pipeline of a function among libraries, and loads its code.
#include "metal/devices/pipelines.h"

#include <fmt/format.h>

#include "metal/compile/pipeline.h"
#include "metal/devices/simulator.h"
#include "metal/errors.h"
#include "metal/execute/connect.h"

namespace assay::metal {
namespace {

Instrumentation instrumentation_of(const SimulatorOptions& options) {
  if (options.policy == Policy::checked) return Instrumentation::checked;
  if (options.policy == Policy::shadow) return options.explain ? Instrumentation::explained : Instrumentation::shadowed;
  if (options.trace != nullptr) return Instrumentation::recorded;
  return options.concurrent ? Instrumentation::traced : Instrumentation::none;
}

}  // namespace

std::shared_ptr<const Pipeline> find_pipeline(const std::vector<std::shared_ptr<Library>>& libraries, const PipelineDescriptor& descriptor,
                                              const SimulatorOptions& options) {
  for (const auto& library : libraries) {
    if (library->offers(descriptor)) return library->pipeline(descriptor, instrumentation_of(options));
  }
  for (const auto& library : libraries) {
    for (const auto& refused : library->refused()) {
      if (refused.name == descriptor.function) throw CompileError(refused.reason);
    }
  }
  std::string names;
  for (const auto& library : libraries) names += (names.empty() ? "" : ", ") + library->name();
  throw PipelineError(fmt::format("no kernel function '{}' in {}", descriptor.function, names.empty() ? "no library at all" : names));
}

void load_code(const Pipeline& pipeline) { static_cast<void>(pipeline.impl().code(execute::connect)); }

}  // namespace assay::metal

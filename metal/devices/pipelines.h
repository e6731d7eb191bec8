// Finds the pipeline of a function among libraries, and loads its code.
#pragma once

#include <memory>
#include <vector>

#include "metal/compile/library.h"
#include "metal/pipeline_descriptor.h"

namespace assay::metal {

struct SimulatorOptions;

// The pipeline of a function, from the first library that offers it, compiled as a simulator with `options` needs it. Its code is not
// loaded into this process. Throws PipelineError and CompileError.
[[nodiscard]] std::shared_ptr<const Pipeline> find_pipeline(const std::vector<std::shared_ptr<Library>>& libraries,
                                                            const PipelineDescriptor& descriptor, const SimulatorOptions& options);

// Loads the code now, not at the first dispatch: before a process gives up the right to open files.
void load_code(const Pipeline& pipeline);

}  // namespace assay::metal

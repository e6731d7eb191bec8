// Judges a run of a job: every element of its output, its guard bands, inputs, promises and stages.
#pragma once

#include "harness/execute/execute_job.h"
#include "harness/execute/job_memory.h"

namespace assay::harness {

// Fills the verdict of `execution`, except for its status, from what the run left in `memory`. Throws what the oracle throws, and
// std::domain_error or fixtures::FileError for inputs for which the contract promises nothing.
void judge_run(Execution& execution, const JobMemory& memory);

}  // namespace assay::harness

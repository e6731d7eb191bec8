// Where a repair changes several places, classifies what each of them does on its own.
#pragma once

#include <span>

#include "harness/triage/classify.h"
#include "harness/triage/laboratory.h"
#include "harness/triage/suspects.h"

namespace assay::harness {

// `blamed`: a whole repair of the laboratory's source; `failing`: its failing cases, the cheapest first; `passed`: those that pass. If
// there are two places, repairs the one and then the other. If both of these kernels fail, with a class that has a name, `classification`
// becomes that of two mistakes at once; else it stays as it is.
void classify_each(const Laboratory& laboratory, const Blame& blamed, std::span<const Case> failing, std::span<const Case> passed,
                   Classification& classification);

}  // namespace assay::harness

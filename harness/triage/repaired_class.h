// The class of a mistake whose repair is known.
#pragma once

#include <span>
#include <string>

#include "harness/triage/classify.h"
#include "harness/triage/laboratory.h"
#include "harness/triage/nearby.h"
#include "harness/triage/suspects.h"

namespace assay::harness {

// Looks at a class once more that a number fitted to a few outputs decided, or that nothing decided: a class that explains them by chance
// does not explain other failing cases. If none explains them, what the repair changes decides, and where many mistakes have such a
// repair, the first wrong landmark, or what only the failing cases have. Evidence other than a fit stays. To an invalid access, or an
// output that is not written, the cause is added that the repair shows.
// `laboratory`: has the source that fails; `nearby`: what the class was decided by; `blamed`: the full repair; `failing`: cases that it
// repairs; `passed`: cases that pass without it.
void classify_by_repair(Laboratory& laboratory, const Nearby& nearby, const Blame& blamed, std::span<const Case> failing,
                        std::span<const Case> passed, Classification& classification);

// As classify_by_repair, for a partial repair: by the cases that it heals.
void classify_by_half(Laboratory& laboratory, const Nearby& nearby, const Blame& blamed, std::span<const Case> failing,
                      std::span<const Case> passed, Classification& classification);

// Names what a partial repair leaves, if its class is known.
void say_second(const Blame& blamed, Classification& classification);

}  // namespace assay::harness

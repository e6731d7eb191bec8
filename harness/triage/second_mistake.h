// A second mistake, where the repair of one leaves some cases failing.
#pragma once

#include "harness/triage/laboratory.h"
#include "harness/triage/suspects.h"

namespace assay::harness {

// `blamed` is partial. Where an edit repairs a part of the failing cases, or is only a guess, the kernel may make a second mistake, which
// the others show. Adds its suspects, and both repairs if there are any.
void blame_second_mistake(const Laboratory& laboratory, Blame& blamed, EditSearch search);

}  // namespace assay::harness

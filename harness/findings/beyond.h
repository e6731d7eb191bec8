// Verdicts on cases about what the contract leaves out.
#pragma once

#include "harness/findings/verdict.h"
#include "kernels/variant.h"

namespace assay::harness {

// A case about an omission that did not pass is a failure only if the variant claims what it is about, which must then not be skipped
// either. What proves nothing about the kernel remains as it is. Other cases are not changed.
void settle_beyond(const kernels::Variant& variant, Verdict& verdict);

}  // namespace assay::harness

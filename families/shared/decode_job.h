// The job of decode attention, shared by the families over TurboQuant caches.
#pragma once

#include <cstdint>
#include <vector>

#include "families/job.h"

namespace assay::families {

[[nodiscard]] std::vector<Promise> decode_promises();

// `nsg`: number of simdgroups per workgroup in the case.
[[nodiscard]] Job decode_job(const JobRequest& request, std::int64_t nsg);

}  // namespace assay::families

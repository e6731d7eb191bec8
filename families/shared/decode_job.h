// The job of decode attention, shared by the families over TurboQuant caches.
#pragma once

#include <cstdint>

#include "families/job.h"

namespace assay::families {

// `nsg`: simdgroups of a workgroup as the case says.
[[nodiscard]] Job decode_job(const JobRequest& request, std::int64_t nsg);

}  // namespace assay::families

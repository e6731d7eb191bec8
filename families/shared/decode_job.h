// The job of decode attention, shared by the families over TurboQuant caches.
#pragma once

#include <vector>

#include "families/shared/decode_inputs.h"

namespace assay::families {

[[nodiscard]] std::vector<Promise> decode_promises();

[[nodiscard]] Job decode_job(const JobRequest& request, const DecodeFormat& format);

}  // namespace assay::families

// Adds costs up.
#include "metal/cost.h"

namespace assay::metal {

Cost& Cost::operator+=(const Cost& part) {
  device_bytes_read += part.device_bytes_read;
  device_bytes_written += part.device_bytes_written;
  distinct_device_bytes += part.distinct_device_bytes;
  threadgroup_accesses += part.threadgroup_accesses;
  simdgroup_calls += part.simdgroup_calls;
  barriers += part.barriers;
  float_operations += part.float_operations;
  half_operations += part.half_operations;
  bfloat_operations += part.bfloat_operations;
  return *this;
}

}  // namespace assay::metal

// <metal_logging>: os_log accepts calls and discards them, because the simulator has no log.
#pragma once

namespace metal {

enum os_log_type { OS_LOG_TYPE_DEBUG, OS_LOG_TYPE_INFO, OS_LOG_TYPE_DEFAULT, OS_LOG_TYPE_ERROR, OS_LOG_TYPE_FAULT };

class os_log {
 public:
  constexpr os_log() = default;
  constexpr os_log(const __global char*, const __global char*) {}

#define ASSAY_LOG(name) \
  template <class... A> \
  void name(const __global char*, A...) const {}
  ASSAY_LOG(log)
  ASSAY_LOG(log_debug)
  ASSAY_LOG(log_info)
  ASSAY_LOG(log_error)
  ASSAY_LOG(log_fault)
#undef ASSAY_LOG
  template <class... A>
  void log_with_type(os_log_type, const __global char*, A...) const {}
};

constexpr __global const os_log os_log_default = os_log();

}  // namespace metal

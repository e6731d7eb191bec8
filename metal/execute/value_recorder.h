// Fills a ValueTrace while dispatches run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "metal/execute/observer.h"
#include "metal/execute/value_trace.h"
#include "metal/lane_abi.h"

namespace assay::metal::execute {

class ValueRecorder : public Observer {
 public:
  explicit ValueRecorder(ValueTrace& trace) : trace_(trace) {}

  // Call it at the start of a dispatch of this kernel. `followed` is the memory in which reads are followed; it may be empty.
  void begin(const abi::Module& module, const std::string& function, std::span<const std::byte> followed);

  void begin_threadgroup(const ThreadgroupStart& start) override;
  void accessed(const Lane& lane, const void* address, std::size_t bytes, bool is_write) override;
  void computed(const Lane& lane, std::uint32_t operation, const void* value, std::uint64_t bytes) override;

 private:
  ValueTrace& trace_;
  std::map<const abi::Module*, std::uint32_t> first_operations_;  // index in the trace of the module's first operation
  const abi::Module* module_ = nullptr;                           // of the current dispatch
  std::uint32_t first_operation_ = 0;
  std::span<const std::byte> followed_;
  std::size_t first_thread_ = 0;           // index in the trace of the current threadgroup's first thread
  std::vector<std::uint64_t> last_reads_;  // as TracedValue::read, by thread of the threadgroup
  std::uint64_t last_read_ = 0;            // by any thread of the threadgroup
};

}  // namespace assay::metal::execute

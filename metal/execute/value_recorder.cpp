// Appends the values that threads compute, with the reads before them, to a trace.
#include "metal/execute/value_recorder.h"

#include <cstring>

#include "metal/execute/lanes.h"
#include "metal/execute/scalars.h"

namespace assay::metal {
namespace {

TracedOperation::Kind kind_of(std::uint32_t what) {
  if (what == abi::kStoreValue) return TracedOperation::Kind::store;
  return what == abi::kMove ? TracedOperation::Kind::move : TracedOperation::Kind::arithmetic;
}

TracedOperation::Type type_of(std::uint32_t type) {
  switch (type) {
    case abi::kFloat:
      return TracedOperation::Type::float32;
    case abi::kHalf:
      return TracedOperation::Type::half;
    case abi::kBfloat:
      return TracedOperation::Type::bfloat;
    default:
      return TracedOperation::Type::integer;
  }
}

}  // namespace

namespace execute {

void ValueRecorder::begin(const abi::Module& module, const std::string& function, std::span<const std::byte> followed) {
  module_ = &module;
  followed_ = followed;
  trace_.functions.push_back(function);
  const auto [known, is_new] = first_operations_.try_emplace(&module, static_cast<std::uint32_t>(trace_.operations.size()));
  first_operation_ = known->second;
  if (!is_new) return;
  for (std::uint32_t number = 0; number < module.operation_count; ++number) {
    const abi::Operation& operation = module.operations[number];
    trace_.operations.push_back({kind_of(operation.what), type_of(operation.type), {module.files[operation.file], operation.line}});
  }
}

void ValueRecorder::begin_threadgroup(const ThreadgroupStart& start) {
  first_thread_ = trace_.threads.size();
  last_reads_.assign(start.threads, 0);
  last_read_ = 0;
  const auto dispatch = static_cast<std::uint32_t>(trace_.functions.size() - 1);
  for (std::uint32_t thread = 0; thread < start.threads; ++thread) trace_.threads.push_back({dispatch, start.position, thread, {}});
}

void ValueRecorder::accessed(const Lane& lane, const void* address, std::size_t, bool is_write) {
  if (is_write) return;
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(followed_.data());
  if (offset < followed_.size()) last_read_ = last_reads_[lane.builtins[abi::kThreadIndexInThreadgroup][0]] = offset + 1;
}

void ValueRecorder::computed(const Lane& lane, std::uint32_t operation, const void* value, std::uint64_t bytes) {
  const std::uint32_t thread = lane.builtins[abi::kThreadIndexInThreadgroup][0];
  const std::uint64_t count = module_->operations[operation].count;
  const std::uint64_t width = bytes / count;
  TracedThread& traced = trace_.threads[first_thread_ + thread];
  // If some threads fetch what all of them use, the other threads have read nothing themselves.
  const std::uint64_t read = last_reads_[thread] != 0 ? last_reads_[thread] : last_read_;
  for (std::uint64_t component = 0; component < count; ++component) {
    if (trace_.size >= trace_.most_values) {
      trace_.is_cut = true;
      return;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const std::byte*>(value) + component * width, width);
    traced.values.push_back({first_operation_ + operation, static_cast<std::uint32_t>(bits ^ (bits >> 32U)), read});
    ++trace_.size;
  }
}

}  // namespace execute
}  // namespace assay::metal

// Compares places of bindings with those of the tensors that a trace lists.
#include "harness/dispatch/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace assay::harness {
namespace {

constexpr std::size_t kMostRuns = 65536;  // of a tensor with gaps

// The sizes of elements in which a host may have counted.
std::vector<std::uint64_t> units(const TraceTensor& tensor, const metal::BoundArgument& argument) {
  std::vector<std::uint64_t> units = {tensor.element, metal::size_of(argument.element), argument.size};
  std::erase_if(units, [](std::uint64_t unit) { return unit <= 1; });
  return units;
}

// The size of the elements in which `offset` is the tensor's start.
std::optional<std::uint64_t> counted_in(const TraceTensor& tensor, std::uint64_t offset, const metal::BoundArgument& argument) {
  for (const std::uint64_t unit : units(tensor, argument)) {
    if (offset != 0 && tensor.start % unit == 0 && tensor.start / unit == offset) return unit;
  }
  return std::nullopt;
}

// The size of the elements by which `offset` is too large a multiple of the tensor's start.
std::optional<std::uint64_t> multiplied_by(const TraceTensor& tensor, std::uint64_t offset, const metal::BoundArgument& argument) {
  for (const std::uint64_t unit : units(tensor, argument)) {
    if (tensor.start != 0 && offset % unit == 0 && offset / unit == tensor.start) return unit;
  }
  return std::nullopt;
}

std::string in_elements(std::uint64_t offset, std::uint64_t unit, std::uint64_t start) {
  return fmt::format("the offset {} is that of the view in elements of {} bytes; in bytes it is {}", offset, unit, start);
}

const TraceTensor* tensor_at(const Trace& trace, const TraceBuffer& bound) {
  const auto found = std::ranges::find_if(
      trace.tensors, [&](const TraceTensor& tensor) { return tensor.buffer == bound.name && tensor.start == bound.offset; });
  return found == trace.tensors.end() ? nullptr : &*found;
}

// A piece of memory without gaps, in bytes from the start of the buffer.
using Run = std::pair<std::uint64_t, std::uint64_t>;

// In ascending order. One run from the first to the last byte if there are too many.
std::vector<Run> runs_of(const TraceTensor& tensor) {
  const std::vector<Run> whole = {{tensor.start, tensor.start + tensor.length}};
  if (tensor.axes.empty() || tensor.length == 0) return whole;
  std::uint64_t dense = tensor.element;
  std::vector<TraceTensor::Axis> outer;
  std::size_t count = 1;
  for (auto axis = tensor.axes.rbegin(); axis != tensor.axes.rend(); ++axis) {
    if (axis->size == 1 || axis->stride == 0) continue;
    if (outer.empty() && axis->stride == dense) {
      dense *= axis->size;
      continue;
    }
    if (axis->size > kMostRuns || (count *= axis->size) > kMostRuns) return whole;
    outer.push_back(*axis);
  }
  std::vector<std::uint64_t> starts = {tensor.start};
  for (const TraceTensor::Axis& axis : outer) {
    const std::size_t before = starts.size();
    for (std::uint64_t i = 1; i < axis.size; ++i) {
      for (std::size_t k = 0; k < before; ++k) starts.push_back(starts[k] + i * axis.stride);
    }
  }
  std::ranges::sort(starts);
  std::vector<Run> runs;
  runs.reserve(starts.size());
  for (const std::uint64_t start : starts) runs.emplace_back(start, start + dense);
  return runs;
}

}  // namespace

std::string misplacement(const Trace& trace, const TraceTensor& tensor, const TraceBuffer& bound, const metal::BoundArgument& argument) {
  if (bound.name == tensor.buffer && bound.offset == tensor.start) return {};
  const TraceTensor* other = tensor_at(trace, bound);
  const std::string where = fmt::format("'{}' starts at byte {} of '{}'", tensor.name, tensor.start, tensor.buffer);
  const std::string bound_at = fmt::format("the trace binds '{}' at offset {} to index {} ({}){}", bound.name, bound.offset, argument.index,
                                           argument.name, other == nullptr ? std::string() : fmt::format(", where '{}' is", other->name));
  if (bound.name != tensor.buffer) return fmt::format("{}; the tensor {}", bound_at, where);
  std::string why;
  if (const auto unit = counted_in(tensor, bound.offset, argument)) {
    why = in_elements(bound.offset, *unit, tensor.start);
  } else if (const auto factor = multiplied_by(tensor, bound.offset, argument)) {
    why = fmt::format("the offset {} is {} times that of the view, which already is in bytes", bound.offset, *factor);
  } else if (bound.offset == 0) {
    why = "the offset of the view was dropped";
  }
  return fmt::format("{}; the tensor {}{}", bound_at, where, why.empty() ? why : ": " + why);
}

std::string stray_offset(const Trace& trace, const TraceBuffer& bound, const metal::BoundArgument& argument) {
  if (tensor_at(trace, bound) != nullptr) return {};
  const auto is_in_it = [&](const TraceTensor& tensor) { return tensor.buffer == bound.name; };
  if (std::ranges::none_of(trace.tensors, is_in_it)) return {};
  std::string text = fmt::format("the trace binds '{}' at offset {} to index {} ({}), where no tensor of the trace starts", bound.name,
                                 bound.offset, argument.index, argument.name);
  for (const TraceTensor& tensor : trace.tensors) {
    if (!is_in_it(tensor)) continue;
    if (const auto unit = counted_in(tensor, bound.offset, argument))
      return fmt::format("{}; if '{}' is meant, {}", text, tensor.name, in_elements(bound.offset, *unit, tensor.start));
  }
  return text;
}

bool share_bytes(const TraceTensor& a, const TraceTensor& b) {
  if (a.buffer != b.buffer || a.start >= b.start + b.length || b.start >= a.start + a.length) return false;
  const std::vector<Run> first = runs_of(a);
  const std::vector<Run> second = runs_of(b);
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    if (first[i].second <= second[j].first) {
      ++i;
    } else if (second[j].second <= first[i].first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace assay::harness

// Compares places of bindings with those of the tensors that a trace lists, and the order of their elements with that of the inputs.
#include "harness/dispatch/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/repeats.h"
#include "fixtures/tensor.h"

namespace assay::harness {
namespace {

constexpr std::size_t kMostRuns = 65536;  // of a tensor with gaps

// The sizes of elements in which a host may have counted: those of the tensor, of the kernel, and of types that it has elsewhere.
std::vector<std::uint64_t> units(const TraceTensor& tensor, const metal::BoundArgument& argument) {
  std::vector<std::uint64_t> units = {tensor.element, metal::size_of(argument.element), argument.size, 2, 4, 8, 16};
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

using Axes = std::vector<TraceTensor::Axis>;

constexpr std::uint64_t kMostInputBytes = std::uint64_t{64} << 20;

std::vector<fixtures::Tensor> tensors_of(const Case& test_case, const families::Source& source) {
  if (source.is_file()) return {source.tensors.begin(), source.tensors.end()};
  try {
    return test_case.family->files.generate(test_case, *source.generator);
  } catch (const std::invalid_argument&) {
    return {};  // a family without fixture files
  }
}

std::uint64_t size_of_buffer(const families::JobBuffer& buffer) {
  std::uint64_t size = 0;
  for (const families::Piece& piece : buffer.contents) size += piece.bytes.size();
  return size;
}

bool is_equal(std::span<const std::byte> some, std::span<const std::byte> other) {
  return some.size() == other.size() && (some.empty() || std::memcmp(some.data(), other.data(), some.size()) == 0);
}

// Whether the buffer is the tensor without gaps. What the job leaves out are slots that no kernel reads.
bool is_whole(const families::JobBuffer& buffer, std::span<const std::byte> bytes) {
  return buffer.size == bytes.size() && !buffer.contents.empty() && std::ranges::all_of(buffer.contents, [&](const families::Piece& piece) {
           return is_equal(piece.bytes, bytes.subspan(piece.at, piece.bytes.size()));
         });
}

// Whether the pieces are the tensor, with gaps between them.
bool is_spread(const families::JobBuffer& buffer, std::span<const std::byte> bytes) {
  if (size_of_buffer(buffer) != bytes.size()) return false;
  std::size_t at = 0;
  return std::ranges::all_of(buffer.contents, [&](const families::Piece& piece) {
    at += piece.bytes.size();
    return is_equal(piece.bytes, bytes.subspan(at - piece.bytes.size(), piece.bytes.size()));
  });
}

// Where a byte of the tensor is in the buffer.
std::uint64_t place_of(const families::JobBuffer& buffer, std::uint64_t byte) {
  for (const families::Piece& piece : buffer.contents) {
    if (byte < piece.bytes.size()) return piece.at + byte;
    byte -= piece.bytes.size();
  }
  return byte;
}

std::optional<InputLayout> layout_in(const families::JobBuffer& buffer, const fixtures::Tensor& tensor) {
  const bool is_dense = is_whole(buffer, tensor.bytes);
  if (!is_dense && !is_spread(buffer, tensor.bytes)) return std::nullopt;
  // Equal rows look the same in every order.
  const std::size_t row =
      tensor.spec.shape.empty() ? tensor.bytes.size() : tensor.spec.shape.back() * fixtures::bytes_of(tensor.spec.element);
  if (tensor.bytes.size() > row && base::repeats(tensor.bytes, row)) return std::nullopt;
  const auto place = [&](std::uint64_t byte) { return is_dense ? byte : place_of(buffer, byte); };
  InputLayout layout{fixtures::bytes_of(tensor.spec.element), Axes(tensor.spec.shape.size())};
  std::uint64_t step = layout.element;
  std::uint64_t last = place(0);
  for (std::size_t i = layout.axes.size(); i-- > 0;) {
    TraceTensor::Axis& axis = layout.axes[i];
    axis = {tensor.spec.shape[i], tensor.spec.shape[i] > 1 ? place(step) - place(0) : step};
    last += (axis.size - 1) * axis.stride;
    step *= axis.size;
  }
  // Rows at other distances are no axes.
  if (last != place(tensor.bytes.size() - layout.element)) return std::nullopt;
  return layout;
}

Axes without_ones(Axes axes) {
  std::erase_if(axes, [](const TraceTensor::Axis& axis) { return axis.size == 1; });
  return axes;
}

// Innermost first, beginning with the bytes of an element. Axes without a gap between them are one.
Axes merged(std::uint64_t element, const Axes& axes) {
  Axes result = {{element, 1}};
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->stride == result.back().size * result.back().stride) {
      result.back().size *= axis->size;
    } else {
      result.push_back(*axis);
    }
  }
  return result;
}

// Whether both lie in the same bytes, in the same order. The first may be longer.
bool are_same_bytes(const Axes& longer, const Axes& wanted) {
  if (longer.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool is_outermost = i + 1 == wanted.size();
    if (longer[i].stride != wanted[i].stride || longer[i].size < wanted[i].size) return false;
    if (!is_outermost && longer[i].size != wanted[i].size) return false;
  }
  return true;
}

// The bytes after which an entry of each axis ends. The outermost axis is left out.
void add_cuts(std::uint64_t element, const Axes& axes, std::vector<std::uint64_t>& cuts) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    cuts.push_back(element);
    element *= axes[i].size;
  }
}

// 65 x 2 x 128 is no way to cut 2 x 65 x 128.
bool can_be_cut(std::vector<std::uint64_t> cuts) {
  std::ranges::sort(cuts);
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    if (cuts[i] % cuts[i - 1] != 0) return false;
  }
  return true;
}

bool is_same(const Axes& some, const Axes& other) {
  return std::ranges::equal(some, other, [](const auto& a, const auto& b) { return a.size == b.size && a.stride == b.stride; });
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

std::map<std::string, InputLayout> input_layouts(const Case& test_case, const families::Source& source, const families::Job& job) {
  std::uint64_t bytes = 0;
  for (const families::JobBuffer& buffer : job.buffers) bytes += std::min<std::uint64_t>(buffer.size, kMostInputBytes + 1);
  if (bytes > kMostInputBytes) return {};
  std::map<std::string, InputLayout> layouts;
  const std::vector<fixtures::Tensor> tensors = tensors_of(test_case, source);
  for (const families::JobBuffer& buffer : job.buffers) {
    std::optional<InputLayout> only;
    bool is_ambiguous = false;
    for (const fixtures::Tensor& tensor : tensors) {
      if (tensor.bytes.empty()) continue;
      const auto layout = layout_in(buffer, tensor);
      is_ambiguous = is_ambiguous || (layout && only && !is_same(without_ones(layout->axes), without_ones(only->axes)));
      if (layout && !only) only = layout;
    }
    if (only && !is_ambiguous) layouts.emplace(buffer.argument, *only);
  }
  return layouts;
}

bool has_layout(const TraceTensor& tensor, const InputLayout& wanted) {
  Axes axes = without_ones(tensor.axes);
  const Axes right = without_ones(wanted.axes);
  const auto has_sizes_of = [](const Axes& some, const Axes& other) {
    return std::ranges::equal(some, other, {}, &TraceTensor::Axis::size, &TraceTensor::Axis::size);
  };
  const auto has_same_sizes = std::ranges::is_permutation(axes, right, {}, &TraceTensor::Axis::size, &TraceTensor::Axis::size);
  if (tensor.element == wanted.element && has_same_sizes) {
    if (!has_sizes_of(axes, right)) std::ranges::sort(axes, std::ranges::greater(), &TraceTensor::Axis::stride);
    return is_same(axes, right);
  }
  std::vector<std::uint64_t> cuts;
  add_cuts(tensor.element, axes, cuts);
  add_cuts(wanted.element, right, cuts);
  return are_same_bytes(merged(tensor.element, axes), merged(wanted.element, right)) && can_be_cut(cuts);
}

std::string layout_text(std::uint64_t element, const std::vector<TraceTensor::Axis>& axes) {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;
  for (const TraceTensor::Axis& axis : axes) {
    sizes.push_back(axis.size);
    strides.push_back(axis.stride);
  }
  return fmt::format("{} elements of {}, with strides of {} bytes", fmt::join(sizes, " x "), base::counted(element, "byte"),
                     fmt::join(strides, ", "));
}

}  // namespace assay::harness

// Strides and places of the tensors of family `attention`.
#include "families/attention/layout.h"

#include <algorithm>
#include <stdexcept>

#include "fixtures/counter.h"

namespace assay::families::attention {
namespace {

using LaidAxis = kernels::NamedTensor::Axis;

struct Extent {
  std::string_view name;
  std::size_t extent;
  std::size_t gap = 0;  // elements behind each index of this axis
};

// A tensor whose axes follow each other in memory in this order, the last one innermost, starting `offset` elements into the buffer.
kernels::NamedTensor dense(const std::vector<Extent>& order, std::size_t element_bytes, std::size_t offset = 0) {
  kernels::NamedTensor tensor;
  tensor.element_bytes = static_cast<std::int64_t>(element_bytes);
  tensor.offset = static_cast<std::int64_t>(offset);
  std::size_t stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    tensor.axes.push_back({std::string(axis->name), static_cast<std::int64_t>(axis->extent), static_cast<std::int64_t>(stride)});
    stride = stride * axis->extent + axis->gap;
  }
  std::ranges::reverse(tensor.axes);
  return tensor;
}

// The axes in the order in which the contract names them.
kernels::NamedTensor ordered(kernels::NamedTensor tensor, const std::vector<std::string_view>& names) {
  std::vector<LaidAxis> axes;
  for (const std::string_view name : names) axes.push_back(*std::ranges::find(tensor.axes, name, &LaidAxis::name));
  tensor.axes = std::move(axes);
  return tensor;
}

// The gaps of a tensor: 0 for none, and else a number of its own, so that no two tensors have a stride in common.
std::size_t gap_of(const Shape& shape, std::string_view tensor) {
  if (tensor == "k" || tensor == "v") return shape.gaps == Gaps::none ? 0 : tensor == "k" ? 1 : 2;
  if (tensor == "q") return shape.gaps >= Gaps::inputs ? 3 : 0;
  return shape.gaps == Gaps::all ? 4 : 0;
}

// Where the last row of a tensor `far` begins, at least: neither int nor uint32 holds the bytes in front of it. Those of a mask are in
// uint32, because kernels have strides of masks in it, in elements, which are bytes in a boolean mask.
constexpr std::size_t kFarRows = std::size_t{1} << 32U;
constexpr std::size_t kFarMask = std::size_t{1} << 31U;

// With `far`, elements between each two places that put the one after `steps` of them behind byte `far` of the buffer; whole units of 16.
std::size_t far_gap(const Shape& shape, std::size_t steps, std::size_t element_bytes, std::size_t far) {
  constexpr std::size_t kUnit = 16;
  if (!shape.is_far || steps == 0) return 0;
  return far / steps / element_bytes / kUnit * kUnit + kUnit;
}

// The places between which a tensor `far` has gaps, from the first to the last: heads, or rows where heads lie between them. Then the last
// batch alone is as far.
std::size_t far_steps(bool is_token_major, std::size_t outer_count, std::size_t heads, std::size_t row_count) {
  if (!is_token_major) return outer_count * heads - 1;
  return outer_count > 1 ? (outer_count - 1) * row_count : row_count - 1;
}

// Rows of `heads` heads, in the layout of the case.
kernels::NamedTensor rows(const Shape& shape, std::string_view tensor, std::string_view outer, std::size_t outer_count, std::size_t heads,
                          std::string_view row, std::size_t row_count, std::size_t width, Storage type) {
  const ElementSize element = element_size(type);
  // Gaps keep rows aligned to 16 bytes. Behind all rows of a batch only with gaps everywhere: kernels count heads across batches.
  const std::size_t gap = gap_of(shape, tensor) * std::max<std::size_t>(1, 16 / element.bytes);
  const std::size_t outer_gap = shape.gaps >= Gaps::inputs ? gap : 0;
  const Extent dim{"dim", width / element.coordinates, gap};
  const Extent first{outer, outer_count};
  const bool is_token_major = shape.layout == Layout::blhd;
  const std::size_t steps = far_steps(is_token_major, outer_count, heads, row_count);
  const std::size_t inner_gap = 2 * gap + (gap == 0 || tensor == "out" ? 0 : far_gap(shape, steps, element.bytes, kFarRows));
  const std::vector<Extent> order = is_token_major
                                        ? std::vector<Extent>{first, {row, row_count, outer_gap}, {"head", heads, inner_gap}, dim}
                                        : std::vector<Extent>{first, {"head", heads, outer_gap}, {row, row_count, inner_gap}, dim};
  return ordered(dense(order, element.bytes), {outer, "head", row, "dim"});
}

// One part of a buffer that holds, for each token, the heads of q, of k and of v.
kernels::NamedTensor packed(const Shape& shape, std::string_view row, std::size_t heads, std::size_t before) {
  const std::size_t all = shape.heads + 2 * shape.kv_heads;
  kernels::NamedTensor tensor = ordered(dense({{"batch", shape.batches}, {row, shape.keys}, {"head", all}, {"dim", shape.dk}},
                                              element_size(shape.q).bytes, before * shape.dk),
                                        {"batch", "head", row, "dim"});
  tensor.axes[1].extent = static_cast<std::int64_t>(heads);
  return tensor;
}

kernels::NamedTensor list(std::string_view name, std::size_t count, std::size_t bytes) { return dense({{name, count}}, bytes); }

kernels::NamedTensor mask_of(const Shape& shape) {
  const std::size_t bytes = shape.mask == Mask::boolean ? 1 : element_size(shape.mask_type).bytes;
  const std::size_t gap = shape.mask_gaps ? 16 / bytes : 0;
  const std::size_t batches = shape.mask_per_batch ? shape.batches : 1;
  const std::size_t heads = shape.mask_per_head ? shape.heads : 1;
  const std::size_t plane_gap = 2 * gap + (gap == 0 ? 0 : far_gap(shape, batches * heads - 1, bytes, kFarMask));
  kernels::NamedTensor mask =
      dense({{"batch", batches, 0}, {"head", heads, 0}, {"query", shape.queries, plane_gap}, {"key", shape.keys, gap}}, bytes);
  mask.axes[0].extent = static_cast<std::int64_t>(shape.batches);
  mask.axes[1].extent = static_cast<std::int64_t>(shape.heads);
  if (!shape.mask_per_batch) mask.axes[0].stride = 0;
  if (!shape.mask_per_head) mask.axes[1].stride = 0;
  return mask;
}

}  // namespace

ElementSize element_size(Storage type) {
  switch (type) {
    case Storage::float32:
      return {4, 1};
    case Storage::half:
    case Storage::bfloat:
      return {2, 1};
    case Storage::q8_0:
      return {34, 32};
    case Storage::q4_0:
      return {18, 32};
    case Storage::q4_1:
      return {20, 32};
  }
  throw std::logic_error("a storage type without a size");
}

std::size_t Placed::byte_of(std::initializer_list<std::size_t> index) const {
  std::size_t element = static_cast<std::size_t>(tensor.offset);
  std::size_t axis = 0;
  for (const std::size_t i : index) element += i * static_cast<std::size_t>(tensor.axes[axis++].stride);
  return element * static_cast<std::size_t>(tensor.element_bytes);
}

Layouts::Layouts(const Shape& shape) {
  const auto add = [&](std::string_view name, kernels::NamedTensor tensor, std::string_view buffer) {
    tensors_.emplace(name, Placed{buffer.empty() ? name : buffer, std::move(tensor)});
  };
  if (shape.layout == Layout::packed) {
    add("q", packed(shape, "query", shape.heads, 0), "qkv");
    add("k", packed(shape, "key", shape.kv_heads, shape.heads), "qkv");
    add("v", packed(shape, "key", shape.kv_heads, shape.heads + shape.kv_heads), "qkv");
  } else {
    add("q", rows(shape, "q", "batch", shape.batches, shape.heads, "query", shape.queries, shape.dk, shape.q), {});
    const bool is_paged = shape.cache == Cache::paged;
    const std::string_view outer = is_paged ? "block" : "batch";
    const std::size_t outer_count = is_paged ? block_count(shape) : shape.kv_batches;
    const std::size_t row_count = is_paged ? shape.page : shape.capacity;
    add("k", rows(shape, "k", outer, outer_count, shape.kv_heads, "key", row_count, shape.dk, shape.k), {});
    add("v", rows(shape, "v", outer, outer_count, shape.kv_heads, "key", row_count, shape.dv, shape.v), {});
  }
  add("out", rows(shape, "out", "batch", shape.batches, shape.heads, "query", shape.queries, shape.dv, shape.out), {});
  add("lse", dense({{"batch", shape.batches}, {"head", shape.heads}, {"query", shape.queries}}, 4), {});
  add("mask", mask_of(shape), {});
  add("sinks", list("head", shape.heads, element_size(shape.sink_type).bytes), {});
  add("slopes", list("head", shape.heads, 4), {});
  add("kv_len", list("batch", shape.batches, 4), {});
  if (shape.cache == Cache::paged) add("block_table", dense({{"batch", shape.batches}, {"block", shape.pages()}}, 4), {});
}

const Placed* Layouts::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const Placed& Layouts::at(std::string_view name) const { return tensors_.find(name)->second; }

std::size_t Layouts::bytes(std::string_view buffer) const {
  std::size_t bytes = 0;
  for (const auto& [name, placed] : tensors_) {
    if (placed.buffer != buffer) continue;
    std::int64_t last = placed.tensor.offset;
    for (const LaidAxis& axis : placed.tensor.axes) last += (axis.extent - 1) * axis.stride;
    bytes = std::max(bytes, static_cast<std::size_t>((last + 1) * placed.tensor.element_bytes));
  }
  return bytes;
}

std::size_t block_count(const Shape& shape) { return shape.batches * shape.pages() + 3; }

std::size_t block_of(const Shape& shape, std::size_t batch, std::size_t page) {
  if (page == 0 && std::ranges::all_of(shape.kv_len, [&](std::size_t length) { return length >= shape.page; })) batch = 0;
  // A permutation of all blocks: an affine map with a factor that is coprime to their number.
  const std::size_t count = block_count(shape);
  const fixtures::Counter random(shape.seed, fixtures::Stream::place);
  std::size_t factor = 1 + random.below(0, count);
  const auto is_coprime = [](std::size_t a, std::size_t b) {
    while (b != 0) std::swap(a %= b, b);
    return a == 1;
  };
  while (!is_coprime(factor, count)) ++factor;
  return ((batch * shape.pages() + page) * factor + random.below(1, count)) % count;
}

}  // namespace assay::families::attention

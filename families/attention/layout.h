// The tensors of a case of family `attention` in memory: axes, strides, and where a row begins.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "families/attention/shape.h"
#include "kernels/expression.h"

namespace assay::families::attention {

// Bytes and coordinates of one element as expressions count it: a number, or a block of 32 with its scale.
struct ElementSize {
  std::size_t bytes;
  std::size_t coordinates;
};
[[nodiscard]] ElementSize element_size(Storage type);

// A tensor within its buffer. Strides are in elements.
struct Placed {
  std::string_view buffer;  // its own name, or that of the buffer which it shares
  kernels::NamedTensor tensor;

  // Bytes from the start of the buffer to an element; `index` has a number for each axis.
  [[nodiscard]] std::size_t byte_of(std::initializer_list<std::size_t> index) const;
};

// The layouts of all tensors of a case, also of those that a launch does not use.
//
//   q            batch, head, query, dim           out   the same with the width of v
//   k, v         batch, head, key, dim; of a paged cache block, head, key, dim
//   mask         batch, head, query, key           with a stride of 0 where batches or heads share it
//   sinks        head                              slopes  head: of ALiBi
//   kv_len       batch                             block_table  batch, block: int
//   lse          batch, head, query
class Layouts {
 public:
  explicit Layouts(const Shape& shape);

  [[nodiscard]] const Placed& at(std::string_view name) const;
  [[nodiscard]] const Placed* find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Placed, std::less<>>& all() const { return tensors_; }
  // Bytes of a buffer up to the end of its last tensor.
  [[nodiscard]] std::size_t bytes(std::string_view buffer) const;

 private:
  std::map<std::string, Placed, std::less<>> tensors_;
};

// Blocks of a paged cache in memory: more than the table needs, so that a wrong block is not another's.
[[nodiscard]] std::size_t block_count(const Shape& shape);
// The block that holds page `page` of a batch. Batches share their first page if it is full in both.
[[nodiscard]] std::size_t block_of(const Shape& shape, std::size_t batch, std::size_t page);

}  // namespace assay::families::attention

#include "metal/buffer.h"

namespace assay::metal {

Buffer::Buffer(std::size_t size, std::string label) : size_(size), label_(std::move(label)), memory_(size) { poison(); }

Buffer::Buffer(Unfilled, std::size_t size, std::string label)
    : size_(size), label_(std::move(label)), memory_(size), host_has_written_(true) {}

std::unique_ptr<Buffer> Buffer::sparse(std::size_t size, std::string label) {
  return std::unique_ptr<Buffer>(new Buffer(Unfilled{}, size, std::move(label)));
}

std::optional<std::string_view> Buffer::take_stray_write() {
  const auto side = memory_.written_margin();
  if (side) memory_.poison_margins();
  return side;
}

void Buffer::poison(std::uint32_t word) {
  memory_.poison(word);
  host_has_written_ = false;
}

}  // namespace assay::metal

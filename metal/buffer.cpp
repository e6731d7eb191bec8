// Poisons buffers, and keeps the set of existing ones.
#include "metal/buffer.h"

#include <mutex>
#include <set>

namespace assay::metal {

namespace {

std::mutex living_mutex;
// The ids of all existing buffers.
std::set<std::uint64_t>& living() {
  // Never destroyed, because buffers of static duration may outlive any other such object.
  static auto& all = *new std::set<std::uint64_t>();
  return all;
}

}  // namespace

Buffer::Buffer(std::size_t size, std::string label, SharedMemory* shared) : size_(size), label_(std::move(label)), memory_(size, shared) {
  poison();
}

Buffer::Buffer(Unfilled, std::size_t size, std::string label, SharedMemory* shared)
    : size_(size), label_(std::move(label)), memory_(size, shared, true), host_has_written_(true) {}

Buffer::Buffer(std::byte* data, std::size_t size, std::string label, bool host_has_written)
    : size_(size), label_(std::move(label)), memory_(data, size), host_has_written_(host_has_written) {}

Buffer::~Buffer() {
  const std::lock_guard lock(living_mutex);
  living().erase(id_);
}

std::uint64_t Buffer::enter() {
  static std::uint64_t last = 0;
  const std::lock_guard lock(living_mutex);
  living().insert(++last);
  return last;
}

bool Buffer::exists(std::uint64_t id) {
  const std::lock_guard lock(living_mutex);
  return living().contains(id);
}

std::unique_ptr<Buffer> Buffer::sparse(std::size_t size, std::string label, SharedMemory* shared) {
  return std::unique_ptr<Buffer>(new Buffer(Unfilled{}, size, std::move(label), shared));
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

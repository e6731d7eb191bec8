// The buffers of a job in this process: fills them before the passes, reads them afterwards.
#include "harness/execute/job_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/repeats.h"
#include "metal/guarded_memory.h"
#include "metal/shared_memory.h"

namespace assay::harness {
namespace {

using families::BufferRole;
using families::Gap;
using families::JobBuffer;
using families::Piece;
using families::Range;

// Guard bands consist of whole words.
std::size_t size_in_memory(const JobBuffer& described) {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  return described.has_guards ? (described.size + kWord - 1) / kWord * kWord + 2 * kGuardBytes : described.size;
}

std::size_t guard_bytes(const JobBuffer& described) { return described.has_guards ? kGuardBytes : 0; }

std::unique_ptr<metal::Buffer> make_buffer(const JobBuffer& described, std::size_t pass, metal::SharedMemory* shared) {
  std::string label(described.argument);
  const std::size_t guard = guard_bytes(described);
  auto buffer = described.gap == Gap::untouched ? metal::Buffer::sparse(described.size, std::move(label), shared)
                                                : std::make_unique<metal::Buffer>(size_in_memory(described), std::move(label), shared);
  if (described.gap == Gap::forbidden) buffer->poison(metal::kReadPoisonWord);
  // bytes() marks a buffer as written by the host, so it is called only for buffers that the host fills.
  if (!described.fills.empty()) {
    for (const Range& range : described.gap == Gap::untouched ? described.filled : std::vector{Range{0, described.size}})
      std::ranges::fill(buffer->bytes().subspan(guard + range.at, range.length), described.fills[pass]);
  }
  for (const Piece& piece : described.contents) {
    if (!piece.bytes.empty()) std::memcpy(buffer->bytes().data() + guard + piece.at, piece.bytes.data(), piece.bytes.size());
  }
  return buffer;
}

metal::BufferView view_of(const JobBuffer& described, metal::Buffer& buffer) {
  if (!described.has_guards) return {.buffer = &buffer};
  return {.buffer = &buffer, .offset = kGuardBytes, .limit = described.size};
}

bool is_zero(std::span<const std::byte> bytes) { return bytes.empty() || (bytes.front() == std::byte{0} && base::repeats(bytes, 1)); }

// The parts in memory; everything if the system does not say. Of pages that started as zeros, no other can differ. A page that was written
// and then swapped out would be missed where the memory is not shared.
std::vector<Range> parts_in_memory(std::span<const std::byte> bytes, const metal::SharedMemory* shared) {
  if (bytes.empty()) return {};
  if (const auto found = shared == nullptr ? std::nullopt : shared->parts_with_pages(bytes.data(), bytes.size())) {
    std::vector<Range> parts;
    for (const metal::SharedMemory::Part& part : *found) parts.push_back({part.at, part.length});
    return parts;
  }
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t end = begin + bytes.size();
  const std::uintptr_t first = begin / page * page;
  std::vector<unsigned char> in_memory((end - first + page - 1) / page);
  if (mincore(reinterpret_cast<void*>(first), end - first, in_memory.data()) != 0) return {{0, bytes.size()}};
  std::vector<Range> parts;
  for (std::size_t index = 0; index < in_memory.size(); ++index) {
    if ((in_memory[index] & 1U) == 0) continue;
    const std::uintptr_t from = std::max(begin, first + index * page);
    parts.push_back({from - begin, std::min(end, first + (index + 1) * page) - from});
  }
  return parts;
}

// Whether pages that started as zeros are still zeros.
bool is_untouched(std::span<const std::byte> bytes, const metal::SharedMemory* shared) {
  return std::ranges::all_of(parts_in_memory(bytes, shared),
                             [&](const Range& part) { return is_zero(bytes.subspan(part.at, part.length)); });
}

// `first`: offset of the bytes in their buffer, where the poison starts at the first byte.
bool is_poison(std::span<const std::byte> bytes, std::size_t first, std::uint32_t word) {
  for (std::size_t i = 0; i < std::min(bytes.size(), sizeof word); ++i) {
    if (bytes[i] != static_cast<std::byte>(word >> ((first + i) % sizeof word * 8))) return false;
  }
  return base::repeats(bytes, sizeof word);
}

bool is_gap(const JobBuffer& described, std::span<const std::byte> bytes, std::size_t first, const metal::SharedMemory* shared) {
  if (described.gap == Gap::untouched) return is_untouched(bytes, shared);
  return is_poison(bytes, first, described.gap == Gap::forbidden ? metal::kReadPoisonWord : metal::kPoisonWord);
}

}  // namespace

JobMemory::JobMemory(const families::Job& job, metal::SharedMemory* shared) : job_(job), shared_(shared) {
  for (const JobBuffer& described : job.buffers)
    inputs_.push_back(described.role == BufferRole::input ? make_buffer(described, 0, shared) : nullptr);
  for (std::size_t pass = 0; pass < job.passes.size(); ++pass) add_pass();
}

void JobMemory::add_pass() {
  PassMemory pass;
  for (std::size_t number = 0; number < job_.buffers.size(); ++number) {
    const JobBuffer& described = job_.buffers[number];
    pass.own.push_back(inputs_[number] == nullptr ? make_buffer(described, passes_.size(), shared_) : nullptr);
    pass.views.push_back(view_of(described, inputs_[number] == nullptr ? *pass.own.back() : *inputs_[number]));
  }
  passes_.push_back(std::move(pass));
}

bool JobMemory::may_run(std::size_t pass) const {
  if (!job_.passes[pass].probes) return true;
  for (std::size_t before = 0; before < pass; ++before) {
    if (!std::ranges::all_of(job_.judged, [&](std::size_t buffer) { return has_intact_guards(buffer, before); })) return false;
  }
  return true;
}

void JobMemory::drop_passes_not_run() {
  for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
    if (!may_run(pass)) return passes_.resize(pass);
  }
}

families::Results JobMemory::results() const {
  families::Results results;
  for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
    std::vector<families::BufferResult>& left = results.passes.emplace_back();
    for (std::size_t number = 0; number < job_.buffers.size(); ++number) {
      const JobBuffer& described = job_.buffers[number];
      const std::span<const std::byte> bytes = whole(number, pass).subspan(guard_bytes(described), described.size);
      const bool is_sparse = described.gap == Gap::untouched && described.role == BufferRole::output;
      left.push_back({bytes, has_intact_guards(number, pass), described.fills.empty() ? std::nullopt : std::optional(described.fills[pass]),
                      is_sparse ? parts_in_memory(bytes, shared_) : std::vector{Range{0, bytes.size()}}});
    }
  }
  return results;
}

std::span<const std::byte> JobMemory::whole(std::size_t buffer, std::size_t pass) const {
  return std::as_const(*view(buffer, pass).buffer).bytes();
}

std::span<const std::uint32_t> JobMemory::guard_before(std::size_t buffer, std::size_t pass) const {
  const metal::Buffer& made = *view(buffer, pass).buffer;
  return made.as<std::uint32_t>().first(guard_bytes(job_.buffers[buffer]) / sizeof(std::uint32_t));
}

std::span<const std::uint32_t> JobMemory::guard_behind(std::size_t buffer, std::size_t pass) const {
  const metal::Buffer& made = *view(buffer, pass).buffer;
  return made.as<std::uint32_t>().last(guard_bytes(job_.buffers[buffer]) / sizeof(std::uint32_t));
}

bool JobMemory::has_intact_guards(std::size_t buffer, std::size_t pass) const {
  const auto is_intact = [](std::uint32_t word) { return word == metal::kPoisonWord; };
  return std::ranges::all_of(guard_before(buffer, pass), is_intact) && std::ranges::all_of(guard_behind(buffer, pass), is_intact);
}

bool JobMemory::is_unchanged(std::size_t input) const {
  const JobBuffer& described = job_.buffers[input];
  const std::span<const std::byte> bytes = std::as_const(*inputs_[input]).bytes();
  std::size_t end = 0;
  for (const Piece& piece : described.contents) {
    const std::size_t first = guard_bytes(described) + piece.at;
    if (!is_gap(described, bytes.subspan(end, first - end), end, shared_)) return false;
    if (!piece.bytes.empty() && std::memcmp(bytes.data() + first, piece.bytes.data(), piece.bytes.size()) != 0) return false;
    end = first + piece.bytes.size();
  }
  return is_gap(described, bytes.subspan(end), end, shared_);
}

bool JobMemory::has_unchanged_inputs() const {
  for (std::size_t number = 0; number < inputs_.size(); ++number) {
    if (inputs_[number] != nullptr && !is_unchanged(number)) return false;
  }
  return true;
}

std::size_t JobMemory::written_size() const {
  std::size_t size = 0;
  for_each_written([&](std::span<const std::byte> bytes) { size += bytes.size(); });
  return size;
}

std::vector<std::byte> JobMemory::written() const {
  std::vector<std::byte> all;
  all.reserve(written_size());
  for_each_written([&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

bool JobMemory::has_written(std::span<const std::byte> all) const {
  if (written_size() != all.size()) return false;
  bool is_same = true;
  for_each_written([&](std::span<const std::byte> bytes) {
    is_same = is_same && (bytes.empty() || std::memcmp(bytes.data(), all.data(), bytes.size()) == 0);
    all = all.subspan(bytes.size());
  });
  return is_same;
}

template <typename F>
void JobMemory::for_each_written(F f) const {
  for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
    for (std::size_t number = 0; number < inputs_.size(); ++number) {
      if (inputs_[number] == nullptr) f(whole(number, pass));
    }
  }
}

}  // namespace assay::harness

// Places blocks between guards, moves their bytes, and looks at the guards.
#include "metal/devices/cuda/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "metal/guarded_memory.h"

namespace assay::metal::cuda {
namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);
// Memory that is kept for the next work.
constexpr std::size_t kKept = std::size_t{1} << 30;
constexpr std::size_t kChunk = std::size_t{16} << 20;
// Blocks and guards that travel together.
constexpr std::size_t kTogether = std::size_t{32} << 20;

std::size_t round_up(std::size_t size, std::size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Which pages around these bytes are in memory; all, where the system does not say.
std::vector<unsigned char> pages_in_memory(const std::byte* data, std::size_t size) {
  const std::size_t page = page_bytes();
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = begin / page * page;
  std::vector<unsigned char> present((begin + size - first + page - 1) / page, 1);
  if (mincore(reinterpret_cast<void*>(first), begin + size - first, present.data()) != 0) std::ranges::fill(present, 1);
  return present;
}

// Calls visit(first, last, is_present) for the pieces of bytes that share a page, until it returns something else than `success`.
template <typename Visit>
Status for_each_page(const std::byte* data, std::size_t size, const Visit& visit) {
  const std::size_t page = page_bytes();
  const std::vector<unsigned char> present = pages_in_memory(data, size);
  const std::size_t lead = reinterpret_cast<std::uintptr_t>(data) % page;
  for (std::size_t number = 0; number < present.size(); ++number) {
    const std::size_t first = number == 0 ? 0 : number * page - lead;
    const std::size_t last = std::min(size, (number + 1) * page - lead);
    if (const Status status = visit(first, last, (present[number] & 1U) != 0); status != Status::success) return status;
  }
  return Status::success;
}

void poison(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) std::memcpy(&bytes[at], &kMarginPoisonWord, kWord);
}

// `first` is the number of the first byte in the arena.
bool is_poison(std::span<const std::byte> bytes, std::size_t first) {
  const std::uint32_t word = std::rotr(kMarginPoisonWord, static_cast<int>(first % kWord * 8));
  std::array<std::uint32_t, 1024> expected;
  expected.fill(word);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof expected) {
    if (std::memcmp(&bytes[at], expected.data(), std::min(bytes.size() - at, sizeof expected)) != 0) return false;
  }
  return true;
}

bool is_zero(std::span<const std::byte> bytes) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  for (std::size_t at = 0; at < bytes.size(); at += kZeros.size()) {
    if (std::memcmp(&bytes[at], kZeros.data(), std::min(bytes.size() - at, kZeros.size())) != 0) return false;
  }
  return true;
}

}  // namespace

Arena::~Arena() = default;

void Arena::release() {
  if (base_ != 0) static_cast<void>(driver_.release(base_));
  base_ = 0;
  reserved_ = 0;
}

void Arena::trim() {
  if (reserved_ > kKept) release();
}

Status Arena::reserve(std::size_t bytes) {
  if (bytes <= reserved_ && (reserved_ <= kKept || bytes > kKept)) return Status::success;
  release();
  const Status status = driver_.allocate(bytes, base_);
  if (status == Status::success) reserved_ = bytes;
  return status;
}

Status Arena::lay_out(std::span<const std::size_t> sizes) {
  blocks_.clear();
  std::size_t next = 0;
  for (const std::size_t size : sizes) {
    blocks_.push_back({next + kGuardBytes, size});
    next = round_up(next + kGuardBytes + size, kAlignment) + kGuardBytes;
  }
  const bool is_small = next <= kTogether;
  flags_ = next;
  if (!is_small) next += round_up(next / ZeroScan::kPiece + 1, kAlignment);
  // Sizes differ little from case to case.
  constexpr std::size_t kStep = std::size_t{4} << 20;
  if (const Status status = reserve(round_up(std::max(next, kStep), kStep)); status != Status::success) return status;
  image_.resize(is_small ? next : 0);
  if (image_.empty()) return driver_.fill(base_, kMarginPoisonWord, next / kWord);
  poison(image_);
  return Status::success;
}

Status Arena::send() { return image_.empty() ? Status::success : driver_.copy_in(base_, image_.data(), image_.size()); }

Status Arena::fetch() { return image_.empty() ? Status::success : driver_.copy_out(image_.data(), base_, image_.size()); }

Status Arena::copy_in(std::size_t block, std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status::success;
  if (!image_.empty()) {
    std::ranges::copy(bytes, image_.begin() + static_cast<std::ptrdiff_t>(blocks_[block].first));
    return Status::success;
  }
  const Address to = address(block);
  if (bytes.size() < kLarge) return driver_.copy_in(to, bytes.data(), bytes.size());
  if (const Status status = driver_.fill(to, 0, bytes.size() / kWord); status != Status::success) return status;
  if (const std::size_t tail = bytes.size() % kWord; tail != 0) {
    constexpr std::uint32_t kZero = 0;
    if (const Status status = driver_.copy_in(to + bytes.size() - tail, &kZero, tail); status != Status::success) return status;
  }
  // Runs of pages, because every copy costs some microseconds.
  std::size_t run = 0, end = 0;
  const auto flush = [&] { return run == end ? Status::success : driver_.copy_in(to + run, bytes.data() + run, end - run); };
  const Status status = for_each_page(bytes.data(), bytes.size(), [&](std::size_t first, std::size_t last, bool is_present) {
    if (!is_present) return Status::success;
    if (first != end) {
      if (const Status flushed = flush(); flushed != Status::success) return flushed;
      run = first;
    }
    end = last;
    return Status::success;
  });
  return status == Status::success ? flush() : status;
}

Status Arena::copy_out(std::size_t block, std::span<std::byte> bytes) {
  if (bytes.empty()) return Status::success;
  if (!image_.empty()) {
    std::ranges::copy(std::span(image_).subspan(blocks_[block].first, bytes.size()), bytes.begin());
    return Status::success;
  }
  if (bytes.size() < kLarge) return driver_.copy_out(bytes.data(), address(block), bytes.size());
  return copy_changes_out(block, bytes);
}

// Copies the pieces that the host has touched or a kernel has written to. In them, only pages that differ are written.
Status Arena::copy_changes_out(std::size_t block, std::span<std::byte> bytes) {
  constexpr std::size_t kPiece = ZeroScan::kPiece;
  std::vector<char> wanted;
  if (const Status status = zero_scan_.run(address(block), bytes.size() / kPiece, base_ + flags_, wanted); status != Status::success)
    return status;
  wanted.resize((bytes.size() + kPiece - 1) / kPiece, 1);
  static_cast<void>(for_each_page(bytes.data(), bytes.size(), [&](std::size_t first, std::size_t last, bool is_present) {
    for (std::size_t piece = first / kPiece; is_present && piece * kPiece < last; ++piece) wanted[piece] = 1;
    return Status::success;
  }));
  std::vector<std::byte> chunk(kChunk);
  for (std::size_t piece = 0; piece < wanted.size();) {
    std::size_t end = piece;
    while (end < wanted.size() && wanted[end] != 0 && (end - piece) * kPiece < kChunk) ++end;
    if (end == piece) {
      ++piece;
      continue;
    }
    const std::size_t at = piece * kPiece;
    const std::span<std::byte> part = bytes.subspan(at, std::min((end - piece) * kPiece, bytes.size() - at));
    if (const Status status = driver_.copy_out(chunk.data(), address(block) + at, part.size()); status != Status::success) return status;
    static_cast<void>(for_each_page(part.data(), part.size(), [&](std::size_t first, std::size_t last, bool is_present) {
      const std::span<const std::byte> found = std::span(chunk).subspan(first, last - first);
      const bool differs = is_present ? std::memcmp(found.data(), &part[first], found.size()) != 0 : !is_zero(found);
      if (differs) std::ranges::copy(found, part.begin() + static_cast<std::ptrdiff_t>(first));
      return Status::success;
    }));
    piece = end;
  }
  return Status::success;
}

Status Arena::check_guard(std::size_t first, std::size_t last, bool& is_intact) {
  if (!image_.empty()) {
    is_intact = is_poison(std::span(image_).subspan(first, last - first), first);
    return Status::success;
  }
  std::vector<std::byte> found(last - first);
  if (const Status status = driver_.copy_out(found.data(), base_ + first, found.size()); status != Status::success) return status;
  is_intact = is_poison(found, first);
  return Status::success;
}

Status Arena::find_stray_write(std::size_t block, std::optional<std::string_view>& side) {
  const auto [first, size] = blocks_[block];
  bool is_intact = true;
  Status status = check_guard(first - kGuardBytes, first, is_intact);
  if (status == Status::success && !is_intact) side = "before";
  if (status != Status::success || !is_intact) return status;
  status = check_guard(first + size, round_up(first + size, kAlignment) + kGuardBytes, is_intact);
  if (status == Status::success && !is_intact) side = "behind";
  return status;
}

}  // namespace assay::metal::cuda

// Reserves the cells of shadows, and reads, writes and copies them.
#include "metal/execute/shadow_cells.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "metal/errors.h"
#include "metal/execute/scalars.h"

namespace assay::metal::execute {

namespace {

// The bytes of memory whose cells fill whole pages.
const std::size_t kPage =
    std::max(std::size_t{4096}, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) * abi::kCellGranule / abi::kCellBytes);
// A range that starts below the end of the window may extend beyond it.
constexpr std::size_t kMargin = std::size_t{1} << 32;

std::uint64_t bits_at(const void* address, abi::FloatType type) {
  return type == abi::kFloat ? load_scalar<std::uint32_t>(address) : load_scalar<std::uint16_t>(address);
}

std::uint64_t tag_of(std::uint64_t bits, abi::FloatType type) { return bits | (std::uint64_t{type} + 1) << abi::kCellKindShift; }

}  // namespace

double number_at(const void* address, abi::FloatType type) {
  if (type == abi::kFloat) return static_cast<double>(load_scalar<float>(address));
  if (type == abi::kHalf) return static_cast<double>(load_scalar<Half>(address));
  return static_cast<double>(static_cast<float>(load_scalar<Bfloat>(address)));
}

ShadowCells& ShadowCells::instance() {
  static ShadowCells cells;
  return cells;
}

ShadowCells::ShadowCells() {
  constexpr std::size_t kBytes = (abi::kCellWindow + kMargin) / abi::kCellGranule * abi::kCellBytes;
  void* room = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw EnvironmentError(
        fmt::format("the policy shadow needs {} TiB of address space, which the system refuses: {} (see ulimit -v, and "
                    "/proc/sys/vm/overcommit_memory, which must not be 2)",
                    kBytes >> 40, std::strerror(errno)));
  }
  // Cells lie far apart: huge pages would be mostly empty, and a core dump would have terabytes.
  madvise(room, kBytes, MADV_NOHUGEPAGE);
  madvise(room, kBytes, MADV_DONTDUMP);
  cells_ = static_cast<abi::Cell*>(room);
}

double ShadowCells::read(const void* address, abi::FloatType type) const {
  const abi::Cell& cell = at(address);
  return cell.tag == tag_of(bits_at(address, type), type) ? cell.shadow : number_at(address, type);
}

void ShadowCells::write(const void* address, abi::FloatType type, double shadow) {
  at(address) = {shadow, tag_of(bits_at(address, type), type)};
}

void ShadowCells::copy(const void* destination, const void* source, std::size_t bytes) {
  std::memmove(&at(destination), &at(source), (bytes + abi::kCellGranule - 1) / abi::kCellGranule * sizeof(abi::Cell));
}

void ShadowCells::forget(const void* first, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(first) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(first) + bytes + kPage - 1) / kPage * kPage;
  madvise(&at(reinterpret_cast<const void*>(begin)), (end - begin) / abi::kCellGranule * sizeof(abi::Cell), MADV_DONTNEED);
}

}  // namespace assay::metal::execute

// Promises of the families' contracts that a kernel broke: errors that may exist although all judged elements are right.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

namespace assay::families {

// The parts of an idle workgroup's output, the parts of a slot, and the rows that a helper copies.
enum class PartialsPart : std::uint8_t { sum, maximum, output };
enum class SlotPart : std::uint8_t { indices, norm };
enum class CacheRows : std::uint8_t { keys, values };

// The largest value that an archive accepts.
constexpr std::uint64_t largest(PartialsPart) { return static_cast<std::uint64_t>(PartialsPart::output); }
constexpr std::uint64_t largest(SlotPart) { return static_cast<std::uint64_t>(SlotPart::norm); }
constexpr std::uint64_t largest(CacheRows) { return static_cast<std::uint64_t>(CacheRows::values); }

namespace promise {

// A threadgroup behind the last one that is needed wrote something instead of returning.
struct ThreadgroupBehindLast {
  std::uint64_t heads = 0;  // number of heads, and number of the threadgroup
};
// A workgroup without keys wrote something else than the contract's neutral partials.
struct IdleWorkgroup {
  std::uint64_t workgroup = 0, head = 0, kv_len = 0, slots = 0;  // slots that a workgroup processes at a time
  PartialsPart part = PartialsPart::sum;
  std::uint64_t coordinate = 0;  // of the output
  std::optional<float> left;     // empty: never written
};
// The kernel wrote another slot of the cache than the requested one.
struct StraySlot {
  SlotPart part = SlotPart::indices;
  std::uint64_t slot = 0, head = 0, wanted = 0;
};
// A byte of the slot depends on the previous contents of the cache: its values after two different contents.
struct OldCache {
  std::uint64_t byte = 0, head = 0;
  std::uint64_t first = 0, first_before = 0, second = 0, second_before = 0;
};
// Faults of a helper kernel: a key or value that `pad` copies, the mask that it copies, and the class that `blk` assigns to a tile.
struct WrongPadRow {
  CacheRows rows = CacheRows::keys;
  std::uint64_t batch = 0, head = 0, row = 0, coordinate = 0;
  std::optional<std::uint64_t> found;  // bits; empty: never written
  std::uint64_t wanted = 0;
};
struct WrongPadMask {
  std::uint64_t batch = 0, head = 0, query = 0, column = 0;
  std::optional<std::uint64_t> found;
  std::uint64_t wanted = 0;
};
struct WrongTileClass {
  std::uint64_t batch = 0, head = 0, query_tile = 0, key_tile = 0, found = 0, wanted = 0;
};

}  // namespace promise

using BrokenPromise = std::variant<promise::ThreadgroupBehindLast, promise::IdleWorkgroup, promise::StraySlot, promise::OldCache,
                                   promise::WrongPadRow, promise::WrongPadMask, promise::WrongTileClass>;

}  // namespace assay::families

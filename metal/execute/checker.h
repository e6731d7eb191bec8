// The policy `checked`: checks every access to memory that lanes share when it happens, and counts what a dispatch costs.
//
// Each dispatch has its own checker, and its threadgroups run one after the other. A pointer's bounds are those of the object
// that it was derived from. Two accesses to one byte race if at least one is a write, not both are atomic, and nothing orders
// them (race_marks.h). A threadgroup_barrier that fences the memory orders simdgroups; within a simdgroup, such a barrier or a
// simdgroup_barrier does. In device memory, atomic operations between barriers that fence it order threadgroups (device_order.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/buffer.h"
#include "metal/cost.h"
#include "metal/execute/access_log.h"
#include "metal/execute/byte_set.h"
#include "metal/execute/device_order.h"
#include "metal/execute/findings.h"
#include "metal/execute/matrix.h"
#include "metal/execute/observer.h"
#include "metal/execute/race_marks.h"
#include "metal/execute/threadgroup_cells.h"
#include "metal/execute/touched_bytes.h"
#include "metal/hazard.h"
#include "metal/lane_abi.h"
#include "metal/size3.h"

namespace assay::metal::execute {

// The bytes of each buffer that kernels have written, by Buffer::id(), since the map may outlive the buffers. Buffers that the host has
// written are not in it.
using WrittenBytes = std::map<std::uint64_t, ByteSet>;

class SimdGroup;

class Checker : public Observer {
 public:
  // One of the dispatch's bindings. The kernel may access `size` bytes from `data` on.
  struct Binding {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    Buffer* buffer = nullptr;  // null for bytes set by value
  };

  // `written` outlives the checker and is passed to the checker of the next dispatch; `log` is that of a concurrent encoder, or null.
  Checker(const abi::Module& module, const ArgumentLayout& layout, std::span<const Binding> bindings, WrittenBytes& written,
          AccessLog* log);

  void begin_threadgroup(const ThreadgroupStart& start) override;
  void prepare(abi::Lane& lane) override;

  // Checks a read or an atomic operation of `bytes` bytes before it happens. Returns the address to use, which differs from `address`
  // if the kernel must not access that. A misaligned access happens as written.
  void* access(const Lane& lane, std::uint32_t number, void* address, std::size_t bytes);

  // Checks a write that is about to wait for its meeting point; returns whether it may happen. wrote() does the rest when
  // the write commits.
  bool may_write(const Lane& lane, std::uint32_t number, void* address, std::size_t bytes);
  void wrote(const Lane& lane, std::uint32_t number, const void* address, const void* source, std::size_t bytes) override;

  // For SIMD-groups that run as vectors. They read in another order than lanes that run one by one, so most findings cannot be described
  // in the same words: after one, the dispatch starts again, lane by lane and with another checker. Equal writes can, because writes have
  // the same order.
  void be_brief() { is_brief_ = true; }
  [[nodiscard]] bool has_left_out() const { return has_left_out_; }
  // access() for several lanes, before they read.
  struct LaneAddresses {
    std::byte* first = nullptr;       // of lane 0
    std::int64_t step = 0;            // from lane to lane
    std::byte* const* all = nullptr;  // an address for each lane instead; may be null
    [[nodiscard]] std::byte* operator[](std::uint32_t lane) const { return all != nullptr ? all[lane] : first + step * lane; }
  };
  void access_all(const SimdGroup& group, std::uint32_t number, LaneMask lanes, const LaneAddresses& addresses, std::size_t bytes);
  // Notes what all lanes write to threadgroup memory, one behind the other. False if that raises a question: then nothing is noted, and
  // may_write() and wrote() have to be called for each lane.
  [[nodiscard]] bool note_write(const SimdGroup& group, std::uint32_t number, std::byte* first, std::size_t bytes);

  // Reports an operation with a result that has a component that is not finite. The result is in a slot of kSlotBytes, followed by
  // slots with its operands.
  static constexpr std::size_t kSlotBytes = 64;
  void arithmetic(const Lane& lane, std::uint32_t number, const std::byte* slots);

  void met(std::uint32_t site) override { ++meetings_[site]; }
  void threadgroup_barrier(std::uint32_t site, std::uint32_t flags) override;
  void simdgroup_barrier(std::uint32_t simdgroup, std::uint32_t flags) override;
  // A fence by any lane. It counts for the lane's whole threadgroup.
  void fence(std::uint32_t flags);

  [[nodiscard]] std::vector<Hazard> findings() const { return findings_.all(); }
  // Adds the cost of the dispatch.
  void add_cost(KernelCost& cost) const;

 private:
  // An object against which accesses are checked.
  struct Object {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    const Buffer* buffer = nullptr;
    std::size_t first = 0;       // index of `data` in the sets and cells, which are those of the whole buffer
    ByteSet* written = nullptr;  // null: all bytes are initialised
    Cells* cells = nullptr;      // of a buffer; null if nothing can race
    bool is_threadgroup = false;
    bool is_device = false;  // its accesses count as a cost
    std::size_t element_bytes = 1;
    std::string name;
  };

  // The cost of an access so far, besides the hits of its abi::Quick.
  struct Tally {
    std::uint64_t device_bytes = 0;
    std::uint64_t threadgroup_accesses = 0;
    const Buffer* last_buffer = nullptr;
    TouchedBytes* last_touched = nullptr;
  };

  void bind(const ArgumentLayout& layout, std::span<const Binding> bindings, WrittenBytes& written);
  void find_granules();
  void make_quick();
  TouchedBytes& touched(std::uint32_t number, const Buffer& buffer);
  const Object* object_of(const Lane& lane, const abi::Access& access, const void* address) const;
  static bool is_within(const Object& object, const void* address, std::size_t bytes);
  static bool is_aligned(const abi::Access& access, const void* address);
  void wrote_misaligned(const Object& object, std::size_t offset, std::size_t bytes);
  void report_place(const Lane& lane, std::uint32_t number, const Object& object, const void* address, std::size_t bytes);
  void count(std::uint32_t number, const Object& object, std::size_t first, std::size_t bytes);
  void check_initialised(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes);
  void report_uninitialised(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes,
                            std::size_t missing);
  void check_threadgroup(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes,
                         const void* source);
  [[nodiscard]] std::optional<ThreadgroupCells::Range> range_of(const SimdGroup& group, std::uint32_t number, const Object& object,
                                                                const std::byte* first, std::size_t bytes) const;
  [[nodiscard]] std::uint32_t mark_of(std::uint32_t number, std::uint32_t thread) const;
  bool read_again(const SimdGroup& group, std::uint32_t number, LaneMask lanes, const LaneAddresses& addresses);
  void read_threadgroup(const SimdGroup& group, std::uint32_t number, LaneMask lanes, const Object& object, const LaneAddresses& addresses,
                        std::size_t bytes);
  void check_races(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes, const void* source);
  void report_race(std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes, const void* source, const Mark& mine,
                   const Mark& rival);
  std::byte* elsewhere(std::size_t bytes);
  // Whether a finding is left out instead of described.
  bool leaves_out() { return has_left_out_ |= is_brief_; }

  [[nodiscard]] std::string where(const Object& object, std::size_t offset, std::size_t bytes) const;
  [[nodiscard]] std::string threadgroup() const;
  [[nodiscard]] SourceLocation place(std::uint32_t number) const;

  const abi::Module& module_;
  AccessLog* log_;
  std::vector<Object> objects_;  // by abi::Access::object
  Object whole_threadgroup_;
  std::map<const Buffer*, Cells> device_cells_;
  ThreadgroupCells threadgroup_cells_;
  bool is_brief_ = false, has_left_out_ = false;
  // The last read of threadgroup memory by vectors, by access. The same read changes no mark if nothing else has happened since: no write,
  // barrier, or access by another simdgroup.
  struct GroupRead {
    std::uint64_t period = 0;
    const std::byte* first = nullptr;
    std::int64_t step = 0;
    LaneMask lanes = 0;
  };
  std::vector<GroupRead> group_reads_;
  const SimdGroup* last_group_ = nullptr;
  std::uint64_t period_ = 1;
  unsigned device_shift_ = 0, threadgroup_shift_ = 0;  // log2 of a granule's size
  ThreadgroupOrder order_;
  DeviceOrder device_order_;
  Size3 position_;
  bool knows_unwritten_ = true;  // whether it is known which bytes of threadgroup memory are uninitialised: not after a misaligned write,
                                 // which leaves no marks
  std::vector<std::unique_ptr<std::byte[]>> elsewhere_;
  std::size_t elsewhere_bytes_ = 0;
  Findings findings_;
  std::vector<abi::Quick> quick_;     // by access
  std::deque<TouchedBytes> unnoted_;  // discarded bits, for reads outside of device memory
  std::vector<Tally> tallies_;        // by access
  std::map<std::pair<Line, const Buffer*>, TouchedBytes> touched_;
  std::vector<std::uint64_t> meetings_;  // by site
  std::vector<std::uint64_t> block_counts_;
};

}  // namespace assay::metal::execute

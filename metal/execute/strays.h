// Invalid and misaligned accesses of a threadgroup, and indices that lost bits: finds the lane, the address and the line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metal/execute/faults.h"
#include "metal/execute/incidents.h"
#include "metal/execute/line_table.h"
#include "metal/lane_abi.h"

namespace assay::metal::execute {

class Threadgroup;
struct Lane;

class Strays {
 public:
  explicit Strays(const Threadgroup& threadgroup) : threadgroup_(threadgroup) {}

  // `number`: within the dispatch, from 0.
  void begin_threadgroup(std::uint64_t number);

  // Whether and how the access may continue (see ContainFault). If it may, it is recorded for report().
  Containment contain(const Fault& fault);

  // Records a misaligned access that is about to happen.
  void misaligned(const Lane& lane, std::uint32_t number, const void* address);
  // Records a read, at an offset in a local array, of what the lane has not written, or an access outside of the array.
  void unset(const Lane& lane, std::uint32_t number, std::uint64_t offset);
  // Records a conversion that has lost bits of an index; its numbers are extended to 64 bits.
  struct Narrowing {
    std::uint64_t value, kept;
    std::uint32_t type;  // the width in bits | abi::kSignedIndex
  };
  void narrowed(const Lane& lane, std::uint32_t number, const Narrowing& narrowing);

  // Reports what contain() recorded. Call it outside of signal handlers.
  void report();

  // The place of the instruction whose fault ended the threadgroup; its line is 0 if unknown.
  [[nodiscard]] SourceLocation place_of(const Fault& fault);
  // The lane that made the access; nullptr if unknown. At a meeting point, the runtime may access memory for that lane on
  // another lane's stack.
  [[nodiscard]] const Lane* lane_of(const Fault& fault) const { return stray_of(fault).lane; }

  // The buffers that a line reads, or those that it writes, as a bit each (bit 31: also other memory); 0 if unknown.
  [[nodiscard]] std::uint32_t buffers_of(const SourceLocation& place, bool is_write) const;

  Incidents incidents;

 private:
  // The invalid accesses of one instruction, or of one meeting point where the runtime made them for the lanes.
  struct Stray {
    const void* instruction = nullptr;
    std::uint32_t site = 0;  // site + 1; 0: none
    const Lane* lane = nullptr;
    const void* address = nullptr;
    bool is_write = false;
    std::uint64_t count = 0;
  };

  [[nodiscard]] Stray stray_of(const Fault& fault) const;
  [[nodiscard]] bool is_of_kernel(const void* instruction) const;
  [[nodiscard]] const void* caller(const Fault& fault) const;
  SourceLocation place_of(const Stray& stray);
  [[nodiscard]] SourceLocation location(std::uint32_t file, std::uint32_t line) const;

  const Threadgroup& threadgroup_;
  std::vector<Stray> strays_;
  std::uint64_t count_ = 0;
  std::uint64_t reported_each_ = 0;          // of this threadgroup, before pages stay mapped
  std::map<std::string, LineTable> tables_;  // by the object's file, because later objects reuse addresses
};

}  // namespace assay::metal::execute

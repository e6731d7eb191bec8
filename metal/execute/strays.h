// Accesses of a threadgroup to what is nobody's, or to what is no multiple of its type's alignment: which lane, where, and in which line.
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

  void begin_threadgroup();

  // Whether the access may go on, as ContainFault has it; if so it is remembered.
  Containment contain(const Fault& fault);

  // An access that is about to happen, to no multiple of what it wants.
  void misaligned(const Lane& lane, std::uint32_t number, const void* address);

  // Tells what was remembered, when nothing is interrupted any more.
  void report();

  // The place of the instruction that a fault ended the threadgroup at; its line is 0 where that is not known.
  [[nodiscard]] SourceLocation place_of(const Fault& fault);
  // The lane for which it happened, where lanes meet maybe another than that whose stack it happened on; nullptr if that is not known.
  [[nodiscard]] const Lane* lane_of(const Fault& fault) const { return stray_of(fault).lane; }

  Incidents incidents;

 private:
  // Of one instruction, or of one meeting point where the runtime did what lanes wanted.
  struct Stray {
    const void* instruction = nullptr;
    std::uint32_t site = 0;  // + 1; 0: none
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
  std::map<std::string, LineTable> tables_;  // by the object's file: another object may be loaded where one was
};

}  // namespace assay::metal::execute

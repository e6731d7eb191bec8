// Hazards after which a threadgroup continued, merged by kind and place, in an order that does not depend on CPU threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "metal/hazard.h"

namespace assay::metal::execute {

// The incidents of the threadgroups that one CPU thread executes in one dispatch, by ascending threadgroup number.
class Incidents {
 public:
  struct Incident {
    std::uint64_t threadgroup = 0;  // the first threadgroup in which it happened
    Hazard hazard;
  };

  void begin_threadgroup(std::uint64_t number) { threadgroup_ = number; }

  // `describe()` is called only for the first incident of a kind at a place. A hazard without a place gets the kernel's place later.
  template <typename Describe>
  void add(HazardKind kind, const SourceLocation& place, std::uint64_t count, Describe&& describe) {
    for (Incident& known : all_) {
      if (known.hazard.kind != kind || known.hazard.first != place) continue;
      known.hazard.count += count;
      return;
    }
    Incident& incident = all_.emplace_back();
    incident.threadgroup = threadgroup_;
    incident.hazard.kind = kind;
    incident.hazard.first = place;
    incident.hazard.count = count;
    incident.hazard.lacks_line = kind == HazardKind::invalid_access && place.line == 0;
    const std::string words = describe();
    incident.hazard.message = place.line == 0 ? words : place.file + ":" + std::to_string(place.line) + ": " + words;
  }

  // Returns the incidents in the order in which they were added, and clears the list.
  std::vector<Incident> take() { return std::exchange(all_, {}); }

 private:
  std::uint64_t threadgroup_ = 0;
  std::vector<Incident> all_;
};

}  // namespace assay::metal::execute

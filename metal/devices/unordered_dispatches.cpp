// Compares the bytes that dispatches accessed and reports conflicts as dispatch hazards.
#include "metal/devices/unordered_dispatches.h"

#include <fmt/format.h>

#include <utility>

namespace assay::metal::devices {

std::vector<Hazard> UnorderedDispatches::add(std::uint64_t number, const ArgumentLayout& layout, execute::AccessLog log) {
  std::vector<Hazard> found;
  for (const Dispatch& earlier : dispatches_) {
    const auto conflict = execute::AccessLog::conflict(earlier.log, log);
    if (!conflict) continue;
    Hazard& hazard = found.emplace_back();
    hazard.kind = HazardKind::dispatch_hazard;
    hazard.function = layout.function;
    hazard.first = {layout.file, layout.line};
    hazard.second = SourceLocation{earlier.layout.file, earlier.layout.line};
    hazard.message = fmt::format(
        "{}:{}: dispatch hazard: dispatch {} ('{}') {} bytes {}..{} of buffer '{}', which dispatch {} ('{}') {}, and no memory_barrier() "
        "stands between them",
        layout.file, layout.line, number, layout.function, conflict->later_writes ? "writes" : "reads", conflict->first_byte,
        conflict->last_byte, conflict->buffer, earlier.number, earlier.layout.function, conflict->earlier_writes ? "writes" : "reads");
  }
  dispatches_.push_back({number, layout, std::move(log)});
  return found;
}

}  // namespace assay::metal::devices

// Writes the findings of triage as one JSON document (docs/triage.schema.json).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/triage.h"

namespace assay::reports {

inline constexpr int kTriageVersion = 1;

struct TriagedVariant {
  std::string variant;
  TriagePage page;
  std::vector<harness::Finding> findings;
};

// `remarks` are those that were seen where nothing failed.
[[nodiscard]] std::string triage_json(std::span<const TriagedVariant> variants, std::span<const std::string> notes,
                                      std::span<const std::string> remarks);

}  // namespace assay::reports

// A listener that keeps the verdict of a run of one case.
#pragma once

#include <optional>

#include "harness/process/runner.h"

namespace assay::cli {

class Keeper final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& finished, const harness::Summary&) override { verdict = finished; }

  std::optional<harness::Verdict> verdict;
};

}  // namespace assay::cli

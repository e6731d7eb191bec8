// A listener that keeps the verdict of a run of one case.
#pragma once

#include <optional>

#include "harness/process/runner.h"

namespace assay::cli {

class Keeper final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override { verdict_ = verdict; }
  [[nodiscard]] const harness::Verdict& verdict() const { return verdict_.value(); }

 private:
  std::optional<harness::Verdict> verdict_;
};

}  // namespace assay::cli

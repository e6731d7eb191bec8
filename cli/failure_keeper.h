// A listener that keeps the failures of a run.
#pragma once

#include <vector>

#include "harness/findings/verdict.h"
#include "harness/process/runner.h"

namespace assay::cli {

// Keeps the verdicts that are no success, and passes everything on.
class FailureKeeper final : public harness::RunListener {
 public:
  explicit FailureKeeper(harness::RunListener* next = nullptr) : next_(next) {}
  void started(const harness::Case& test_case) override {
    if (next_ != nullptr) next_->started(test_case);
  }
  void finished(const harness::Verdict& verdict, const harness::Summary& so_far) override {
    if (!harness::is_success(verdict.status)) verdicts.push_back(verdict);
    if (next_ != nullptr) next_->finished(verdict, so_far);
  }
  [[nodiscard]] bool tick() override { return next_ == nullptr || next_->tick(); }

  std::vector<harness::Verdict> verdicts;

 private:
  harness::RunListener* next_;
};

}  // namespace assay::cli

// A listener that keeps what triage needs of a run.
#pragma once

#include <vector>

#include "harness/findings/verdict.h"
#include "harness/process/runner.h"

namespace assay::cli {

struct Outcomes {
  std::vector<harness::Verdict> failures;  // verdicts that are no success
  std::vector<harness::Case> passed;
};

// Passes everything on.
class FailureKeeper final : public harness::RunListener {
 public:
  explicit FailureKeeper(harness::RunListener* next = nullptr) : next_(next) {}
  void started(const harness::Case& test_case) override {
    if (next_ != nullptr) next_->started(test_case);
  }
  void finished(const harness::Verdict& verdict, const harness::Summary& so_far) override {
    if (!harness::is_success(verdict.status)) outcomes.failures.push_back(verdict);
    if (verdict.status == harness::Status::passed) outcomes.passed.push_back(verdict.test_case);
    if (next_ != nullptr) next_->finished(verdict, so_far);
  }
  [[nodiscard]] bool tick() override { return next_ == nullptr || next_->tick(); }

  Outcomes outcomes;

 private:
  harness::RunListener* next_;
};

}  // namespace assay::cli

// Where triage tries cases of one variant: verdicts from processes of their own, and outputs once a case is known to do no harm.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/execute/execute_once.h"
#include "harness/findings/verdict.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "kernels/variant.h"
#include "oracles/expected.h"

namespace assay::harness {

// A case with what a kernel made of it.
struct Observation {
  Case about;
  Verdict verdict;
  // Of the judged output; empty where nothing was judged. Elements never written are the poison.
  std::vector<double> actual;
  oracles::Expected expected;

  [[nodiscard]] bool is_failure() const { return !is_success(verdict.status); }
  [[nodiscard]] bool is_faulty(std::size_t element) const;
};

struct LaboratoryOptions {
  std::vector<kernels::Variant> catalogue;  // the variant, and those it may borrow from
  std::string variant;
  WorkbenchOptions workbench;
  RunOptions run;
};

class Laboratory {
 public:
  explicit Laboratory(LaboratoryOptions options);

  [[nodiscard]] const kernels::Variant& variant() const;
  [[nodiscard]] const std::vector<kernels::Variant>& catalogue() const { return options_.catalogue; }
  [[nodiscard]] const fixtures::Shelf& shelf() const { return options_.run.execution.shelf; }

  // The verdict on a case, kept; crashes and endless loops cost no more than their process. Cases that cannot be prepared are `skipped`.
  [[nodiscard]] const Verdict& verdict(const Case& about);
  // The first of them that fails and that `matters`, in their order; nullptr if there is none.
  [[nodiscard]] const Verdict* first_failure(std::span<const Case> cases, const std::function<bool(const Verdict&)>& matters);
  // With its output. nullopt for cases without one: skipped, rejected, crashed, timed out.
  [[nodiscard]] std::optional<Observation> observe(const Case& about, metal::Policy policy = metal::Policy::native);
  // Under another policy, in a process of its own.
  [[nodiscard]] Verdict verdict_under(const Case& about, metal::Policy policy);
  // Functions of the case, compiled; nullptr if they do not compile.
  [[nodiscard]] const PreparedVariant* prepared(const Case& about);

  // The same variant with another source in place of its own.
  [[nodiscard]] Laboratory with_source(const std::filesystem::path& source) const;
  // No case is waited for longer than this; > 0.
  void set_patience(std::chrono::duration<double> longest) { options_.run.timeout = std::min(options_.run.timeout, longest); }

  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  [[nodiscard]] const Workbench* workbench(const Case& about);
  [[nodiscard]] std::vector<Verdict> run(std::span<const Case> cases, const Workbench& workbench, const RunOptions& options);

  LaboratoryOptions options_;
  std::map<std::string, std::unique_ptr<Workbench>> workbenches_;  // by the functions that they were made for
  std::map<std::string, Verdict> verdicts_;                        // by the case's name
  std::size_t runs_ = 0;
};

}  // namespace assay::harness

// Runs cases of one variant for triage: in separate processes for verdicts, and in this process for outputs once a case is known
// to be harmless.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

// A case with the kernel's output.
struct Observation {
  Case test_case;
  Verdict verdict;
  // The judged output; empty if nothing was judged. Unwritten elements are the poison.
  std::vector<double> actual;
  oracles::Expected expected;

  [[nodiscard]] bool is_failure() const { return !is_success(verdict.status); }
  [[nodiscard]] bool is_faulty(std::size_t element) const;
};

struct LaboratoryOptions {
  std::vector<kernels::Variant> catalogue;  // the variant, and those from which it may borrow
  std::string variant;
  WorkbenchOptions workbench;
  RunOptions run;
  // Called before anything is compiled or run: throws SourceChanged to end the triage. May be null.
  std::function<void()> check_source = {};
};

// The variant's source was saved during its triage, whose findings would be about two texts.
class SourceChanged : public kernels::VariantError {
 public:
  using VariantError::VariantError;
};

class Laboratory {
 public:
  explicit Laboratory(LaboratoryOptions options);

  [[nodiscard]] const kernels::Variant& variant() const;
  [[nodiscard]] const std::vector<kernels::Variant>& catalogue() const { return options_.catalogue; }
  [[nodiscard]] const fixtures::Shelf& shelf() const { return options_.run.execution.shelf; }
  [[nodiscard]] const oracles::ArithmeticProfile& profile() const { return options_.run.execution.profile; }

  // The verdict on a case, cached. Crashes and endless loops affect only the case's process. Cases that cannot be
  // prepared are `skipped`.
  [[nodiscard]] const Verdict& verdict(const Case& test_case);
  // Runs all of these cases, several at a time, so that their verdicts are known.
  void prefetch(std::span<const Case> cases);
  // The first of the cases that fails and satisfies `matters`; nullptr if there is none.
  [[nodiscard]] const Verdict* first_failure(std::span<const Case> cases, const std::function<bool(const Verdict&)>& matters);
  // The case with its output. nullopt for cases without one: skipped, rejected, crashed, timed out.
  [[nodiscard]] std::optional<Observation> observe(const Case& test_case, metal::Policy policy = metal::Policy::native);
  // The verdict under another policy, in a separate process.
  [[nodiscard]] Verdict verdict_under(const Case& test_case, metal::Policy policy);
  // The variant with the functions of the case compiled; nullptr if they do not compile.
  [[nodiscard]] const PreparedVariant* prepared(const Case& test_case);
  // Why they do not; empty if they do.
  [[nodiscard]] std::string problem(const Case& test_case);

  struct Trial {
    bool passes = false;
    std::uint64_t digest = 0;  // of the output
    double error =
        std::numeric_limits<double>::infinity();  // sum of squared errors over that of squared values; infinite if one is not finite
    std::vector<metal::Hazard> hazards = {};
    bool has_ended = false;  // by itself: without a crash, and in time
  };
  // How the case fares with each of these values of SimulatorOptions::choice, several at a time and under one order of simdgroups.
  // `policy`: in place of the laboratory's own. Quick, so not certain: the verdict of a source without choices is.
  [[nodiscard]] std::vector<Trial> try_choices(const Case& test_case, std::span<const std::uint32_t> choices,
                                               std::optional<metal::Policy> policy = {});

  // A laboratory for the same variant with another source, which may include what the variant's own includes.
  [[nodiscard]] Laboratory with_source(const std::filesystem::path& source) const;
  // Limits the time per case; `longest` > 0.
  void set_patience(std::chrono::duration<double> longest) { options_.run.timeout = std::min(options_.run.timeout, longest); }

  [[nodiscard]] std::chrono::duration<double> patience() const { return options_.run.timeout; }

  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  void check_source() const;
  [[nodiscard]] const Workbench* workbench(const Case& test_case);
  [[nodiscard]] std::vector<Verdict> run(std::span<const Case> cases, const Workbench& workbench, const RunOptions& options);

  // Why a version of the source is none: it lacks a part of the kernel that does not compile. Cases would run with another kernel's part.
  [[nodiscard]] std::string broken_part(const Workbench& workbench);

  LaboratoryOptions options_;
  bool is_version_ = false;                                        // of a source with which triage began
  std::set<std::string> left_out_ = {};                            // names of its parts that do not compile
  std::map<std::string, std::unique_ptr<Workbench>> workbenches_;  // by the functions for which they were made
  std::map<std::string, std::string> problems_;                    // likewise
  std::map<std::string, Verdict> verdicts_;                        // by the case's name
  std::size_t runs_ = 0;
};

}  // namespace assay::harness

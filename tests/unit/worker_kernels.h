// Kernels that misbehave, run as a stranger's would be: from a file, beside cases that are in order.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "kernels/variant.h"
#include "tests/support/files.h"

namespace assay::tests {

// Verdicts by case name, and each case reported exactly once.
class Collector final : public harness::RunListener {
 public:
  void started(const harness::Case& test_case) override { EXPECT_TRUE(running_.insert({harness::format_case(test_case), true}).second); }
  void finished(const harness::Verdict& verdict, const harness::Summary&) override {
    const std::string name = harness::format_case(verdict.test_case);
    EXPECT_EQ(running_.count(name), 1U) << name << " ended without having started";
    EXPECT_TRUE(verdicts.insert({name, verdict}).second) << name << " has two verdicts";
  }

  std::map<std::string, harness::Verdict> verdicts;

 private:
  std::map<std::string, bool> running_;
};

// Cases of tests/kernels/independent_tq4.metal with a piece of its text replaced.
class WorkerKernel : public TestInFolder {
 protected:
  // The variant `name`, whose one mistake is to begin with `statement` (empty: none).
  kernels::Variant kernel(const std::string& statement, const std::string& name = "kernel") const {
    const std::string place = "State state = {-FLT_MAX / 2, 0};";
    const std::string text = replaced(read_file(kRoot / "tests/kernels/independent_tq4.metal"), place, statement + " " + place);
    const std::filesystem::path file = write(text, name + ".metal");
    return kernels::variant_from_path(file, "tq4", families::contracts());
  }

  static harness::Case tq4(const std::string& words, const std::string& variant = "kernel") {
    return harness::parse_case(variant + "/" + words, families::find_family("tq4"));
  }

  static harness::WorkbenchOptions settings() {
    harness::WorkbenchOptions options;
    options.user_variant = "kernel";
    options.fields = {{"tile", metal::FieldValue::of(32U)}, {"temperature", metal::FieldValue::of(1.0)}};
    return options;
  }

  // Our own variants are there to borrow from.
  static std::vector<kernels::Variant> catalogue(std::vector<kernels::Variant> own) {
    for (kernels::Variant& variant : kernels::find_variants(kernels::default_variants_directory(), families::contracts()))
      own.push_back(std::move(variant));
    return own;
  }
};

}  // namespace assay::tests

// Every function of our variants as PTX, accepted by NVIDIA's assembler where it is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/prepare/inspection.h"
#include "metal/compile/library.h"
#include "metal/compile/ptx.h"
#include "tests/support/files.h"
#include "tests/support/ptx.h"

namespace assay::tests::ptx_variants_test {
namespace {

std::vector<std::string> variants() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/kernels/variants")) {
    if (std::filesystem::exists(entry.path() / "kernel.metal")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

class PtxOfVariant : public testing::TestWithParam<std::string> {};

TEST_P(PtxOfVariant, EveryFunctionIsAccepted) {
  const auto library = metal::Library::from_file(kRoot / "kernels/variants" / GetParam() / "kernel.metal");
  const auto functions = harness::inspect_functions(*library, library->functions(), {}, 1);
  ASSERT_THAT(functions, testing::Not(testing::IsEmpty()));
  for (const auto& function : functions) {
    ASSERT_TRUE(function.is_compiled) << function.refusal;
    for (const bool keeps_lockstep : {false, true}) {
      const auto kernel = metal::compile::compile_ptx(*library, function.compiled, {.keeps_lockstep = keeps_lockstep});
      EXPECT_EQ(kernel.threadgroup_bytes, function.layout.static_threadgroup_bytes) << function.declaration.name;
      EXPECT_EQ(refusal_of_ptxas(kernel.text), "") << function.declaration.name;
      // Nothing in our variants needs the hardware's answer.
      EXPECT_THAT(kernel.text, testing::Not(testing::HasSubstr("activemask"))) << function.declaration.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variant, PtxOfVariant, testing::ValuesIn(variants()));

}  // namespace
}  // namespace assay::tests::ptx_variants_test

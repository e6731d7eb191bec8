// The CUDA driver's library as assay loads and calls it: a library of our own with the same functions stands in its place.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "metal/devices/cuda/driver.h"
#include "metal/devices/cuda/gpu.h"

namespace assay::tests::cuda_driver_test {
namespace {

using namespace ::testing;
using metal::cuda::Driver;
using metal::cuda::GpuError;
using metal::cuda::Kernel;
using metal::cuda::Status;

class CudaDriver : public Test {
 protected:
  CudaDriver()
      // Loaded under the name by which load_driver() asks, so that it is found first.
      : library_(dlopen(ASSAY_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL)), driver_(metal::cuda::load_driver()) {}
  ~CudaDriver() override { dlclose(library_); }

  void* library_;
  std::unique_ptr<Driver> driver_;
};

TEST_F(CudaDriver, IsDescribedWithItsFile) {
  const auto gpus = metal::cuda::describe_gpus(*driver_);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].to_string(), "Fake 100, compute capability 9.0, 81920 MiB, driver for CUDA 13.0");
  EXPECT_THAT(gpus[0].code_for(), MatchesRegex("9.0, CUDA 13.0, libcuda.so[.0-9]* of [0-9]+ bytes"));
}

TEST_F(CudaDriver, LinksPtxAndHandsOutACopy) {
  std::string code, log;
  EXPECT_EQ(driver_->link(".version 8.0", 0, code, log), Status::success);
  EXPECT_EQ(code, "ELF of .version 8.0");
  EXPECT_EQ(log, "");
  EXPECT_EQ(driver_->link(".version 8.0", 64, code, log), Status::success);
  EXPECT_EQ(code, "ELF of .version 8.0 with 64");
}

TEST_F(CudaDriver, TheLogOfTheCompilerIsHandedOn) {
  std::string code = "before", log;
  EXPECT_EQ(static_cast<int>(driver_->link("no PTX", 0, code, log)), 218);
  EXPECT_EQ(log, "ptxas fatal: no version");
  EXPECT_EQ(code, "before");
  metal::cuda::Handle module = nullptr;
  EXPECT_EQ(static_cast<int>(driver_->load_module("no PTX", 0, module, log)), 218);
  EXPECT_EQ(log, "ptxas fatal: no version");
}

TEST_F(CudaDriver, AGpuLinksAndLoadsAndSaysWhyNot) {
  metal::cuda::Gpu gpu(*driver_, 0);
  const metal::cuda::LinkedKernel linked = gpu.link({"f", "digest", ".version 8.0"}, 0);
  EXPECT_EQ(linked.code, "ELF of .version 8.0");
  EXPECT_EQ(linked.most_threads, 1024U);
  EXPECT_THAT(
      [&] { static_cast<void>(gpu.link({"f", "digest", "no PTX"}, 0)); },
      ThrowsMessage<GpuError>("the driver does not compile 'f': ptxas fatal: no version: CUDA_ERROR_INVALID_PTX: as the fake says"));
}

}  // namespace
}  // namespace assay::tests::cuda_driver_test

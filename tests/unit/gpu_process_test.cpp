// The process that has a GPU: whole cases, faults, kernels that do not end, stray writes, and agreement with the simulator. The driver is a
// mock whose kernels the simulator executes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "families/registry.h"
#include "harness/cases/suite.h"
#include "harness/compare/agreement.h"
#include "harness/compare/compare.h"
#include "harness/execute/execute.h"
#include "harness/execute/gpu_pool.h"
#include "harness/execute/gpu_process.h"
#include "harness/execute/gpu_service.h"
#include "harness/findings/fault_text.h"
#include "harness/prepare/gpu_driver.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "metal/errors.h"
#include "tests/support/simulated_gpu.h"

namespace assay::tests::gpu_process_test {
namespace {

using namespace ::testing;
using harness::Status;
using metal::cuda::LaunchShape;
using metal::cuda_abi::Launch;
using Result = metal::cuda::Status;

constexpr const char* kCases[] = {"fwht_v1/d256/h2/standalone/gauss/s1", "fwht_v1/d512/h3/premult/gauss/s2"};

metal::DeviceChoice gpu() {
  metal::DeviceChoice device;
  device.kind = metal::DeviceChoice::Kind::cuda;
  return device;
}

class GpuProcessTest : public Test {
 protected:
  GpuProcessTest() {
    for (const char* name : kCases) cases_.push_back(harness::parse_case(name, harness::find_family("fwht")));
    workbench_ = std::make_unique<harness::Workbench>(kernels::find_variants(kernels::default_variants_directory(), families::contracts()),
                                                      cases_, harness::WorkbenchOptions{});
    simulated_ = std::make_unique<SimulatedGpu>(workbench_->find("fwht_v1"));
    use([](const Launch&) { return Result::success; });
  }
  ~GpuProcessTest() override { harness::GpuProcess::replace_driver(metal::cuda::load_driver); }

  // `after`: what happens when a kernel has run; its result is that of the kernel.
  void use(std::function<Result(const Launch&)> after) {
    // Another device than in the test before, so that the process is another one.
    static unsigned number = 0;
    device_ = gpu();
    device_.limit = std::chrono::milliseconds(20000 + ++number);
    harness::GpuProcess::replace_driver([this, after = std::move(after)]() -> std::unique_ptr<metal::cuda::Driver> {
      auto driver = std::make_unique<NiceMock<MockDriver>>();
      driver->behave([this, after, mock = driver.get()](const std::string& ptx, const Launch& launch, const LaunchShape& shape) {
        const Result result = (*simulated_)(ptx, launch, shape, mock->memory_end());
        return result == Result::success ? after(launch) : result;
      });
      return driver;
    });
  }

  harness::Verdict execute(const metal::DeviceChoice& device, std::size_t number = 0) {
    harness::ExecutionOptions options;
    options.device = device;
    return execute_case(workbench_->find("fwht_v1"), cases_[number], options);
  }

  struct Quiet final : harness::RunListener {
    void started(const harness::Case&) override {}
    void finished(const harness::Verdict&, const harness::Summary&) override {}
  };

  harness::AgreedCases agree() {
    Quiet quiet;
    harness::AgreementOptions options;
    options.other = device_;
    const std::atomic<bool> never = false;
    return harness::find_agreement(cases_, *workbench_, options, never, quiet);
  }

  std::vector<harness::Case> cases_;
  std::unique_ptr<harness::Workbench> workbench_;
  std::unique_ptr<SimulatedGpu> simulated_;
  metal::DeviceChoice device_;
};

// The first float that the kernel wrote or will write. fwht works in place, on buffer 0.
float& first_of(const Launch& launch) { return *static_cast<float*>(MockDriver::pointer(launch.buffers[0])); }

TEST_F(GpuProcessTest, ExecutesCasesAsTheSimulatorDoes) {
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const harness::Verdict there = execute(device_, i);
    const harness::Verdict here = execute({}, i);
    EXPECT_EQ(there.status, Status::passed) << harness::reason_of(there);
    EXPECT_EQ(there.digest, here.digest);
    EXPECT_GT(there.simulator_seconds, 0);
  }
}

TEST_F(GpuProcessTest, AFaultEndsTheCaseAndNotTheNextOne) {
  use([](const Launch& launch) {
    return launch.grid[0] * launch.grid[1] * launch.grid[2] == 2 ? Result::illegal_address : Result::success;
  });
  const harness::Verdict faulty = execute(device_, 0);
  EXPECT_EQ(faulty.status, Status::crashed);
  EXPECT_THAT(harness::reason_of(faulty), HasSubstr("failed on the GPU: CUDA_ERROR_700"));
  EXPECT_EQ(execute(device_, 1).status, Status::passed);
}

TEST_F(GpuProcessTest, AKernelThatDoesNotEndIsATimeout) {
  use([](const Launch&) { return Result::not_ready; });
  device_.limit = std::chrono::milliseconds(50);
  const harness::Verdict verdict = execute(device_);
  EXPECT_EQ(verdict.status, Status::timeout);
  EXPECT_THAT(harness::reason_of(verdict), HasSubstr("no verdict within 0.05 s"));
}

TEST_F(GpuProcessTest, AStrayWriteIsAHazard) {
  use([](const Launch& launch) {
    static_cast<std::byte*>(MockDriver::pointer(launch.buffers[0]))[-40000] = std::byte{1};
    return Result::success;
  });
  const harness::Verdict verdict = execute(device_);
  EXPECT_EQ(verdict.status, Status::hazard);
  EXPECT_THAT(harness::reason_of(verdict), HasSubstr("a thread wrote before the 10240 bytes of buffer 0"));
}

TEST_F(GpuProcessTest, WithoutADriverNothingIsBlamedOnTheKernel) {
  harness::GpuProcess::replace_driver([]() -> std::unique_ptr<metal::cuda::Driver> { throw metal::EnvironmentError("no CUDA driver"); });
  device_.limit = std::chrono::seconds(1);
  const harness::Verdict verdict = execute(device_);
  EXPECT_EQ(verdict.status, Status::mistrusted);
  EXPECT_TRUE(verdict.is_internal);
  EXPECT_EQ(harness::find_gpu(device_).problem, "no CUDA driver");
}

TEST_F(GpuProcessTest, IsDescribed) {
  EXPECT_THAT(harness::find_gpu(device_).description, StartsWith("Mock 100, compute capability 9.0"));
  EXPECT_EQ(harness::find_gpu(device_).architecture, "sm_90");
}

TEST_F(GpuProcessTest, DevicesThatComputeTheSameAgree) {
  const harness::AgreedCases agreed = agree();
  ASSERT_EQ(agreed.cases.size(), 2U);
  for (const harness::CaseAgreement& one : agreed.cases) {
    EXPECT_TRUE(one.agrees()) << one.name;
    EXPECT_EQ(one.equal, one.elements);
  }
  EXPECT_EQ(agreed.cases[0].elements, 512U);
}

TEST_F(GpuProcessTest, ADifferenceIsNamedAndHasNoReasonOfItsOwn) {
  use([](const Launch& launch) { return first_of(launch) += 1, Result::success; });
  const harness::AgreedCases agreed = agree();
  ASSERT_EQ(agreed.cases.size(), 2U);
  const harness::CaseAgreement& one = agreed.cases.front();
  EXPECT_EQ(one.reason, harness::PartingReason::unexplained);
  EXPECT_EQ(one.elements - one.equal, 1U);
  ASSERT_TRUE(one.parted);
  EXPECT_EQ(one.parted->index, 0U);
  EXPECT_FALSE(one.is_within_bounds);
}

TEST_F(GpuProcessTest, WhatDiffersInEveryRunIsARace) {
  use([](const Launch& launch) { return first_of(launch) += static_cast<float>(std::random_device()() % 1000 + 1), Result::success; });
  const harness::AgreedCases agreed = agree();
  ASSERT_FALSE(agreed.cases.empty());
  EXPECT_EQ(agreed.cases.front().reason, harness::PartingReason::race);
}

// Iterations of a kernel are compared where they were asked to run: what only this GPU does, both outputs have.
TEST_F(GpuProcessTest, IterationsAreComparedOnTheGpu) {
  use([](const Launch& launch) { return first_of(launch) += 1, Result::success; });
  std::vector<kernels::Variant> catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  kernels::Variant copy = *std::ranges::find(catalogue, "fwht_v1", &kernels::Variant::name);
  copy.name = "copy";
  catalogue.push_back(std::move(copy));
  std::array pairs = {harness::CasePair{cases_[0], cases_[0]}};
  pairs.front().new_case.variant = "copy";
  const harness::Workbench workbench(catalogue, std::array{pairs.front().old_case, pairs.front().new_case}, {});
  harness::RunOptions options;
  options.execution.device = device_;
  Quiet quiet;
  const std::atomic<bool> never = false;
  const harness::ComparedCases compared = harness::compare_cases(pairs, workbench, options, never, quiet);
  ASSERT_EQ(compared.cases.size(), 1U);
  EXPECT_EQ(compared.cases.front().old_side.status, Status::failed);
  EXPECT_TRUE(compared.cases.front().is_compared);
  EXPECT_TRUE(compared.cases.front().is_same_bits);
}

// How often the driver was loaded, in any process.
class Loads {
 public:
  Loads() : count_(static_cast<std::atomic<int>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Loads() { munmap(count_, 4096); }
  std::atomic<int>& operator*() const { return *count_; }

 private:
  std::atomic<int>* count_;
};

class GpuPoolTest : public GpuProcessTest {
 protected:
  harness::Summary run(std::function<Result(const Launch&)> after, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    use(std::move(after));
    device_.limit = limit;
    harness::GpuProcess::replace_driver([this, load = harness::used_driver()] {
      ++*loads_;
      return load();
    });
    harness::RunOptions options;
    options.execution.device = device_;
    harness::GpuPool::of(device_).start(1);
    Quiet quiet;
    const std::atomic<bool> never = false;
    return harness::run_cases(cases_, *workbench_, options, never, quiet);
  }

  Loads loads_;
};

TEST_F(GpuPoolTest, OneProcessServesWorkerAfterWorker) {
  const harness::Summary summary = run([](const Launch& launch) { return first_of(launch) += 1, Result::success; });
  EXPECT_EQ(summary.count(Status::failed), cases_.size());
  EXPECT_EQ(*loads_, 1);
}

TEST_F(GpuPoolTest, AProcessThatAKernelMayHaveHarmedIsReplaced) {
  const harness::Summary summary = run([](const Launch& launch) {
    static_cast<std::byte*>(MockDriver::pointer(launch.buffers[0]))[-40000] = std::byte{1};
    return Result::success;
  });
  EXPECT_EQ(summary.count(Status::hazard), cases_.size());
  EXPECT_GE(*loads_, static_cast<int>(cases_.size()));
}

TEST_F(GpuPoolTest, AFaultCostsOneVerdict) {
  const harness::Summary summary = run([](const Launch& launch) {
    return launch.grid[0] * launch.grid[1] * launch.grid[2] == 2 ? Result::illegal_address : Result::success;
  });
  EXPECT_EQ(summary.count(Status::crashed), 1U);
  EXPECT_EQ(summary.count(Status::passed), cases_.size() - 1);
}

TEST_F(GpuPoolTest, AKernelThatDoesNotEndCostsOneVerdict) {
  const auto two_never_end = [](const Launch& launch) {
    return launch.grid[0] * launch.grid[1] * launch.grid[2] == 2 ? Result::not_ready : Result::success;
  };
  const harness::Summary summary = run(two_never_end, std::chrono::milliseconds(50));
  EXPECT_EQ(summary.count(Status::timeout), 1U);
  EXPECT_EQ(summary.count(Status::passed), cases_.size() - 1);
}

// A worker that is killed leaves an answer on the way, which is not its successor's.
TEST_F(GpuPoolTest, AnAnswerForAnotherProcessIsNotTaken) {
  use([this](const Launch&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return ++*loads_, Result::success;
  });
  harness::GpuPool& pool = harness::GpuPool::of(device_);
  pool.start(1);
  const auto run_once = [&](bool leaves_an_answer) {
    *loads_ = 0;
    const harness::GpuPool::Loan loan = pool.lend(false);
    harness::GpuProcess::inherit(base::Descriptor(dup(loan.channel())), device_.number);
    if (leaves_an_answer) base::Client(base::Descriptor(dup(loan.channel())), 1 << 20).ask(harness::on_gpu::to_bytes({}));
    device_.limit += std::chrono::milliseconds(1);  // another GpuProcess
    EXPECT_EQ(execute(device_).status, Status::passed);
    return static_cast<int>(*loads_);
  };
  const int launches = run_once(false);
  EXPECT_GT(launches, 0);
  EXPECT_EQ(run_once(true), launches) << "all of them before the answer";
  // Workers of later tests would close a descriptor that is not theirs.
  harness::GpuProcess::inherit(base::Descriptor(), device_.number + 1);
}

TEST_F(GpuPoolTest, WithoutADriverEveryCaseSaysSo) {
  harness::GpuProcess::replace_driver([]() -> std::unique_ptr<metal::cuda::Driver> { throw metal::EnvironmentError("no CUDA driver"); });
  harness::RunOptions options;
  options.execution.device = device_;
  Quiet quiet;
  const std::atomic<bool> never = false;
  EXPECT_EQ(harness::run_cases(cases_, *workbench_, options, never, quiet).count(Status::mistrusted), cases_.size());
}

TEST_F(GpuPoolTest, LendsEveryProcessOnce) {
  use([](const Launch&) { return Result::success; });
  harness::GpuPool& pool = harness::GpuPool::of(device_);
  pool.start(1);
  int channel = -1;
  {
    harness::GpuPool::Loan first = pool.lend(false);
    channel = first.channel();
    first.count_case();
    EXPECT_NE(pool.lend(false).channel(), channel);
  }
  EXPECT_EQ(pool.lend(false).channel(), channel);
  harness::GpuPool::Loan unused = pool.lend(true);
  unused.count_case();
  EXPECT_EQ(unused.cases_before(), 0U);
  unused.spoil();
}

harness::OutputBits floats(std::vector<float> values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {"dst", metal::ScalarType::float32, {bytes.begin(), bytes.end()}};
}

TEST(Agreement, OfBits) {
  const float nan = std::bit_cast<float>(0x7fc00001U);
  const float other_nan = std::bit_cast<float>(0xffc00002U);
  const float poison = std::bit_cast<float>(metal::kPoisonWord);
  const std::vector<harness::OutputBits> first = {floats({1, nan, poison, 0.0F, 4, poison})};
  const std::vector<harness::OutputBits> other = {floats({1, other_nan, poison, -0.0F, 5, nan})};
  harness::CaseAgreement compared;
  harness::compare_bits(first, other, compared);
  // Never written by both: no element. Zeros of both signs and a NaN where nothing was written differ.
  EXPECT_EQ(compared.elements, 5U);
  EXPECT_EQ(compared.equal, 2U);
  ASSERT_TRUE(compared.parted);
  EXPECT_EQ(compared.parted->index, 3U);
  EXPECT_EQ(harness::element_text(metal::ScalarType::float32, compared.parted->other), "-0 (0x80000000)");
}

}  // namespace
}  // namespace assay::tests::gpu_process_test

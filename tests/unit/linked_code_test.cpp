// Code that the driver of a GPU links once: what is taken from the cache, what is believed, and what happens if the driver cannot. The
// driver is a mock.
#include "harness/prepare/linked_code.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/execute/execute.h"
#include "harness/execute/gpu_process.h"
#include "harness/findings/fault_text.h"
#include "harness/prepare/gpu_driver.h"
#include "tests/support/files.h"
#include "tests/support/simulated_gpu.h"

namespace assay::tests::linked_code_test {
namespace {

using namespace ::testing;
using harness::LinkedCode;
using metal::cuda::Kernel;
using metal::cuda_abi::Launch;
using Result = metal::cuda::Status;
namespace fs = std::filesystem;

// What processes that link have done, seen by all of them.
struct Seen {
  std::atomic<unsigned> processes, links, loads_of_code, loads_of_ptx, last_registers;
};

class Linked : public Test {
 protected:
  Linked() : seen_(new(mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Seen{}) { use({}); }
  ~Linked() override {
    harness::used_driver() = metal::cuda::load_driver;
    munmap(seen_, sizeof(Seen));
  }

  // `change`: makes the driver of a process behave in another way.
  void use(std::function<void(NiceMock<MockDriver>&)> change, MockDriver::Kernel kernel = {}) {
    harness::used_driver() = [this, change = std::move(change), kernel = std::move(kernel)]() -> std::unique_ptr<metal::cuda::Driver> {
      auto driver = std::make_unique<NiceMock<MockDriver>>();
      driver->behave(kernel);
      ON_CALL(*driver, create_context).WillByDefault([this](int, metal::cuda::Handle& context) {
        ++seen_->processes;
        return context = reinterpret_cast<metal::cuda::Handle>(1), Result::success;
      });
      ON_CALL(*driver, link).WillByDefault([this](const std::string& ptx, unsigned registers, std::string& code, std::string&) {
        ++seen_->links;
        seen_->last_registers = registers;
        return code = MockDriver::kLinked + ptx, Result::success;
      });
      if (change) change(*driver);
      return driver;
    };
  }

  static metal::DeviceChoice device(const std::string& code_for = "9.0, CUDA 13.0, libcuda.so.1.2") {
    metal::DeviceChoice device;
    device.kind = metal::DeviceChoice::Kind::cuda;
    device.code_for = code_for;
    return device;
  }
  static Kernel kernel(const std::string& name) { return {name, "digest of " + name, "PTX of " + name}; }
  [[nodiscard]] LinkedCode fresh(const std::string& code_for = device().code_for) const { return {device(code_for), cache()}; }
  [[nodiscard]] fs::path cache() const { return folder_.path() / "cache"; }
  [[nodiscard]] std::vector<fs::path> entries() const { return {fs::directory_iterator(cache()), fs::directory_iterator()}; }

  Seen* seen_;
  TemporaryFolder folder_;
};

TEST_F(Linked, IsMadeOnceAndThenTakenFromTheCache) {
  LinkedCode first = fresh();
  const auto* made = first.find(kernel("f"), 0);
  ASSERT_NE(made, nullptr) << first.problem();
  EXPECT_EQ(made->code, MockDriver::kLinked + "PTX of f");
  EXPECT_EQ(made->most_threads, 1024U);
  EXPECT_EQ(first.find(kernel("f"), 0), made);
  EXPECT_EQ(seen_->links, 1U);

  LinkedCode other = fresh();
  ASSERT_NE(other.find(kernel("f"), 0), nullptr);
  EXPECT_EQ(other.find(kernel("f"), 0)->code, made->code);
  EXPECT_EQ(seen_->links, 1U);
}

TEST_F(Linked, ADamagedEntryIsNotBelieved) {
  ASSERT_NE(fresh().find(kernel("f"), 0), nullptr);
  ASSERT_EQ(entries().size(), 1U);
  const fs::path entry = entries().front();
  const std::string sound = read_file(entry);
  std::string flipped = sound;
  flipped[flipped.find("PTX of f")] ^= 1;
  unsigned links = 1;
  for (const std::string& damaged : {flipped, sound.substr(0, sound.size() - 1), sound.substr(0, 20), std::string()}) {
    std::ofstream(entry, std::ios::binary | std::ios::trunc) << damaged;
    LinkedCode again = fresh();
    ASSERT_NE(again.find(kernel("f"), 0), nullptr);
    EXPECT_EQ(again.find(kernel("f"), 0)->code, MockDriver::kLinked + "PTX of f");
    EXPECT_EQ(seen_->links, ++links);
    EXPECT_EQ(read_file(entry), sound);
  }
}

// Nobody can pass the code of one kernel off as that of another one.
TEST_F(Linked, AnEntryIsOnlyGoodUnderItsName) {
  ASSERT_NE(fresh().find(kernel("f"), 0), nullptr);
  const fs::path of_f = entries().front();
  ASSERT_NE(fresh().find(kernel("g"), 0), nullptr);
  for (const fs::path& entry : entries()) {
    if (entry != of_f) fs::copy_file(of_f, entry, fs::copy_options::overwrite_existing);
  }
  LinkedCode again = fresh();
  ASSERT_NE(again.find(kernel("g"), 0), nullptr);
  EXPECT_EQ(again.find(kernel("g"), 0)->code, MockDriver::kLinked + "PTX of g");
  EXPECT_EQ(seen_->links, 3U);
}

TEST_F(Linked, AnotherGpuDriverOrNumberOfRegistersIsAnotherEntry) {
  ASSERT_NE(fresh().find(kernel("f"), 0), nullptr);
  ASSERT_NE(fresh("9.0, CUDA 13.0, libcuda.so.1.3").find(kernel("f"), 0), nullptr);
  EXPECT_EQ(seen_->links, 2U);
  ASSERT_NE(fresh().find(kernel("f"), 64), nullptr);
  EXPECT_EQ(seen_->links, 3U);
  EXPECT_EQ(seen_->last_registers, 64U);
  EXPECT_EQ(entries().size(), 3U);
}

TEST_F(Linked, AKernelThatTheDriverRefusesIsNotKeptAndTheLogSaysWhy) {
  use([this](NiceMock<MockDriver>& driver) {
    ON_CALL(driver, link).WillByDefault([this](const std::string& ptx, unsigned, std::string& code, std::string& log) {
      ++seen_->links;
      if (ptx == "PTX of bad") return log = "ptxas line 3: unknown symbol", static_cast<Result>(218);
      return code = "good", Result::success;
    });
  });
  LinkedCode linked = fresh();
  EXPECT_EQ(linked.find(kernel("bad"), 0), nullptr);
  EXPECT_EQ(linked.problem(), "the driver does not compile 'bad': ptxas line 3: unknown symbol: CUDA_ERROR_218");
  EXPECT_EQ(linked.find(kernel("bad"), 0), nullptr);
  EXPECT_EQ(seen_->links, 1U) << "it is asked once";
  EXPECT_THAT(entries(), IsEmpty());
  // It is the fault of that kernel alone.
  EXPECT_NE(linked.find(kernel("f"), 0), nullptr);
}

TEST_F(Linked, AProcessThatDiesIsNotStartedForEveryKernel) {
  use([this](NiceMock<MockDriver>& driver) {
    ON_CALL(driver, link).WillByDefault([this](const std::string&, unsigned, std::string&, std::string&) -> Result {
      ++seen_->links;
      std::abort();
    });
  });
  LinkedCode linked = fresh();
  EXPECT_EQ(linked.find(kernel("f"), 0), nullptr);
  EXPECT_THAT(linked.problem(), HasSubstr("the driver does not compile 'f': signal 6"));
  EXPECT_EQ(linked.find(kernel("g"), 0), nullptr);
  EXPECT_EQ(seen_->links, 1U);
}

TEST_F(Linked, ADriverThatLinksNothingIsAskedAFewTimesOnly) {
  use([this](NiceMock<MockDriver>& driver) {
    ON_CALL(driver, link).WillByDefault([this](const std::string&, unsigned, std::string&, std::string&) {
      ++seen_->links;
      return Result::invalid_value;
    });
  });
  LinkedCode linked = fresh();
  for (const char* name : {"a", "b", "c", "d", "e"}) EXPECT_EQ(linked.find(kernel(name), 0), nullptr);
  EXPECT_EQ(seen_->links, 3U);
}

TEST_F(Linked, AheadEverySourceHasItsProcesses) {
  std::vector<std::vector<Kernel>> sources(2);
  for (int i = 0; i < 20; ++i) sources[0].push_back(kernel(fmt::format("f{}", i)));
  sources[1] = {kernel("g"), kernel("g"), kernel("f3")};
  LinkedCode linked = fresh();
  linked.make_ahead(sources, 2);
  EXPECT_EQ(linked.problem(), "");
  EXPECT_EQ(seen_->links, 21U);
  // Eight at a time; never of two sources.
  EXPECT_EQ(seen_->processes, 4U);
  EXPECT_EQ(entries().size(), 21U);
  fresh().make_ahead(sources, 2);
  EXPECT_EQ(seen_->processes, 4U);
  EXPECT_NE(fresh().find(kernel("g"), 0), nullptr);
  EXPECT_EQ(seen_->links, 21U);
}

// ---- whole cases

class LinkedCase : public Linked {
 protected:
  LinkedCase() {
    cases_.push_back(harness::parse_case("fwht_v1/d256/h2/standalone/gauss/s1", harness::find_family("fwht")));
    prepared_ = std::make_unique<harness::Workbench>(variants(), cases_, harness::WorkbenchOptions{});
    simulated_ = std::make_unique<SimulatedGpu>(prepared_->find("fwht_v1"));
    // One that no cache has, and another process than in the test before.
    static unsigned number = 0;
    device_ = device(fmt::format("test {} of {}", ++number, getpid()));
    device_.limit = std::chrono::seconds(30 + number);
  }
  ~LinkedCase() override {
    const fs::path made = prepared_->find("fwht_v1").libraries.front()->options().cache_directory;
    for (const auto& file : fs::directory_iterator(metal::compile::Cache(made).directory())) {
      if (file.path().extension() == ".cubin" && file.last_write_time() >= start_) fs::remove(file.path());
    }
  }

  static std::vector<kernels::Variant> variants() {
    return kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  }
  void use_gpu(const std::function<void(NiceMock<MockDriver>&)>& change = {}) {
    use([this, change](NiceMock<MockDriver>& driver) {
      driver.behave([this, mock = &driver](const std::string& ptx, const Launch& launch, const MockDriver::LaunchShape& shape) {
        return (*simulated_)(ptx, launch, shape, mock->memory_end());
      });
      ON_CALL(driver, link).WillByDefault([this](const std::string& ptx, unsigned registers, std::string& code, std::string&) {
        ++seen_->links;
        seen_->last_registers = registers;
        return code = MockDriver::kLinked + ptx, Result::success;
      });
      if (change) change(driver);
    });
  }
  harness::Verdict execute() {
    harness::ExecutionOptions options;
    options.device = device_;
    return execute_case(prepared_->find("fwht_v1"), cases_[0], options);
  }

  std::vector<harness::Case> cases_;
  std::unique_ptr<harness::Workbench> prepared_;
  std::unique_ptr<SimulatedGpu> simulated_;
  metal::DeviceChoice device_;
  fs::file_time_type start_ = fs::file_time_type::clock::now() - std::chrono::seconds(1);
};

TEST_F(LinkedCase, TheGpuExecutesWhatWasLinkedAhead) {
  use_gpu();
  harness::WorkbenchOptions options;
  options.device = device_;
  const harness::Workbench workbench(variants(), cases_, options);
  EXPECT_EQ(workbench.link_problem(), "");
  const unsigned ahead = seen_->links;
  EXPECT_GE(ahead, 1U);
  use_gpu([this](NiceMock<MockDriver>& driver) {
    driver.watch_loads(
        [this](const std::string& text) { ++(text.starts_with(MockDriver::kLinked) ? seen_->loads_of_code : seen_->loads_of_ptx); });
  });
  const harness::Verdict verdict = execute();
  EXPECT_EQ(verdict.status, harness::Status::passed) << harness::reason_of(verdict);
  EXPECT_EQ(seen_->links, ahead);
  EXPECT_EQ(seen_->loads_of_code, 1U);
  EXPECT_EQ(seen_->loads_of_ptx, 0U);
}

TEST_F(LinkedCase, WithoutLinkingTheGpuCompilesByItself) {
  use_gpu([](NiceMock<MockDriver>& driver) { ON_CALL(driver, link).WillByDefault(Return(Result::invalid_value)); });
  const harness::Verdict verdict = execute();
  EXPECT_EQ(verdict.status, harness::Status::passed) << harness::reason_of(verdict);
}

TEST_F(LinkedCase, AKernelThatTheDriverRefusesIsAnErrorWithItsLog) {
  use_gpu([](NiceMock<MockDriver>& driver) {
    ON_CALL(driver, link).WillByDefault(Return(static_cast<Result>(218)));
    ON_CALL(driver, load_module).WillByDefault([](const std::string&, unsigned, metal::cuda::Handle&, std::string& log) {
      return log = "ptxas line 3: unknown symbol", static_cast<Result>(218);
    });
  });
  const harness::Verdict verdict = execute();
  EXPECT_EQ(verdict.status, harness::Status::mistrusted);
  EXPECT_TRUE(verdict.is_internal);
  EXPECT_THAT(harness::reason_of(verdict), HasSubstr("ptxas line 3: unknown symbol"));
}

TEST_F(LinkedCase, AThreadgroupThatNeedsFewerRegistersGetsItsOwnCode) {
  use_gpu([](NiceMock<MockDriver>& driver) {
    ON_CALL(driver, function_attribute).WillByDefault([](metal::cuda::Handle, metal::cuda::FunctionAttribute, int& value) {
      return value = 16, Result::success;
    });
  });
  static_cast<void>(execute());
  EXPECT_EQ(seen_->links, 2U);
  EXPECT_GE(seen_->last_registers, 16U);
}

}  // namespace
}  // namespace assay::tests::linked_code_test

// Vectors and fibers give the same results for random kernels. ASSAY_ENGINE_KERNELS=FIRST-LAST chooses their seeds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "metal/compile/library.h"
#include "metal/compile/pipeline.h"
#include "metal/devices/simulator.h"
#include "tests/conformance/random_kernel.h"
#include "tests/support/both_engines.h"
#include "tests/support/files.h"

namespace assay::tests::engines_test {
namespace {

using Storage = std::vector<std::unique_ptr<metal::Buffer>>;

struct Sizes {
  std::uint32_t groups;
  std::uint32_t threads;
};

std::vector<std::uint32_t> inputs_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> words(kRandomInputs + 256);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random() >> (random() % 48));
  return words;
}

// Returns whether it ran as vectors. The seed also decides the inputs and sizes.
bool compare_engines(std::uint64_t seed, const std::string& source) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + source);
  const auto library = metal::Library::from_source(source, "random.metal");
  const Sizes sizes{1 + static_cast<std::uint32_t>(seed % 2), 32 * (1 + static_cast<std::uint32_t>(seed / 2 % 4))};
  const auto words = inputs_of(seed);
  const auto make = [&] {
    Storage made;
    made.push_back(std::make_unique<metal::Buffer>(sizes.groups * sizes.threads * kRandomOutputs * sizeof(std::uint32_t)));
    made.push_back(metal::Buffer::of(std::span<const std::uint32_t>(words)));
    if (seed < kFirstStoringKernel) return made;
    const std::vector<std::uint32_t> areas(sizes.groups * 4 * kRandomArea, 7);
    for (int i = 0; i < 2; ++i) made.push_back(metal::Buffer::of(std::span<const std::uint32_t>(areas)));
    return made;
  };
  const auto encode = [&](metal::ComputeEncoder& encoder, const Storage& bound) {
    encoder.set_pipeline({"test", {}});
    for (std::uint32_t index = 0; index < bound.size(); ++index) encoder.set_buffer(index, {bound[index].get(), 0});
    encoder.dispatch_threadgroups({sizes.groups, 1, 1}, {sizes.threads, 1, 1});
  };
  const std::pair<const char*, metal::Policy> ways[] = {
      {"forward", metal::Policy::native}, {"random:7", metal::Policy::native}, {"random:7", metal::Policy::checked}};
  for (const auto& [schedule, policy] : ways) {
    SCOPED_TRACE(policy == metal::Policy::native ? "native" : "checked");
    metal::SimulatorOptions options;
    options.schedule = metal::Schedule::parse(schedule);
    options.policy = policy;
    metal::Simulator simulator({library}, options);
    const Storage storage = make();
    encode(simulator, storage);
    expect_same_on_fibers({library}, options, simulator, encode, storage, make());
    if (policy == metal::Policy::native) {
      for (const auto& hazard : simulator.hazards()) ADD_FAILURE() << hazard.message;
    }
  }
  const std::string refusal = library->pipeline({"test", {}})->layout().vector_refusal;
  if (!refusal.empty()) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), refusal.c_str());
  return refusal.empty();
}

void compare_seeds(std::uint64_t first, std::uint64_t last) {
  std::uint64_t as_vectors = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) as_vectors += compare_engines(seed, random_kernel(seed)) ? 1 : 0;
  testing::Test::RecordProperty("as_vectors", std::to_string(as_vectors));
  std::printf("%llu of %llu kernels ran as vectors\n", static_cast<unsigned long long>(as_vectors),
              static_cast<unsigned long long>(last - first + 1));
  // Of those that store in branches, more have lanes on another way that read it, or stores before a `break`.
  const std::uint64_t of_ten = first < kFirstStoringKernel ? 9 : 8;
  EXPECT_GE(as_vectors * 10, (last - first + 1) * of_ten);
}

TEST(Engines, RandomKernelsAreTheSame) {
  if (const char* asked = std::getenv("ASSAY_ENGINE_KERNELS")) {
    char* end = nullptr;
    const std::uint64_t first = std::strtoull(asked, &end, 10);
    return compare_seeds(first, *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first);
  }
  compare_seeds(1, 6);
  compare_seeds(kFirstStoringKernel, kFirstStoringKernel + 5);
}

// Random kernels that once differed: order of ways that both meet, choices whose default cannot happen, zeros of either sign, division
// in lanes that do not run, a `case` that stores and leads into one that reads.
TEST(Engines, KernelsThatDifferedAreTheSame) {
  for (const std::uint64_t seed : {0, 88, 236, 554, 593, 6155, 8590, 10763, 102884}) compare_engines(seed, random_kernel(seed));
}

// For a kernel that differs, while it is made smaller by hand or by a script.
TEST(Engines, AKernelFileIsTheSame) {
  const char* file = std::getenv("ASSAY_ENGINE_FILE");
  if (file == nullptr) GTEST_SKIP() << "ASSAY_ENGINE_FILE=SEED:FILE names a kernel like the random ones";
  char* name = nullptr;
  const std::uint64_t seed = std::strtoull(file, &name, 10);
  compare_engines(seed, read_file(name + 1));
}

}  // namespace
}  // namespace assay::tests::engines_test

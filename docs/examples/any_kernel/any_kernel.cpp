// Judges a softmax kernel: several shapes and inputs, every element compared with a reference under a derived bound.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "oracles/arithmetic.h"

namespace metal = assay::metal;

// The exact softmax in double, and the largest error of a correct kernel. A weight has the rounding of a difference, at most high - low
// units, and that of exp. A sum of `length` weights has less than `length` roundings, whatever its order; the quotient has one.
assay::oracles::Expected softmax(std::span<const float> x, std::size_t length) {
  assay::oracles::Expected expected;
  for (std::size_t row = 0; row < x.size(); row += length) {
    const auto in = x.subspan(row, length);
    const auto [low, high] = std::ranges::minmax(in);
    double sum = 0.0;
    for (const double value : in) sum += std::exp(value - high);
    for (const double value : in) {
      expected.value.push_back(std::exp(value - high) / sum);
      expected.bound.push_back(assay::oracles::gamma(2.0 * (double{high} - low + 1.0) + double(length)) * expected.value.back());
      expected.magnitude.push_back(expected.value.back());  // no term of a sum is negative
    }
  }
  return expected;
}

bool passes(const std::shared_ptr<metal::Library>& kernel, std::uint32_t rows, std::uint32_t length, const std::string& inputs) {
  std::mt19937 random(length);
  std::normal_distribution<float> normal(inputs == "negative" ? -1000.0F : 0.0F, inputs == "spread" ? 8.0F : 1.0F);
  std::vector<float> x(std::size_t{rows} * length);
  std::ranges::generate(x, [&] { return normal(random); });
  const auto input = metal::Buffer::of<float>(x, "x");
  metal::Buffer output(x.size() * sizeof(float), "y");  // poisoned: an element that is never written is a fault

  metal::Simulator simulator({kernel}, {.policy = metal::Policy::checked});  // finds races and stray accesses too
  simulator.set_pipeline({"softmax_rows", {}});
  simulator.set_buffer(0, {input.get()});
  simulator.set_buffer(1, {&output});
  simulator.set_bytes(2, std::as_bytes(std::span(&length, 1)));
  simulator.dispatch_threadgroups({rows, 1, 1}, {32, 1, 1});

  const auto verdict = assay::harness::judge(output.as<float>(), softmax(x, length), {}, {.constant_is_expected = length == 1});
  const bool passed = verdict.passed() && simulator.hazards().empty();
  std::printf("%s %ux%u %s: error/bound %.3g\n", passed ? "passed" : "FAILED", rows, length, inputs.c_str(), verdict.max_ratio);
  for (const auto& hazard : simulator.hazards()) std::printf("  %s\n", hazard.message.c_str());
  for (const auto& bad : verdict.worst)
    if (!passed) std::printf("  element %zu: expected %g, got %g, bound %.2g\n", bad.index, bad.expected, bad.actual, bad.bound);
  return passed;
}

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: any_kernel KERNEL.metal");
  const auto kernel = metal::Library::from_file(argv[1]);
  int failures = 0;
  for (const std::uint32_t rows : {1U, 3U})
    for (const std::uint32_t length : {1U, 31U, 32U, 33U, 1000U})
      for (const char* inputs : {"normal", "spread", "negative"}) failures += passes(kernel, rows, length, inputs) ? 0 : 1;
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 2;
}

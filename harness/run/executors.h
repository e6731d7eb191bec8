// One function per family that carries a case out; only execute.cpp calls them.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <vector>

#include "base/digest.h"
#include "fixtures/shelf.h"
#include "harness/run/execute.h"
#include "harness/run/verdict.h"
#include "harness/run/workbench.h"
#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"
#include "metal/float_type.h"
#include "oracles/expected.h"

namespace assay::harness {

// What schedules cannot change, kept from the first to the last of them: a case's data, and what the oracle expects of it. One value a
// type.
class Kept {
 public:
  template <typename Make>
  [[nodiscard]] const std::invoke_result_t<Make>& once(const Make& make) {
    using Value = std::invoke_result_t<Make>;
    std::any& place = values_[typeid(Value)];
    if (!place.has_value()) place = make();
    return *std::any_cast<Value>(&place);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

struct Execution {
  const PreparedVariant& prepared;
  const kernels::BoundKernel& kernel;  // the function of the case
  const Case& about;
  // Carries out what is encoded. False if nothing was executed: then there is nothing to judge either, and the executor returns.
  const std::function<bool(const Encode&)>& launch;
  const fixtures::Shelf& shelf;  // where files stand that cases name
  JudgeOptions judging;
  Kept& kept;
  Verdict& verdict;                   // judgement, stages, row_length, digest and times are filled here
  std::vector<float> output;          // the judged output as the kernel left it
  std::string_view output_unit = {};  // what it holds, if not rows of the judged output: "word of the partials"
  // Of so many numbers in a view, what they would be without rounding. Empty but under the policy `shadow`; then `shadowed` is filled.
  std::function<std::vector<double>(const metal::BufferView&, std::size_t count, metal::FloatType)> shadows = {};
  std::optional<ShadowedOutput> shadowed = {};
};

void execute_decode(Execution& execution);
void execute_reduce(Execution& execution);
void execute_fwht(Execution& execution);
void execute_quantize(Execution& execution);
void execute_dequantize(Execution& execution);
void execute_bf16_prefill(Execution& execution);
void execute_bf16_vec(Execution& execution);

using base::add_to_digest;

// Notes in the verdict if the kernel wrote to an input, which `const` forbids but a cast allows.
void note_change(Verdict& verdict, std::string_view argument, bool is_unchanged);
void check_unchanged(Verdict& verdict, std::string_view argument, const metal::Buffer& buffer, std::span<const std::byte> original);

// Runs `work` and returns the seconds it took.
template <typename Work>
double timed(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What the oracle expects: asked under the first schedule alone.
template <typename Oracle>
[[nodiscard]] const oracles::Expected& expected_of(Execution& execution, const Oracle& oracle) {
  return execution.kept.once([&] {
    oracles::Expected expected;
    execution.verdict.oracle_seconds += timed([&] { expected = oracle(); });
    return expected;
  });
}

// The same of an oracle without the contract's conversions, which the policy `shadow` asks as well.
template <typename Oracle>
[[nodiscard]] const oracles::Expected& exact_of(Execution& execution, const Oracle& oracle) {
  struct Exact {
    oracles::Expected expected;
  };
  const Exact& exact = execution.kept.once([&] {
    Exact made;
    execution.verdict.oracle_seconds += timed([&] { made.expected = oracle(); });
    return made;
  });
  return exact.expected;
}

// Under the policy `shadow`, keeps the shadow of an output in float that no conversion of a contract has touched.
void keep_shadowed(Execution& execution, const metal::BufferView& view, std::span<const float> values, const oracles::Expected& expected);

}  // namespace assay::harness

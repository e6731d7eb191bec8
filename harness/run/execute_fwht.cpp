#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "kernels/launch/fwht.h"
#include "oracles/fwht.h"

namespace assay::harness {
namespace {

kernels::FwhtParameters parameters_of(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  return {.head_dim = value("head_dim"), .num_heads = value("num_heads")};
}

}  // namespace

void validate_fwht(const Case& about) { kernels::validate(parameters_of(about)); }

std::int64_t simdgroups_of_fwht(const Case&) { return 1; }

void execute_fwht(Execution& execution) {
  Verdict& verdict = execution.verdict;
  const kernels::FwhtParameters parameters = parameters_of(execution.about);

  const CaseData<std::vector<float>> source = fwht_data(execution.about, execution.shelf);
  const std::vector<float>& input = source.inputs;
  oracles::Expected expected;
  verdict.oracle_seconds = timed([&] { expected = oracles::fwht(input, parameters.head_dim, fwht_mode(execution.about)); });

  GuardedBuffer data(input.size(), "data");
  std::ranges::copy(input, data.values().begin());
  verdict.simulator_seconds = timed([&] { kernels::encode_fwht(execution.simulator, execution.kernel, parameters, data.view()); });

  verdict.row_length = parameters.head_dim;
  const auto judge_by = [&](const oracles::Expected& by) { return judge(data.values(), by, data.guards()); };
  verdict.judgement = judge_by(expected);
  if (source.stored) judge_by_stored(verdict, *source.stored, expected, judge_by);
  add_to_digest(verdict.digest, data.bytes());
  execution.output.assign(data.values().begin(), data.values().end());
}

}  // namespace assay::harness

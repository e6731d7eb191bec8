#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "families/reduce/inputs.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "oracles/reduce.h"

namespace assay::harness {
namespace {

constexpr std::size_t kMostWorkgroups = 32;

}  // namespace

void execute_reduce(Execution& execution) {
  Verdict& verdict = execution.verdict;
  const families::ReduceParameters parameters = families::reduce_parameters(execution.about);
  const oracles::PartialsShape shape{parameters.nrows, parameters.head_dim, parameters.nwg};

  const CaseData<std::vector<float>>& source =
      execution.kept.once([&] { return data_of(execution.about, execution.shelf, families::reduce_inputs); });
  const std::vector<float>& raw = source.inputs;

  // The contract's scratch has room for 32 workgroups. What lies behind the partials of fewer is old or was never written, and stays
  // poisoned here: even a factor of zero makes no number of it.
  metal::Buffer htmp(std::size_t{parameters.nrows} * kMostWorkgroups * (parameters.head_dim + 2) * sizeof(float), "htmp");
  std::ranges::copy(raw, htmp.as<float>().begin());
  GuardedBuffer dst(std::size_t{parameters.nrows} * parameters.head_dim, "dst");
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    families::encode_reduce(encoder, execution.kernel, parameters, {{&htmp}, dst.view()});
  };
  if (!execution.launch(encode)) return;

  const oracles::Expected& expected = expected_of(execution, [&] { return oracles::reduce(shape, raw); });
  verdict.row_length = parameters.head_dim;
  const auto judge_by = [&](const oracles::Expected& by) { return judge(dst.values(), by, dst.guards(), execution.judging); };
  verdict.judgement = judge_by(expected);
  keep_shadowed(execution, dst.view(), dst.values(), expected);
  if (source.stored) judge_by_stored(verdict, *source.stored, expected, judge_by);
  add_to_digest(verdict.digest, dst.bytes());
  execution.output.assign(dst.values().begin(), dst.values().end());
  check_unchanged(verdict, "htmp", htmp, std::as_bytes(std::span(raw)));
}

}  // namespace assay::harness

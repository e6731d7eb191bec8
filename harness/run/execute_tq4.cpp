#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "fixtures/generators.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "kernels/launch/tq4.h"
#include "oracles/attention.h"
#include "oracles/partials.h"
#include "oracles/reduce.h"

namespace assay::harness {
namespace {

float scale_of(const Case& about) {
  if (about.at("scale") == kScaleOne) return 1.0F;
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(about.at("head_dim"))));
}

kernels::Tq4Parameters parameters_of(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  kernels::Tq4Parameters parameters;
  parameters.n_heads = value("n_heads");
  parameters.n_kv_heads = value("n_kv_heads");
  parameters.head_dim = value("head_dim");
  parameters.kv_seq_len = value("kv_len");
  parameters.kv_capacity = value("kv_capacity");
  parameters.scale = scale_of(about);
  parameters.mask_type = value("mask_type");
  parameters.sliding_window = value("sliding_window");
  parameters.ring_start = value("ring_start");
  parameters.nwg = value("nwg");
  return parameters;
}

oracles::DecodeShape shape_of(const kernels::Tq4Parameters& parameters) {
  oracles::DecodeShape shape;
  shape.heads = parameters.n_heads;
  shape.kv_heads = parameters.n_kv_heads;
  shape.head_dim = parameters.head_dim;
  shape.kv_len = parameters.kv_seq_len;
  shape.kv_capacity = parameters.kv_capacity;
  shape.ring_start = parameters.ring_start;
  shape.mask_type = static_cast<oracles::MaskType>(parameters.mask_type);
  shape.sliding_window = parameters.sliding_window;
  shape.scale = parameters.scale;
  return shape;
}

// The merge of the stored partials, judged on its own terms; the attention verdict does not hang on it.
StageVerdict judge_reduce(const std::string& owner, const oracles::PartialsShape& shape, const GuardedBuffer& partials,
                          const GuardedBuffer& dst) {
  StageVerdict stage;
  stage.name = fmt::format("reduce of {}", owner);
  try {
    stage.judgement = judge(dst.values(), oracles::reduce(shape, partials.values()), dst.guards());
    stage.passed = stage.judgement.passed();
    if (!stage.passed) stage.reason = "its output is not the merge of the stored partials";
  } catch (const std::invalid_argument& outside) {
    stage.reason = fmt::format("not judged: {}", outside.what());
  }
  return stage;
}

}  // namespace

void validate_tq4(const Case& about) { kernels::validate(parameters_of(about)); }

// The reduce behind it has more, but family reduce judges that.
std::int64_t simdgroups_of_tq4(const Case&) { return 1; }

void execute_tq4(Execution& execution) {
  const Case& about = execution.about;
  Verdict& verdict = execution.verdict;
  kernels::Tq4Parameters parameters = parameters_of(about);
  parameters.offset_bits = execution.prepared.variant.offset_bits;
  const oracles::DecodeShape shape = shape_of(parameters);
  const std::uint32_t nwg = kernels::tq4_nwg(parameters);

  fixtures::DecodeRequest request;
  request.shape = shape;
  request.seed = about.seed;
  const fixtures::DecodeInputs inputs = fixtures::find_fixture(about.fixture).decode(request);

  oracles::AttentionAccuracy accuracy;
  if (execution.prepared.variant.accuracy.dot_depth) accuracy.dot_depth = *execution.prepared.variant.accuracy.dot_depth;
  oracles::Expected expected;
  verdict.oracle_seconds = timed([&] { expected = oracles::decode_attention(shape, inputs.q, inputs.cache(), accuracy); });

  const auto q = metal::Buffer::of(std::span(inputs.q), "Q");
  const auto k_packed = metal::Buffer::of(std::span(inputs.k_codes), "K_packed");
  const auto k_norms = metal::Buffer::of(std::span(inputs.k_norms), "K_norms");
  const auto v_packed = metal::Buffer::of(std::span(inputs.v_codes), "V_packed");
  const auto v_norms = metal::Buffer::of(std::span(inputs.v_norms), "V_norms");
  GuardedBuffer dst(std::size_t{parameters.n_heads} * parameters.head_dim, "dst");
  const oracles::PartialsShape partials_shape{parameters.n_heads, parameters.head_dim, nwg};
  std::optional<GuardedBuffer> partials;
  if (nwg > 1) partials.emplace(partials_shape.size(), "partials");

  kernels::Tq4Buffers buffers;
  buffers.q = {q.get()};
  buffers.k_packed = {k_packed.get()};
  buffers.k_norms = {k_norms.get()};
  buffers.v_packed = {v_packed.get()};
  buffers.v_norms = {v_norms.get()};
  buffers.dst = dst.view();
  if (partials) buffers.partials = partials->view();
  const auto reduce = execution.prepared.reduce.find(fmt::format("d{}", parameters.head_dim));
  const kernels::BoundKernel* reduce_kernel = reduce == execution.prepared.reduce.end() ? nullptr : &reduce->second;
  verdict.simulator_seconds =
      timed([&] { kernels::encode_tq4(execution.simulator, execution.kernel, reduce_kernel, parameters, buffers); });

  verdict.row_length = parameters.head_dim;
  if (partials) {
    const oracles::MergedPartials merged = oracles::merge_partials(partials_shape, partials->values(), metal::kPoisonWord);
    oracles::widen_for_merge(expected, nwg);
    verdict.judgement = judge(std::span<const double>(merged.output), expected, partials->guards());
    verdict.stages.push_back(judge_reduce(execution.prepared.reduce_owner, partials_shape, *partials, dst));
    add_to_digest(verdict.digest, partials->bytes());
  } else {
    verdict.judgement = judge(dst.values(), expected, dst.guards());
  }
  add_to_digest(verdict.digest, dst.bytes());
  const std::span<const float> judged = partials ? partials->values() : dst.values();
  execution.output.assign(judged.begin(), judged.end());

  check_unchanged(verdict, "Q", *q, std::as_bytes(std::span(inputs.q)));
  check_unchanged(verdict, "K_packed", *k_packed, std::as_bytes(std::span(inputs.k_codes)));
  check_unchanged(verdict, "K_norms", *k_norms, std::as_bytes(std::span(inputs.k_norms)));
  check_unchanged(verdict, "V_packed", *v_packed, std::as_bytes(std::span(inputs.v_codes)));
  check_unchanged(verdict, "V_norms", *v_norms, std::as_bytes(std::span(inputs.v_norms)));

  if (!verdict.judgement.passed()) {
    const oracles::DomainReport domain = oracles::decode_domain(shape, inputs.q, inputs.cache());
    if (!domain.inside) {
      throw std::domain_error(fmt::format("fixture {} left the domain of decode attention: scores {} .. {}, largest masked excess {}",
                                          about.fixture, domain.smallest_visible_score, domain.largest_visible_score,
                                          domain.largest_excess));
    }
  }
}

}  // namespace assay::harness

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/shared/decode_inputs.h"
#include "harness/cases/file_case.h"
#include "harness/run/attention_accuracy.h"
#include "harness/run/cache_buffer.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "oracles/attention.h"
#include "oracles/partials.h"
#include "oracles/reduce.h"

namespace assay::harness {
namespace {

// The merge of the stored partials, judged on its own terms; the attention verdict does not hang on it.
StageVerdict judge_reduce(const std::string& owner, const oracles::PartialsShape& shape, const GuardedBuffer& partials,
                          const GuardedBuffer& dst) {
  StageVerdict stage;
  stage.name = fmt::format("reduce of {}", owner);
  try {
    stage.judgement = judge(dst.values(), oracles::reduce(shape, partials.values()), dst.guards());
    stage.passed = stage.judgement.passed();
    // Partials of which nothing can be told (all of them idle, say) are no fault of the merge.
    stage.is_judged = stage.passed || !faults_of(stage.judgement).empty();
    if (!stage.passed && stage.is_judged) stage.faults.emplace_back(fault::WrongMerge{});
    if (!stage.is_judged) stage.faults.emplace_back(fault_of(stage.judgement.mistrusted.value()));
  } catch (const std::invalid_argument& outside) {
    stage.is_judged = false;
    stage.faults.emplace_back(fault::OutsideOfOracle{outside.what()});
  }
  return stage;
}

// Slots that one workgroup takes at a time, by the contract.
constexpr std::uint32_t kChunk = 32;

// What a workgroup without any chunk must leave behind, exactly: S = 0, M = -FLT_MAX/2, O = 0. A merge of our own hides other
// neutral values (M = -infinity, say) while one workgroup has keys; other people's reduce kernels rest on the promise.
// Nothing if the promise is kept.
std::optional<fault::IdleWorkgroup> find_broken_promise(const oracles::PartialsShape& shape, std::span<const float> raw,
                                                        std::uint32_t kv_len, std::uint32_t nsg) {
  const std::size_t chunks = (kv_len + kChunk - 1) / kChunk;
  constexpr float idle_maximum = -std::numeric_limits<float>::max() / 2;
  const auto broken = [&](std::size_t head, std::size_t workgroup, PartialsPart part, std::size_t index, std::size_t coordinate = 0) {
    fault::IdleWorkgroup fault{workgroup, head, kv_len, kChunk, part, coordinate, raw[index]};
    if (std::bit_cast<std::uint32_t>(raw[index]) == metal::kPoisonWord) fault.left.reset();
    return fault;
  };
  for (std::size_t head = 0; head < shape.rows; ++head) {
    for (std::size_t workgroup = (chunks + nsg - 1) / nsg; workgroup < shape.nwg; ++workgroup) {
      const std::size_t sum = shape.sum_index(head, workgroup);
      const std::size_t maximum = shape.max_index(head, workgroup);
      if (!(raw[sum] == 0.0F)) return broken(head, workgroup, PartialsPart::sum, sum);
      if (!(raw[maximum] == idle_maximum)) return broken(head, workgroup, PartialsPart::maximum, maximum);
      for (std::size_t j = 0; j < shape.head_dim; ++j) {
        const std::size_t index = shape.output_index(head, workgroup, j);
        if (!(raw[index] == 0.0F)) return broken(head, workgroup, PartialsPart::output, index, j);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void execute_decode(Execution& execution) {
  const Case& about = execution.about;
  Verdict& verdict = execution.verdict;
  families::DecodeParameters parameters = families::decode_parameters(about);
  parameters.offset_bits = execution.prepared.variant.offset_bits;
  const oracles::DecodeShape shape = families::decode_request(about).shape;
  const auto [nwg, nsg] = families::decode_split(execution.kernel, parameters);

  const CaseData<fixtures::DecodeInputs>& data =
      execution.kept.once([&] { return data_of(about, execution.shelf, families::decode_inputs); });
  const fixtures::DecodeInputs& inputs = data.inputs;

  const auto q = metal::Buffer::of(std::span(inputs.q), "Q");
  const CacheLayout codes{shape.kv_heads, inputs.k_codes.size() / shape.kv_heads,
                          inputs.k_codes.size() / (shape.kv_heads * shape.kv_capacity) * inputs.filled_slots};
  const std::size_t norms_bytes = inputs.k_norms.size() / (shape.kv_heads * shape.kv_capacity) * sizeof(float);
  const CacheLayout norms{shape.kv_heads, shape.kv_capacity * norms_bytes, inputs.filled_slots * norms_bytes};
  const auto k_packed = make_cache_buffer(std::as_bytes(std::span(inputs.k_codes)), codes, "K_packed");
  const auto k_norms = make_cache_buffer(std::as_bytes(std::span(inputs.k_norms)), norms, "K_norms");
  const auto v_packed = make_cache_buffer(std::as_bytes(std::span(inputs.v_codes)), codes, "V_packed");
  const auto v_norms = make_cache_buffer(std::as_bytes(std::span(inputs.v_norms)), norms, "V_norms");
  GuardedBuffer dst(std::size_t{parameters.n_heads} * parameters.head_dim, "dst");
  const oracles::PartialsShape partials_shape{parameters.n_heads, parameters.head_dim, nwg};
  std::optional<GuardedBuffer> partials;
  if (nwg > 1) partials.emplace(partials_shape.size(), "partials");

  families::DecodeBuffers buffers;
  buffers.q = {q.get()};
  buffers.k_packed = {k_packed.get()};
  buffers.k_norms = {k_norms.get()};
  buffers.v_packed = {v_packed.get()};
  buffers.v_norms = {v_norms.get()};
  buffers.dst = dst.view();
  if (partials) buffers.partials = partials->view();
  const kernels::BoundKernel* reduce = execution.prepared.helper("reduce", {fmt::format("d{}", parameters.head_dim)});
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    families::encode_decode(encoder, execution.kernel, reduce, parameters, buffers);
  };
  if (!execution.launch(encode)) return;

  const oracles::AttentionAccuracy accuracy =
      attention_accuracy(execution.prepared.variant.accuracy, oracles::float_format(), nsg_of(execution.about));
  const JudgeOptions judging = widened_for(accuracy, execution.judging);
  const oracles::Expected& expected =
      expected_of(execution, [&] { return oracles::decode_attention(shape, inputs.q, inputs.cache(), accuracy); });
  verdict.row_length = parameters.head_dim;
  oracles::MergedPartials merged;
  if (partials) {
    merged = oracles::merge_partials(partials_shape, partials->values(), metal::kPoisonWord);
    if (const auto broken = find_broken_promise(partials_shape, partials->values(), parameters.kv_seq_len, nsg))
      verdict.faults.emplace_back(*broken);
    verdict.stages.push_back(judge_reduce(execution.prepared.helper_owner("reduce"), partials_shape, *partials, dst));
    add_to_digest(verdict.digest, partials->bytes());
  }
  const auto widened_of = [&](oracles::Expected by) {
    if (partials) oracles::widen_for_merge(by, nwg);
    return by;
  };
  const auto judge_by = [&](const oracles::Expected& by) {
    oracles::Expected allowed = by;
    // A bound that was stored knows nothing of what this variant declares.
    if (!execution.prepared.weaker_storage.empty())
      std::ranges::transform(by.bound, expected.bound, allowed.bound.begin(), std::ranges::max);
    const oracles::Expected widened = widened_of(std::move(allowed));
    if (!partials) return judge(dst.values(), widened, dst.guards(), judging);
    return judge(std::span<const double>(merged.output), widened, partials->guards(), judging);
  };
  verdict.judgement = judge_by(expected);
  if (data.stored) judge_by_stored(verdict, *data.stored, expected, judge_by);
  if (execution.shadows) {
    const oracles::Expected& exact =
        exact_of(execution, [&] { return oracles::decode_attention(shape, inputs.q, inputs.cache(), without_conversions(accuracy)); });
    GuardedBuffer& written = partials ? *partials : dst;
    std::vector<double> shadows = execution.shadows(written.view(), written.values().size(), metal::FloatType::float32);
    // A merge has no contract to convert anything: its shadow is the merge of the shadows.
    if (partials) shadows = oracles::merge_partials(partials_shape, std::span<const double>(shadows), metal::kPoisonWord).output;
    if (!partials) merged.output.assign(dst.values().begin(), dst.values().end());
    execution.shadowed = {
        .values = std::move(merged.output), .shadows = std::move(shadows), .expected = widened_of(expected), .exact = widened_of(exact)};
  }
  add_to_digest(verdict.digest, dst.bytes());
  const std::span<const float> judged = partials ? partials->values() : dst.values();
  execution.output.assign(judged.begin(), judged.end());
  if (partials) execution.output_unit = "word of the partials";

  check_unchanged(verdict, "Q", *q, std::as_bytes(std::span(inputs.q)));
  note_change(verdict, "K_packed", holds_still(*k_packed, std::as_bytes(std::span(inputs.k_codes)), codes));
  note_change(verdict, "K_norms", holds_still(*k_norms, std::as_bytes(std::span(inputs.k_norms)), norms));
  note_change(verdict, "V_packed", holds_still(*v_packed, std::as_bytes(std::span(inputs.v_codes)), codes));
  note_change(verdict, "V_norms", holds_still(*v_norms, std::as_bytes(std::span(inputs.v_norms)), norms));

  if (!verdict.judgement.passed()) {
    const oracles::DomainReport domain = oracles::decode_domain(shape, inputs.q, inputs.cache());
    if (!domain.inside) {
      const std::string text =
          fmt::format("the inputs are outside of the domain of decode attention: scores {} .. {}, largest masked excess {}",
                      domain.smallest_visible_score, domain.largest_visible_score, domain.largest_excess);
      if (const auto stem = file_stem(about.fixture))
        throw fixtures::FileError(fixtures::file_message(execution.shelf.find(*stem), "inputs", text));
      throw std::domain_error(fmt::format("fixture {}: {}", about.fixture, text));
    }
  }
}

}  // namespace assay::harness

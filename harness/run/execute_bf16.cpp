#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/run/attention_accuracy.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "harness/run/prefill_helpers.h"
#include "kernels/launch/bf16_prefill.h"
#include "kernels/launch/bf16_vec.h"
#include "oracles/dense_attention.h"

namespace assay::harness {
namespace {

kernels::Bf16Parameters parameters_of(const Case& about, metal::ScalarType q_element) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  kernels::Bf16Parameters p;
  p.batches = value("batches");
  p.n_heads = value("n_heads");
  p.n_kv_heads = value("n_kv_heads");
  p.queries = value("queries");
  p.kv_len = value("kv_len");
  p.q_element = q_element;
  p.q = kernels::strides_of(kernels::kBf16HeadDim * metal::size_of(q_element), p.queries, p.n_heads);
  p.k = p.v = kernels::strides_of(kernels::kBf16RowBytes, std::uint64_t{p.kv_len} + value("kv_room"), p.n_kv_heads);
  if (value("mask_type") != 0) {
    p.mask_batches = value("mask_batches");
    p.mask_heads = value("mask_heads");
    p.mask = kernels::strides_of(2 * std::uint64_t{p.kv_len}, p.queries, p.mask_heads);
  }
  p.scale = score_scale(about);
  return p;
}

kernels::Bf16Parameters prefill_parameters(const Case& about) { return parameters_of(about, metal::ScalarType::bfloat16); }
kernels::Bf16VecParameters vec_parameters(const Case& about) {
  return {parameters_of(about, metal::ScalarType::float32), static_cast<std::uint32_t>(about.at("nsg"))};
}

// Poison in every 16 bits of it, which no arithmetic makes a bfloat of.
constexpr auto kPoisonHalfWord = static_cast<std::uint16_t>(metal::kPoisonWord & 0xffffU);
static_assert((metal::kPoisonWord >> 16U) == kPoisonHalfWord);

// Stored bfloats as floats, those never written as the poison that the judge knows.
std::vector<float> widened(std::span<const float> stored) {
  std::vector<std::uint16_t> bits(2 * stored.size());
  std::memcpy(bits.data(), stored.data(), stored.size_bytes());
  std::vector<float> values;
  values.reserve(bits.size());
  for (const std::uint16_t one : bits)
    values.push_back(std::bit_cast<float>(one == kPoisonHalfWord ? metal::kPoisonWord : std::uint32_t{one} << 16U));
  return values;
}

// The buffers of a case and what is expected of it; both families differ only in how they run.
class Attention {
 public:
  explicit Attention(Execution& execution, std::size_t query_count)
      : execution_(execution),
        request_(dense_request(execution.about)),
        data_(execution.kept.once([&] { return dense_data(execution.about, execution.shelf); })),
        accuracy_(attention_accuracy(execution.prepared.variant.accuracy, oracles::bfloat_format())),
        k_(metal::Buffer::of(std::span(data_.inputs.k), "k")),
        v_(metal::Buffer::of(std::span(data_.inputs.v), "v")),
        // Two bfloats to a word.
        dst_(query_count * request_.shape.head_dim / 2, "dst") {
    if (!data_.inputs.mask.empty()) mask_ = metal::Buffer::of(std::span(data_.inputs.mask), "mask");
    if (request_.q_is_bfloat) {
      for (const float value : data_.inputs.q) q_bits_.push_back(fixtures::bfloat_bits(static_cast<double>(value)));
      q_ = metal::Buffer::of(std::span<const std::uint16_t>(q_bits_), "q");
    } else {
      q_ = metal::Buffer::of(std::span(data_.inputs.q), "q");
    }
  }

  [[nodiscard]] const fixtures::DenseRequest& request() const { return request_; }
  [[nodiscard]] const fixtures::DenseInputs& inputs() const { return data_.inputs; }
  [[nodiscard]] kernels::Bf16Tensors tensors() {
    kernels::Bf16Tensors tensors = {{q_.get()}, {k_.get()}, {v_.get()}, {}, dst_.view()};
    if (mask_) tensors.mask = {mask_.get()};
    return tensors;
  }

  void judge_output() {
    Verdict& verdict = execution_.verdict;
    const oracles::Expected& expected =
        expected_of(execution_, [&] { return oracles::dense_attention(request_.shape, data_.inputs.tensors(), accuracy_); });
    verdict.row_length = request_.shape.head_dim;
    JudgeOptions judging = widened_for(accuracy_, execution_.judging);
    // A single query that sees nothing has nothing but zeros to expect.
    judging.constant_is_expected = request_.mask == fixtures::DenseMask::row && request_.shape.queries == 1;
    execution_.output = widened(dst_.values());
    const auto judge_by = [&](const oracles::Expected& by) {
      oracles::Expected allowed = by;
      // A bound that was stored knows nothing of what this variant declares.
      if (!execution_.prepared.weaker_storage.empty())
        std::ranges::transform(by.bound, expected.bound, allowed.bound.begin(), std::ranges::max);
      return judge(std::span<const float>(execution_.output), allowed, dst_.guards(), judging);
    };
    verdict.judgement = judge_by(expected);
    if (data_.stored) judge_by_stored(verdict, *data_.stored, expected, judge_by);
    add_to_digest(verdict.digest, dst_.bytes());

    if (request_.q_is_bfloat) {
      check_unchanged(verdict, "q", *q_, std::as_bytes(std::span(q_bits_)));
    } else {
      check_unchanged(verdict, "q", *q_, std::as_bytes(std::span(data_.inputs.q)));
    }
    check_unchanged(verdict, "k", *k_, std::as_bytes(std::span(data_.inputs.k)));
    check_unchanged(verdict, "v", *v_, std::as_bytes(std::span(data_.inputs.v)));
    if (mask_) check_unchanged(verdict, "mask", *mask_, std::as_bytes(std::span(data_.inputs.mask)));
  }

 private:
  Execution& execution_;
  fixtures::DenseRequest request_;
  const CaseData<fixtures::DenseInputs>& data_;
  oracles::AttentionAccuracy accuracy_;
  std::vector<std::uint16_t> q_bits_;
  std::unique_ptr<metal::Buffer> q_, k_, v_, mask_;
  GuardedBuffer dst_;
};

// A wrong helper from the variant's own file is the variant's failure, said before the output that it spoiled. One that was lent says
// nothing about the variant, and the case is no verdict on it.
void settle_helper(Execution& execution, std::string_view family, const std::string& fault) {
  const std::string owner = execution.prepared.helper_owner(family);
  Verdict& verdict = execution.verdict;
  verdict.stages.push_back({.name = fmt::format("{} of {}", family.substr(family.find('_') + 1), owner),
                            .is_judged = true,
                            .passed = fault.empty(),
                            .reason = fault,
                            .judgement = {}});
  if (fault.empty()) return;
  if (owner != execution.prepared.variant.name)
    throw std::runtime_error(
        fmt::format("{} has no {} of its own, and the one of {} is wrong: {}", execution.prepared.variant.name, family, owner, fault));
  verdict.reason += fmt::format("{}{}", verdict.reason.empty() ? "" : "; ", fault);
}

std::size_t output_rows(const kernels::Bf16Parameters& p) { return std::size_t{p.batches} * p.n_heads * p.queries; }

}  // namespace

void validate_bf16_prefill(const Case& about) { kernels::validate_bf16_prefill(prefill_parameters(about)); }
void validate_bf16_vec(const Case& about) { kernels::validate_bf16_vec(vec_parameters(about)); }

std::int64_t simdgroups_of_bf16_prefill(const Case&) { return 8; }
std::int64_t simdgroups_of_bf16_vec(const Case& about) { return about.at("nsg"); }

void execute_bf16_prefill(Execution& execution) {
  const kernels::Bf16Parameters parameters = prefill_parameters(execution.about);
  Attention attention(execution, output_rows(parameters));
  metal::Buffer pad(kernels::is_ragged(parameters) ? kernels::bf16_pad_bytes(parameters) : 0, "pad");
  metal::Buffer blk(parameters.has_mask() ? kernels::bf16_blk_bytes(parameters) : 0, "blk");

  const kernels::FunctionKey pad_key = {"pad", kernels::bf16_pad_constants(parameters.has_mask())};
  const kernels::Bf16PrefillKernels kernels = {execution.kernel, execution.prepared.helper("bf16_pad", pad_key),
                                               execution.prepared.helper("bf16_blk", {"blk"})};
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    kernels::encode_bf16_prefill(encoder, kernels, parameters, {attention.tensors(), {&pad}, {&blk}});
  };
  if (!execution.launch(encode)) return;

  if (kernels::is_ragged(parameters))
    settle_helper(execution, "bf16_pad", find_pad_fault(attention.request(), attention.inputs(), pad.as<std::uint16_t>()));
  if (parameters.has_mask())
    settle_helper(execution, "bf16_blk", find_blk_fault(attention.request(), attention.inputs(), blk.as<std::uint8_t>()));
  attention.judge_output();
}

void execute_bf16_vec(Execution& execution) {
  const kernels::Bf16VecParameters parameters = vec_parameters(execution.about);
  Attention attention(execution, output_rows(parameters.attention));
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    kernels::encode_bf16_vec(encoder, execution.kernel, parameters, attention.tensors());
  };
  if (!execution.launch(encode)) return;
  attention.judge_output();
}

}  // namespace assay::harness

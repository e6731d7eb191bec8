#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "families/bf16_prefill/launch.h"
#include "families/bf16_vec/inputs.h"
#include "families/shared/dense_inputs.h"
#include "harness/run/attention_accuracy.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/fault_text.h"
#include "harness/run/guarded_buffer.h"
#include "harness/run/prefill_helpers.h"
#include "harness/run/strided_buffer.h"
#include "oracles/dense_attention.h"

namespace assay::harness {
namespace {

// The poison of outputs in every 16 bits of it, which no arithmetic makes a bfloat of.
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
  Attention(Execution& execution, const families::Bf16Parameters& p)
      : execution_(execution),
        request_(families::dense_request(execution.about)),
        data_(execution.kept.once([&] { return data_of(execution.about, execution.shelf, families::dense_inputs); })),
        accuracy_(attention_accuracy(execution.prepared.variant.accuracy, oracles::bfloat_format(), nsg_of(execution.about))),
        q_bits_(request_.q_is_bfloat ? bfloats(data_.inputs.q) : std::vector<std::uint16_t>()),
        q_(request_.q_is_bfloat ? std::as_bytes(std::span(q_bits_)) : std::as_bytes(std::span(data_.inputs.q)),
           {.batches = p.batches,
            .heads = p.n_heads,
            .rows = p.queries,
            .row_bytes = families::kBf16HeadDim * metal::size_of(p.q_element),
            .strides = p.q},
           "q"),
        k_(std::as_bytes(std::span(data_.inputs.k)), cache_layout(p, p.k), "k"),
        v_(std::as_bytes(std::span(data_.inputs.v)), cache_layout(p, p.v), "v"),
        // Two bfloats to a word.
        dst_(std::size_t{p.batches} * p.n_heads * p.queries * request_.shape.head_dim / 2, "dst") {
    if (!p.has_mask()) return;
    mask_.emplace(
        std::as_bytes(std::span(data_.inputs.mask)),
        StridedLayout{
            .batches = p.mask_batches, .heads = p.mask_heads, .rows = p.queries, .row_bytes = 2 * std::size_t{p.kv_len}, .strides = p.mask},
        "mask");
  }

  [[nodiscard]] const fixtures::DenseRequest& request() const { return request_; }
  [[nodiscard]] const fixtures::DenseInputs& inputs() const { return data_.inputs; }
  [[nodiscard]] families::Bf16Tensors tensors() {
    families::Bf16Tensors tensors = {{q_.get()}, {k_.get()}, {v_.get()}, {}, dst_.view()};
    if (mask_) tensors.mask = {mask_->get()};
    return tensors;
  }

  void judge_output() {
    Verdict& verdict = execution_.verdict;
    const oracles::Expected& expected =
        expected_of(execution_, [&] { return oracles::dense_attention(request_.shape, data_.inputs.tensors(), accuracy_); });
    verdict.row_length = request_.shape.head_dim;
    JudgeOptions judging = widened_for(accuracy_, execution_.judging);
    judging.constant_is_expected = sees_nothing();
    execution_.output = widened(dst_.values());
    const auto judge_by = [&](const oracles::Expected& by) {
      oracles::Expected allowed = by;
      // A bound that was stored knows nothing of what this variant declares.
      if (!execution_.prepared.weaker_storage.empty())
        std::ranges::transform(by.bound, expected.bound, allowed.bound.begin(), std::ranges::max);
      return judge(std::span<const float>(execution_.output), allowed, dst_.guards(), judging);
    };
    verdict.judgement = judge_by(expected);
    if (execution_.shadows) {
      execution_.shadowed = {.values = {execution_.output.begin(), execution_.output.end()},
                             .shadows = execution_.shadows(dst_.view(), execution_.output.size(), metal::FloatType::bfloat),
                             .expected = expected,
                             .exact = exact_of(execution_, [&] {
                               return oracles::dense_attention(request_.shape, data_.inputs.tensors(), without_conversions(accuracy_));
                             })};
    }
    if (data_.stored) judge_by_stored(verdict, *data_.stored, expected, judge_by);
    add_to_digest(verdict.digest, dst_.bytes());

    note_change(verdict, "q", q_.holds_still());
    note_change(verdict, "k", k_.holds_still());
    note_change(verdict, "v", v_.holds_still());
    if (mask_) note_change(verdict, "mask", mask_->holds_still());
  }

 private:
  // Whether the mask, ours or that of a file, hides every key from every query: then there is nothing but zeros to expect.
  [[nodiscard]] bool sees_nothing() const {
    return mask_ && std::ranges::none_of(data_.inputs.mask, [](auto bits) { return oracles::half_value(bits) > oracles::kInvisibleMask; });
  }
  static std::vector<std::uint16_t> bfloats(std::span<const float> values) {
    std::vector<std::uint16_t> bits;
    bits.reserve(values.size());
    for (const float value : values) bits.push_back(fixtures::bfloat_bits(static_cast<double>(value)));
    return bits;
  }
  // Rows behind the last key come with the data, but for room that is too large for that.
  [[nodiscard]] StridedLayout cache_layout(const families::Bf16Parameters& p, const families::RowStrides& strides) const {
    const std::size_t rows_behind = p.kv_len + static_cast<std::size_t>(execution_.about.at("kv_room")) - request_.shape.head_rows;
    return {.batches = p.batches,
            .heads = p.n_kv_heads,
            .rows = request_.shape.head_rows,
            .row_bytes = families::kBf16RowBytes,
            .strides = strides,
            .rows_behind = rows_behind,
            .is_sparse = rows_behind != 0};
  }

  Execution& execution_;
  fixtures::DenseRequest request_;
  const CaseData<fixtures::DenseInputs>& data_;
  oracles::AttentionAccuracy accuracy_;
  std::vector<std::uint16_t> q_bits_;
  StridedBuffer q_, k_, v_;
  std::optional<StridedBuffer> mask_;
  GuardedBuffer dst_;
};

// A wrong helper from the variant's own file is the variant's failure, said before the output that it spoiled. One that was lent says
// nothing about the variant, and the case is no verdict on it.
void settle_helper(Execution& execution, std::string_view family, const std::optional<Fault>& fault) {
  const std::string owner = execution.prepared.helper_owner(family);
  Verdict& verdict = execution.verdict;
  verdict.stages.push_back({.name = fmt::format("{} of {}", family.substr(family.find('_') + 1), owner),
                            .is_judged = true,
                            .passed = !fault,
                            .faults = fault ? std::vector{*fault} : std::vector<Fault>(),
                            .judgement = {}});
  if (!fault) return;
  if (owner != execution.prepared.variant.name)
    throw std::runtime_error(fmt::format("{0} has no {1} of its own, and the {1} of {2} that it uses is wrong: {3}",
                                         execution.prepared.variant.name, family, owner, text_of(fault->details)));
  verdict.faults.push_back(*fault);
}

}  // namespace

void execute_bf16_prefill(Execution& execution) {
  const families::Bf16Parameters parameters = families::dense_parameters(execution.about, metal::ScalarType::bfloat16);
  Attention attention(execution, parameters);
  metal::Buffer pad(families::is_ragged(parameters) ? families::bf16_pad_bytes(parameters) : 0, "pad");
  metal::Buffer blk(parameters.has_mask() ? families::bf16_blk_bytes(parameters) : 0, "blk");

  const kernels::FunctionKey pad_key = {"pad", families::bf16_pad_constants(parameters.has_mask())};
  const families::Bf16PrefillKernels kernels = {execution.kernel, execution.prepared.helper("bf16_pad", pad_key),
                                                execution.prepared.helper("bf16_blk", {"blk"})};
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    families::encode_bf16_prefill(encoder, kernels, parameters, {attention.tensors(), {&pad}, {&blk}});
  };
  if (!execution.launch(encode)) return;

  if (families::is_ragged(parameters))
    settle_helper(execution, "bf16_pad", find_pad_fault(attention.request(), attention.inputs(), pad.as<std::uint16_t>()));
  if (parameters.has_mask())
    settle_helper(execution, "bf16_blk", find_blk_fault(attention.request(), attention.inputs(), blk.as<std::uint8_t>()));
  attention.judge_output();
}

void execute_bf16_vec(Execution& execution) {
  const families::Bf16VecParameters parameters = families::vec_parameters(execution.about);
  Attention attention(execution, parameters.attention);
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    families::encode_bf16_vec(encoder, execution.kernel, parameters, attention.tensors());
  };
  if (!execution.launch(encode)) return;
  attention.judge_output();
}

}  // namespace assay::harness

// The job of decode attention: a query and a cache in, the output or NWG partial outputs per head out.
#include "families/shared/decode_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "families/described_launch.h"
#include "families/mistakes.h"
#include "families/shared/attention_accuracy.h"
#include "families/shared/omissions.h"
#include "families/shared/strided_rows.h"
#include "metal/guarded_memory.h"
#include "oracles/attention.h"
#include "oracles/partials.h"
#include "oracles/reduce.h"

namespace assay::families {
namespace {

constexpr const char* kIdleWorkgroup = "idle workgroup";
constexpr const char* kWrongMerge = "wrong merge";

// The largest maximum of a workgroup that saw no visible key: all visible scores of the oracle's domain are larger. A workgroup that saw
// hidden keys may leave their scores, which lie far below; the neutral maximum is lower still.
float largest_idle_maximum(bool hides_keys) { return hides_keys ? -std::numeric_limits<float>::max() / 4 : -65400.0F; }

// What a case and its kernel have to do with hidden keys.
struct HiddenKeys {
  bool lower_scores = false;  // a maximum below the usual mask value may be that of a key
  bool read = false;          // workgroups may have seen nothing but hidden keys, and leave a maximum of their scores
};

// The largest maximum with which a workgroup of sum 0 leaves the merge as it is. The merge weighs the others with exp(M - max M): up to
// this maximum, a weight is a normal float even with another 23 bits below it, so that S and O keep their bits.
float largest_harmless_maximum(const oracles::PartialsShape& shape, const BufferResult& partials, std::size_t head) {
  const std::span<const float> raw = partials.of();
  std::optional<float> largest;
  for (std::size_t workgroup = 0; workgroup < shape.nwg; ++workgroup) {
    const float maximum = raw[shape.max_index(head, workgroup)];
    if (raw[shape.sum_index(head, workgroup)] != 0.0F && std::isfinite(maximum)) largest = std::max(largest.value_or(maximum), maximum);
  }
  if (!largest) return std::numeric_limits<float>::max();  // no workgroup has a weight that could be lost
  return *largest + 103 * std::numbers::ln2_v<float>;      // exp(-103 ln 2) is the smallest normal float / epsilon
}

// A workgroup that saw no key must write exactly S = 0, M = -FLT_MAX/2, O = 0. Our merge hides other neutral values (such as M =
// -infinity) as long as another workgroup has keys, but other reduce kernels depend on the promise. Which workgroup sees which keys is up
// to the kernel, so what a workgroup left tells whether it saw any.
std::optional<BrokenPromise> find_broken_promise(const oracles::PartialsShape& shape, const BufferResult& partials, std::uint32_t kv_len,
                                                 const HiddenKeys& hidden) {
  const std::span<const float> raw = partials.of();
  constexpr float idle_maximum = -std::numeric_limits<float>::max() / 2;
  const auto broken = [&](std::size_t head, std::size_t workgroup, const char* part, std::size_t index, std::size_t coordinate = 0) {
    BrokenPromise found{kIdleWorkgroup,
                        {{"workgroup", workgroup}, {"head", head}, {"kv_len", kv_len}, {"part", part}, {"coordinate", coordinate}}};
    if (partials.written(index)) found.values.emplace("left", raw[index]);
    return found;
  };
  for (std::size_t head = 0; head < shape.rows; ++head) {
    for (std::size_t workgroup = 0; workgroup < shape.nwg; ++workgroup) {
      const std::size_t sum = shape.sum_index(head, workgroup);
      const std::size_t maximum = shape.max_index(head, workgroup);
      if (!partials.written(sum)) return broken(head, workgroup, "sum", sum);
      if (raw[sum] != 0.0F) {
        if (raw[maximum] <= largest_idle_maximum(hidden.lower_scores)) return broken(head, workgroup, "sum", sum);
        continue;
      }
      if (hidden.read) {
        const float limit = largest_harmless_maximum(shape, partials, head);
        if (!(std::isfinite(raw[maximum]) && raw[maximum] <= limit)) {
          BrokenPromise found = broken(head, workgroup, "maximum", maximum);
          found.values.emplace("limit", limit);
          return found;
        }
      } else if (!(raw[maximum] == idle_maximum)) {
        return broken(head, workgroup, "maximum", maximum);
      }
      for (std::size_t j = 0; j < shape.head_dim; ++j) {
        const std::size_t index = shape.output_index(head, workgroup, j);
        if (!(raw[index] == 0.0F)) return broken(head, workgroup, "output", index, j);
      }
    }
  }
  return std::nullopt;
}

std::string idle_text(const BrokenPromise& it) {
  const bool is_maximum = it.word("part") == "maximum";
  const bool is_sum = it.word("part") == "sum";
  const std::string part = is_maximum ? std::string("M") : is_sum ? std::string("S") : fmt::format("O[{}]", it.count("coordinate"));
  const std::string who = fmt::format("workgroup {} of head {}", it.count("workgroup"), it.count("head"));
  if (!it.has("left")) return fmt::format("{} must write {} even if it sees no key, but did not write it", who, part);
  if (it.has("limit"))
    return fmt::format("{} gave no key a weight (S = 0; kv_len {}) and must write a finite M of at most {}, but wrote {}", who,
                       it.count("kv_len"), static_cast<float>(it.number("limit")), static_cast<float>(it.number("left")));
  return fmt::format("{} saw no key ({}; kv_len {}) and must write {} = {}, but wrote {}", who,
                     is_sum ? "its M is below every score" : "S = 0", it.count("kv_len"), part, is_maximum ? "-FLT_MAX/2" : "0",
                     static_cast<float>(it.number("left")));
}

std::optional<PromiseMistake> idle_mistake(const BrokenPromise& it, bool is_output_right) {
  if (is_output_right && it.word("part") == "maximum")
    return PromiseMistake{mistake::kMaximum, "a workgroup without keys writes a maximum that differs from the contract"};
  if (!it.has("left")) return PromiseMistake{mistake::kNotWritten, "a required output is never written"};
  return std::nullopt;
}

// The partials are judged, merged in double, so that a wrong reduce kernel does not fail the attention kernel.
void judge_partials(Job& job, std::size_t partials, std::size_t dst, const oracles::PartialsShape& shape, std::uint32_t kv_len,
                    const HiddenKeys& hidden, const oracles::ArithmeticProfile& profile) {
  job.judged = {partials};
  job.output_unit = "word of the partials";
  job.read = [=](const Results& results) {
    const std::span<const float> raw = results.of(partials);
    return Reading{{raw.begin(), raw.end()}, oracles::merge_partials(shape, raw, metal::kPoisonWord).output};
  };
  // The merge contains no conversion of the contract, so the shadow of the output is the merge of the shadows.
  job.read_shadows = [=](const auto& shadows) {
    return oracles::merge_partials(shape, std::span<const double>(shadows(partials)), metal::kPoisonWord).output;
  };
  job.widen = [nwg = shape.nwg](oracles::Expected& expected) { oracles::widen_for_merge(expected, nwg); };
  job.find_broken_promises = [=](const Results& results) {
    const auto broken = find_broken_promise(shape, results.at(partials), kv_len, hidden);
    return broken ? std::vector<BrokenPromise>{*broken} : std::vector<BrokenPromise>();
  };
  job.later_stages = {
      {"reduce", kWrongMerge, dst, [=](const Results& results) { return oracles::reduce(shape, results.of(partials), profile); }}};
}

}  // namespace

std::vector<Promise> decode_promises() {
  return {{.id = kIdleWorkgroup,
           .fields = {{"workgroup"},
                      {"head"},
                      {"kv_len"},
                      {"part", ValueType::word},
                      {"coordinate"},
                      {"left", ValueType::number, true},
                      {"limit", ValueType::number, true}},
           .text = idle_text,
           .subject = "part",
           .mistake = idle_mistake},
          {.id = kWrongMerge, .fields = {}, .text = [](const BrokenPromise&) -> std::string {
             return "the output is not the merge of the stored partials";
           }}};
}

Job decode_job(const JobRequest& request, const DecodeFormat& format) {
  const DecodeParameters parameters = decode_parameters(request.test_case, format);
  const oracles::DecodeShape shape = decode_request(request.test_case, format).shape;
  const DecodeSplit split = decode_split(request.kernel, parameters);
  const auto inputs = std::make_shared<fixtures::DecodeInputs>(decode_inputs(request.test_case, format, request.source));
  if (request.variant.reads_hidden) make_hidden_rows_finite(shape, *inputs);

  Job job{.inputs = inputs, .row_length = parameters.head_dim};
  const auto add_cache = [&](std::string_view argument, std::span<const std::byte> bytes) {
    job.add(cache_buffer(argument, bytes, {shape.kv_heads, shape.kv_capacity, inputs->filled_slots}));
  };
  job.add(input_buffer("Q", std::as_bytes(std::span(inputs->q))));
  add_cache("K_packed", std::as_bytes(std::span(inputs->k_codes)));
  add_cache("K_norms", std::as_bytes(std::span(inputs->k_norms)));
  add_cache("V_packed", std::as_bytes(std::span(inputs->v_codes)));
  add_cache("V_norms", std::as_bytes(std::span(inputs->v_norms)));
  const oracles::PartialsShape partials_shape{parameters.n_heads, parameters.head_dim, split.nwg};
  std::optional<std::size_t> partials;
  if (split.nwg > 1) partials = job.add(output_buffer("partials", partials_shape.size() * sizeof(float)));
  const std::size_t dst = job.add(output_buffer("dst", shape.heads * shape.head_dim * sizeof(float)));

  job.passes = {launch_pass(request, job)};

  job.judged = {dst};
  const bool hides_keys =
      shape.mask_type == oracles::MaskType::sliding_window && shape.sliding_window > 0 && shape.sliding_window < shape.kv_len;
  const HiddenKeys hidden{.lower_scores = hides_keys || request.test_case.beyond == kBelowSentinelOmission,
                          .read = hides_keys && request.variant.reads_hidden};
  if (partials) judge_partials(job, *partials, dst, partials_shape, parameters.kv_seq_len, hidden, request.profile);
  const oracles::AttentionAccuracy accuracy =
      attention_accuracy(request.variant.accuracy, oracles::float_format(), format.nsg.value_or(1), request.profile);
  job.expect = [=] { return oracles::decode_attention(shape, inputs->q, inputs->cache(), accuracy); };
  job.expect_exact = [=] { return oracles::decode_attention(shape, inputs->q, inputs->cache(), without_conversions(accuracy)); };
  job.expectation_may_be_kept = true;
  job.informative_ratio = informative_ratio(accuracy);
  job.declared_loss = declared_loss(accuracy);
  job.outside_of_domain = [=]() -> std::optional<std::string> {
    const oracles::DomainReport domain = oracles::decode_domain(shape, inputs->q, inputs->cache());
    if (domain.inside) return std::nullopt;
    return fmt::format(
        "the inputs are outside of the domain of decode attention (oracles/DECODE.md): visible scores {} .. {}, masked scores up to {} "
        "above the largest visible one",
        domain.smallest_visible_score, domain.largest_visible_score, domain.largest_excess);
  };
  return job;
}

}  // namespace assay::families

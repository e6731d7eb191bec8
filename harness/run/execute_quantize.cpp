#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/code_bytes.h"
#include "families/quantize/inputs.h"
#include "families/quantize/rows.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "oracles/quantize.h"

namespace assay::harness {
namespace {

// Where things stand in the cache of a case.
struct CacheShape {
  std::size_t heads, capacity, slot, head_dim;
  int bits;

  explicit CacheShape(const families::QuantizeParameters& p)
      : heads(p.num_kv_heads),
        capacity(p.cache_capacity),
        slot(p.is_sliding ? p.write_pos % p.cache_capacity : p.write_pos),
        head_dim(p.head_dim),
        bits(static_cast<int>(p.codebook_bits)) {}

  [[nodiscard]] std::size_t row_bytes() const { return base::code_bytes(bits, head_dim); }
  [[nodiscard]] std::size_t blocks() const { return head_dim / 256; }
  // Of the slot that the kernel must write.
  [[nodiscard]] std::size_t first_byte(std::size_t head) const { return (head * capacity + slot) * row_bytes(); }
  [[nodiscard]] std::size_t first_norm(std::size_t head) const { return (head * capacity + slot) * blocks(); }
};

// A byte cannot hold NaN: only under two fills does one that was never written differ from one that was.
constexpr std::array kFills = {std::byte{0xa5}, std::byte{0x5a}};

// What one dispatch leaves in a cache that held nothing but `fill`, and poison in its norms.
struct Dispatch {
  metal::Buffer packed;
  GuardedBuffer norms, scratch;
  std::byte fill;

  Dispatch(const CacheShape& shape, std::byte filled)
      : packed(shape.heads * shape.capacity * shape.row_bytes() + 2 * kGuardBytes, "packed"),
        norms(shape.heads * shape.capacity * shape.blocks(), "norms"),
        scratch(shape.heads * shape.head_dim, "rms_scratch"),
        fill(filled) {
    std::ranges::fill(codes(), filled);
  }

  [[nodiscard]] std::span<std::byte> codes() { return packed.bytes().subspan(kGuardBytes, packed.size() - 2 * kGuardBytes); }
  [[nodiscard]] metal::BufferView codes_view() {
    return {.buffer = &packed, .offset = kGuardBytes, .limit = packed.size() - 2 * kGuardBytes};
  }
  void add_guards(std::vector<std::uint32_t>& words) const {
    const auto add = [&](std::span<const std::uint32_t> more) { words.insert(words.end(), more.begin(), more.end()); };
    const std::span<const std::uint32_t> of_packed = packed.as<std::uint32_t>();
    add(of_packed.first(kGuardBytes / 4));
    add(of_packed.last(kGuardBytes / 4));
    for (const GuardBands& bands : {norms.guards(), scratch.guards()}) {
      add(bands.before);
      add(bands.after);
    }
  }

  static constexpr std::size_t kGuardBytes = 4096;
};

bool is_poison(float value) { return std::bit_cast<std::uint32_t>(value) == metal::kPoisonWord; }

// The first thing written outside of the slot that the case is about; nothing if there is none.
std::optional<fault::StraySlot> find_stray_write(const CacheShape& shape, Dispatch& dispatch) {
  const auto stray = [&](SlotPart part, std::size_t index, std::size_t per_slot) {
    return fault::StraySlot{part, index / per_slot % shape.capacity, index / per_slot / shape.capacity, shape.slot};
  };
  const std::span<const std::byte> codes = dispatch.codes();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] != dispatch.fill && i / shape.row_bytes() % shape.capacity != shape.slot)
      return stray(SlotPart::indices, i, shape.row_bytes());
  }
  const std::span<const float> norms = dispatch.norms.values();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (!is_poison(norms[i]) && i / shape.blocks() % shape.capacity != shape.slot) return stray(SlotPart::norm, i, shape.blocks());
  }
  return std::nullopt;
}

struct Indices {
  std::vector<float> values;                  // [G, D]; poison where nothing was written
  std::optional<fault::OldCache> dependence;  // the first byte that is a function of what it held before
};

// The slot's indices, from what two dispatches left in caches of different fills.
Indices read_indices(const CacheShape& shape, std::span<const std::byte> first, std::span<const std::byte> second) {
  Indices indices;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    for (std::size_t i = 0; i < shape.row_bytes(); ++i) {
      const std::size_t place = shape.first_byte(head) + i;
      const bool is_written = first[place] != kFills[0] || second[place] != kFills[1];
      if (is_written && first[place] != second[place] && !indices.dependence) {
        const auto number = [](std::byte byte) { return std::to_integer<std::uint64_t>(byte); };
        indices.dependence = {i, head, number(first[place]), number(kFills[0]), number(second[place]), number(kFills[1])};
      }
      const auto byte = std::to_integer<unsigned>(first[place]);
      const auto add = [&](unsigned index) {
        indices.values.push_back(is_written ? static_cast<float>(index) : std::bit_cast<float>(metal::kPoisonWord));
      };
      if (shape.bits == 4) {
        add(byte & 0xfU);
        add(byte >> 4U);
      } else {
        add(byte);
      }
    }
  }
  return indices;
}

template <typename Float>
std::vector<Float> read_norms(const CacheShape& shape, std::span<const Float> norms) {
  std::vector<Float> values;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::span<const Float> of_slot = norms.subspan(shape.first_norm(head), shape.blocks());
    values.insert(values.end(), of_slot.begin(), of_slot.end());
  }
  return values;
}

// Norms and quantiser inputs beside their shadows. An index is no rounded number: whichever of its neighbours it should be is the judge's
// business, and there is nothing between them that rounding could have moved it by.
ShadowedOutput shadowed_rows(const Execution& execution, const families::QuantizedRows& rows, const CacheShape& shape, Dispatch& dispatch,
                             const oracles::Expected& expected) {
  ShadowedOutput output{
      .values = {execution.output.begin(), execution.output.end()}, .shadows = {}, .expected = expected, .exact = expected};
  const auto shadows_of = [&](GuardedBuffer& buffer) {
    return execution.shadows(buffer.view(), buffer.values().size(), metal::FloatType::float32);
  };
  const std::vector<double> norms = shadows_of(dispatch.norms);
  const std::vector<double> inputs = rows.has_inputs ? shadows_of(dispatch.scratch) : std::vector<double>();
  const std::vector<double> indices(shape.heads * shape.head_dim);
  output.shadows = families::actual_rows(rows, indices, read_norms<double>(shape, norms), inputs);
  for (std::size_t i = 0; i < output.values.size(); ++i) output.is_discrete.push_back(rows.is_index(i % rows.length()));
  return output;
}

}  // namespace

void execute_quantize(Execution& execution) {
  Verdict& verdict = execution.verdict;
  families::QuantizeParameters parameters = families::quantize_parameters(execution.about);
  parameters.offset_bits = execution.prepared.variant.offset_bits;
  const CacheShape shape(parameters);
  const families::QuantizedRows rows = families::quantized_rows(execution.about);

  const CaseData<std::vector<float>>& source =
      execution.kept.once([&] { return data_of(execution.about, execution.shelf, families::quantize_inputs); });

  GuardedBuffer src(source.inputs.size(), "src");
  std::ranges::copy(source.inputs, src.values().begin());
  Dispatch first(shape, kFills[0]);
  Dispatch second(shape, kFills[1]);
  for (Dispatch* dispatch : {&first, &second}) {
    families::QuantizeBuffers buffers{src.view(), dispatch->codes_view(), dispatch->norms.view(), {}};
    if (parameters.rms_probe_enabled) buffers.rms_scratch = dispatch->scratch.view();
    const auto encode = [&](metal::ComputeEncoder& encoder) { families::encode_quantize(encoder, execution.kernel, parameters, buffers); };
    if (!execution.launch(encode)) return;
  }

  const std::size_t sum_depth = execution.prepared.variant.accuracy.dot_depth.value_or(0);
  const oracles::Expected& expected = expected_of(execution, [&] {
    return families::expected_rows(rows, oracles::quantize(families::quantize_request(execution.about).shape(), source.inputs, sum_depth),
                                   shape.bits);
  });
  const Indices indices = read_indices(shape, first.codes(), second.codes());
  if (indices.dependence) verdict.faults.emplace_back(*indices.dependence);
  std::vector<std::uint32_t> guards;
  for (Dispatch* dispatch : {&first, &second}) {
    dispatch->add_guards(guards);
    if (const auto stray = find_stray_write(shape, *dispatch)) {
      verdict.faults.emplace_back(*stray);
      break;
    }
  }

  verdict.row_length = rows.length();
  const std::span<const float> probed = rows.has_inputs ? first.scratch.values() : std::span<const float>();
  execution.output = families::actual_rows(rows, indices.values, read_norms<float>(shape, first.norms.values()), probed);
  const auto judge_by = [&](const oracles::Expected& by) { return judge(execution.output, by, {guards, {}}, execution.judging); };
  verdict.judgement = judge_by(expected);
  if (execution.shadows) execution.shadowed = shadowed_rows(execution, rows, shape, first, expected);
  if (!verdict.judgement.worst.empty() && verdict.judgement.worst.front().fault != ElementFault::none) {
    const std::size_t worst = verdict.judgement.worst.front().index;
    verdict.note = fmt::format("the worst element is the {} of head {}", rows.describe(worst % rows.length()), worst / rows.length());
  }
  if (source.stored) judge_by_stored(verdict, *source.stored, expected, judge_by);
  add_to_digest(verdict.digest, first.codes());
  add_to_digest(verdict.digest, std::as_bytes(first.norms.values()));
  add_to_digest(verdict.digest, std::as_bytes(probed));
  note_change(verdict, "src", std::ranges::equal(std::as_bytes(src.values()), std::as_bytes(std::span(source.inputs))));
}

}  // namespace assay::harness

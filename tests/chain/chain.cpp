// Sets up the stages of a chain, executes them and judges each.
// Long because every stage of a chain is set up, executed and judged in its own way.
#include "tests/chain/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/code_bytes.h"
#include "families/quantize/launch.h"
#include "families/quantize/rows.h"
#include "families/reduce/launch.h"
#include "families/registry.h"
#include "families/shared/attention_accuracy.h"
#include "families/shared/decode_launch.h"
#include "families/tqhb/contract.h"
#include "fixtures/counter.h"
#include "harness/findings/fault_text.h"
#include "harness/findings/verdict.h"
#include "harness/judge/judge.h"
#include "harness/prepare/discovery.h"
#include "harness/prepare/libraries.h"
#include "kernels/contract.h"
#include "kernels/variant.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "oracles/attention.h"
#include "oracles/codebook.h"
#include "oracles/codebook_theory.h"
#include "oracles/fwht.h"
#include "oracles/partials.h"
#include "oracles/quantize.h"
#include "oracles/reduce.h"
#include "oracles/source_attention.h"
#include "tests/chain/guarded_buffer.h"

namespace assay::tests {
namespace {

using fixtures::Counter;
using fixtures::Stream;
using harness::Judgement;

std::string what_is_wrong(const Judgement& judgement) {
  std::vector<harness::Fault> faults = harness::faults_of(judgement);
  if (judgement.mistrusted) faults.emplace_back(harness::fault_of(*judgement.mistrusted));
  return harness::reason_of(faults);
}

// A function of one of our variants, bound; and the library that it is from.
struct Kernel {
  kernels::Variant variant;
  std::shared_ptr<metal::Library> library;
  kernels::BoundKernel bound;
};

// Each is compiled once a process.
const Kernel& find_kernel(const std::string& variant_name, const std::string& entry,
                          const std::map<std::uint32_t, metal::FunctionConstant>& constants = {}) {
  static std::map<std::string, std::unique_ptr<Kernel>> kernels_by_name;
  static std::map<std::string, std::shared_ptr<metal::Library>> libraries;
  static const std::vector<kernels::Variant> catalogue =
      kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  auto& kernel = kernels_by_name[variant_name + "/" + to_string(kernels::FunctionKey{entry, constants})];
  if (kernel) return *kernel;
  const auto variant = std::ranges::find(catalogue, variant_name, &kernels::Variant::name);
  if (variant == catalogue.end()) throw std::invalid_argument(fmt::format("no variant '{}'", variant_name));
  auto& library = libraries[variant_name];
  if (!library) library = metal::Library::from_files(variant->translation_unit(), harness::compile_options(*variant));
  kernels::BoundKernel bound =
      harness::bind_function(families::contract(variant->family), *variant, *library, variant->function(entry), {entry, constants});
  kernel = std::make_unique<Kernel>(Kernel{*variant, library, std::move(bound)});
  return *kernel;
}

// What is true of the tokens and the query, none of it rotated; all from the seed.
class Source {
 public:
  explicit Source(const ChainPlan& plan)
      : plan_(plan),
        keys_(rows(Stream::key, plan.tokens * plan.kv_heads)),
        values_(rows(Stream::value, plan.tokens * plan.kv_heads)),
        query_(rows(Stream::query, plan.heads)) {}

  // [G, D] of one token.
  [[nodiscard]] std::span<const float> key(std::size_t token) const { return of(keys_, token); }
  [[nodiscard]] std::span<const float> value(std::size_t token) const { return of(values_, token); }
  // [H, D]
  [[nodiscard]] std::span<const float> query() const { return query_; }

 private:
  [[nodiscard]] std::span<const float> of(const std::vector<float>& rows, std::size_t token) const {
    const std::size_t length = plan_.kv_heads * plan_.head_dim;
    return std::span(rows).subspan(token * length, length);
  }
  // Rows that the rotation makes independent normals of, each of a size of its own; the second block of 256 twice as large as the
  // first, so that a norm of the other block is a wrong one.
  [[nodiscard]] std::vector<float> rows(Stream stream, std::size_t count) const {
    const Counter counter(plan_.seed, stream);
    const Counter sizes(plan_.seed, Stream::noise);
    std::vector<double> rotated(count * plan_.head_dim);
    for (std::size_t i = 0; i < rotated.size(); ++i) {
      const double size = 0.7 + 0.6 * sizes.uniform(i / plan_.head_dim);
      rotated[i] = size * (i % plan_.head_dim < 256 ? 1.0 : 2.0) * counter.normal(i);
    }
    oracles::fwht_in_place(rotated, plan_.head_dim, oracles::FwhtMode::signs_last);
    return {rotated.begin(), rotated.end()};
  }

  ChainPlan plan_;
  std::vector<float> keys_, values_, query_;
};

// Keys or values in the ring, as the device has them.
struct RingSide {
  metal::Buffer codes, norms;

  RingSide(const ChainPlan& plan, const std::string& side)
      : codes(plan.kv_heads * plan.capacity * row_bytes(plan), side + "_packed"),
        norms(plan.kv_heads * plan.capacity * blocks(plan) * sizeof(float), side + "_norms") {}

  static std::size_t row_bytes(const ChainPlan& plan) { return base::code_bytes(plan.bits, plan.head_dim); }
  static std::size_t blocks(const ChainPlan& plan) { return plan.head_dim / 256; }
};

template <typename T>
std::vector<T> copy_of(const metal::Buffer& buffer) {
  const std::span<const T> contents = buffer.as<T>();
  return {contents.begin(), contents.end()};
}

// The first byte that differs outside of the slot; `per_slot` bytes of each of the capacity's slots, head after head.
std::string find_stray_write(std::span<const std::byte> before, std::span<const std::byte> after, std::size_t per_slot,
                             std::size_t capacity, std::size_t slot) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i] && i / per_slot % capacity != slot)
      return fmt::format("slot {} was written in place of slot {}", i / per_slot % capacity, slot);
  }
  return {};
}

class Chain {
 public:
  Chain(const ChainPlan& plan, const ChainMistakes& mistakes) : plan_(plan), mistakes_(mistakes), source_(plan) {
    if (plan.nwg < 2 || (plan.bits == 4 && (plan.nsg != 1 || plan.fused))) {
      throw std::invalid_argument(fmt::format("no chain with {} bits, nwg {}, nsg {}", plan.bits, plan.nwg, plan.nsg));
    }
    for (const Kernel* kernel : {&quantizer(), &rotation(), &attention(), &reduction(), &undoing()}) libraries_.push_back(kernel->library);
    simulator_ = std::make_unique<metal::Simulator>(libraries_);
  }

  ChainResult run() && {
    fill_ring();
    const std::vector<float> query = rotate();
    result_.attended = attend(query);
    const std::vector<float> output = undo(result_.attended);
    for (const metal::Hazard& hazard : simulator_->hazards()) result_.hazards.push_back(harness::hazard_text(hazard));
    judge_whole(output);
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint32_t dim() const { return static_cast<std::uint32_t>(plan_.head_dim); }
  [[nodiscard]] std::string dim_key() const { return fmt::format("d{}", plan_.head_dim); }
  [[nodiscard]] std::string mode_key(families::FwhtMode mode) const {
    using enum families::FwhtMode;
    return fmt::format("{}_{}", mode == standalone ? "standalone" : mode == premult ? "premult" : "undo", dim_key());
  }
  [[nodiscard]] int attention_bits() const { return mistakes_.attention_bits.value_or(plan_.bits); }

  [[nodiscard]] const Kernel& quantizer() const {
    return plan_.bits == 4 ? find_kernel("quantize4_v1", "fast_" + dim_key()) : find_kernel("quantizehb_v1", "hb_" + dim_key());
  }
  [[nodiscard]] const Kernel& attention() const {
    if (plan_.bits == 4) return find_kernel("tq4_v2", dim_key());
    return find_kernel("tqhb_v2", dim_key(), {{families::kCodebookConstant, std::int64_t{attention_bits()}}});
  }
  [[nodiscard]] const Kernel& reduction() const { return find_kernel("reduce_v1", dim_key()); }
  [[nodiscard]] const Kernel& rotation() const { return find_kernel("fwht_v1", mode_key(mistakes_.rotation)); }
  [[nodiscard]] const Kernel& undoing() const { return find_kernel("fwht_v1", mode_key(mistakes_.undoing)); }

  [[nodiscard]] oracles::DecodeShape shape() const {
    return {.heads = plan_.heads,
            .kv_heads = plan_.kv_heads,
            .head_dim = plan_.head_dim,
            .kv_len = plan_.kv_len(),
            .kv_capacity = plan_.capacity,
            .ring_start = plan_.ring_start(),
            .mask_type = plan_.window > 0 ? oracles::MaskType::sliding_window : oracles::MaskType::none,
            .sliding_window = plan_.window,
            .scale = 1.0F / std::sqrt(static_cast<float>(plan_.head_dim)) / static_cast<float>(plan_.head_dim / 256),
            .fused_rotation = plan_.fused};
  }

  ChainStage& stage(std::string_view name) {
    const auto found = std::ranges::find(result_.stages, name, &ChainStage::name);
    return found == result_.stages.end() ? result_.stages.emplace_back(ChainStage{.name = std::string(name)}) : *found;
  }
  void conclude(std::string_view name, const Judgement& judgement, const std::string& fault = {}) {
    ChainStage& of = stage(name);
    ++of.dispatches;
    of.largest_ratio = std::max(of.largest_ratio, judgement.max_ratio);
    if ((judgement.passed() && fault.empty()) || !of.passed) return;
    of.passed = false;
    of.reason = !fault.empty() ? fault : what_is_wrong(judgement);
  }

  // Kept to the end: an encoder remembers what was bound last.
  GuardedBuffer& make_buffer(std::size_t count, std::string label) { return buffers_.emplace_back(count, std::move(label)); }

  void fill_ring() {
    for (std::size_t token = 0; token < plan_.tokens; ++token) {
      quantise(token, source_.key(token), keys_);
      // The first token has none before it.
      quantise(token, source_.value(mistakes_.values_are_late && token > 0 ? token - 1 : token), values_);
    }
  }

  void quantise(std::size_t token, std::span<const float> row, RingSide& side) {
    const auto codes_before = copy_of<std::byte>(side.codes);
    const auto norms_before = copy_of<std::byte>(side.norms);
    std::ranges::copy(row, token_.as<float>().begin());
    const families::QuantizeParameters parameters{.head_dim = dim(),
                                                  .num_kv_heads = static_cast<std::uint32_t>(plan_.kv_heads),
                                                  .write_pos = static_cast<std::uint32_t>(token + mistakes_.write_shift),
                                                  .cache_capacity = static_cast<std::uint32_t>(plan_.capacity),
                                                  .is_sliding = true,
                                                  .codebook_bits = static_cast<std::uint32_t>(plan_.bits)};
    families::encode_quantize(*simulator_, quantizer().bound, parameters, {{&token_}, {&side.codes}, {&side.norms}, {}});

    const std::size_t slot = token % plan_.capacity;
    const std::size_t row_bytes = RingSide::row_bytes(plan_);
    const std::size_t blocks = RingSide::blocks(plan_);
    std::string fault = find_stray_write(codes_before, side.codes.bytes(), row_bytes, plan_.capacity, slot);
    if (fault.empty()) fault = find_stray_write(norms_before, side.norms.bytes(), blocks * sizeof(float), plan_.capacity, slot);

    std::vector<float> indices, norms;
    const std::span<const std::uint8_t> codes = side.codes.as<std::uint8_t>();
    const std::span<const float> all_norms = side.norms.as<float>();
    for (std::size_t head = 0; head < plan_.kv_heads; ++head) {
      const std::size_t position = head * plan_.capacity + slot;
      for (const std::uint8_t byte : codes.subspan(position * row_bytes, row_bytes)) {
        indices.push_back(static_cast<float>(plan_.bits == 4 ? byte & 0xfU : byte));
        if (plan_.bits == 4) indices.push_back(static_cast<float>(byte >> 4U));
      }
      const std::span<const float> of_slot = all_norms.subspan(position * blocks, blocks);
      norms.insert(norms.end(), of_slot.begin(), of_slot.end());
    }
    const families::QuantizedRows rows{plan_.head_dim};
    const oracles::QuantizedToken token_oracle = oracles::quantize({plan_.kv_heads, plan_.head_dim, plan_.bits, 1.0F}, row);
    conclude("quantise",
             harness::judge(families::actual_rows(rows, indices, norms, {}), families::expected_rows(rows, token_oracle, plan_.bits)),
             fault);
  }

  // The query as attention gets it.
  std::vector<float> rotate() {
    std::vector<float> query(source_.query().begin(), source_.query().end());
    if (plan_.fused) return query;
    return transform("rotate", rotation(), std::move(query), oracles::FwhtMode::signs_first);
  }
  std::vector<float> undo(std::vector<float> output) {
    return transform("undo", undoing(), std::move(output), oracles::FwhtMode::signs_last);
  }

  // What a transform of the rows gives, judged as the one that it should be.
  std::vector<float> transform(std::string_view name, const Kernel& kernel, std::vector<float> rows, oracles::FwhtMode should_be) {
    GuardedBuffer& data = make_buffer(rows.size(), "data");
    std::ranges::copy(rows, data.values().begin());
    families::encode_fwht(*simulator_, kernel.bound, {.head_dim = dim(), .num_heads = static_cast<std::uint32_t>(plan_.heads)},
                          data.view());
    conclude(name, harness::judge(data.values(), oracles::fwht(rows, plan_.head_dim, should_be), data.guards()));
    std::ranges::copy(data.values(), rows.begin());
    return rows;
  }

  std::vector<float> attend(const std::vector<float>& query) {
    // The bits that the stage before stored: a mistake of the host behind it must not reach the oracle.
    const auto k_codes = copy_of<std::uint8_t>(keys_.codes);
    const auto v_codes = copy_of<std::uint8_t>(values_.codes);
    const auto k_norms = copy_of<float>(keys_.norms);
    const auto v_norms = copy_of<float>(values_.norms);
    if (mistakes_.swaps_block_norms) {
      const std::span<float> norms = keys_.norms.as<float>();
      for (std::size_t i = 0; i + 1 < norms.size(); i += 2) std::swap(norms[i], norms[i + 1]);
    }

    GuardedBuffer& q = make_buffer(query.size(), "Q");
    std::ranges::copy(query, q.values().begin());
    GuardedBuffer& dst = make_buffer(plan_.heads * plan_.head_dim, "dst");
    const oracles::PartialsShape partials_shape{plan_.heads, plan_.head_dim, plan_.nwg};
    GuardedBuffer& partials = make_buffer(partials_shape.size(), "partials");
    families::DecodeParameters parameters;
    parameters.n_heads = static_cast<std::uint32_t>(plan_.heads);
    parameters.n_kv_heads = static_cast<std::uint32_t>(plan_.kv_heads);
    parameters.head_dim = dim();
    parameters.kv_seq_len = static_cast<std::uint32_t>(plan_.kv_len());
    parameters.kv_capacity = static_cast<std::uint32_t>(plan_.capacity);
    parameters.scale = shape().scale;
    parameters.mask_type = static_cast<std::uint32_t>(shape().mask_type);
    parameters.sliding_window = static_cast<std::uint32_t>(plan_.window);
    parameters.ring_start = static_cast<std::uint32_t>((plan_.ring_start() + mistakes_.ring_shift) % plan_.capacity);
    parameters.nwg = plan_.nwg;
    parameters.nsg = plan_.nsg;
    parameters.codebook_bits = static_cast<std::uint32_t>(attention_bits());
    parameters.scale_factor_d512 = 1.0F;
    parameters.fuse_fwht_pre = plan_.fused;
    families::encode_decode(*simulator_, attention().bound, &reduction().bound, parameters,
                            {q.view(), {&keys_.codes}, {&keys_.norms}, {&values_.codes}, {&values_.norms}, dst.view(), partials.view()});

    const oracles::TurboQuantCache cache{plan_.bits, oracles::NormLayout::one_per_block, 1.0F, k_codes, v_codes, k_norms, v_norms};
    const oracles::AttentionAccuracy accuracy =
        families::attention_accuracy(attention().variant.accuracy, oracles::float_format(), plan_.nsg);
    oracles::Expected expected = oracles::decode_attention(shape(), query, cache, accuracy);
    oracles::widen_for_merge(expected, plan_.nwg);
    const oracles::MergedPartials merged = oracles::merge_partials(partials_shape, partials.values(), metal::kPoisonWord);
    conclude("attend", harness::judge(std::span<const double>(merged.output), expected, partials.guards()));
    conclude("reduce", harness::judge(dst.values(), oracles::reduce(partials_shape, partials.values()), dst.guards()));
    return {dst.values().begin(), dst.values().end()};
  }

  void judge_whole(const std::vector<float>& output) {
    oracles::DecodeShape of = shape();
    std::vector<double> query(source_.query().begin(), source_.query().end());
    std::vector<double> keys(plan_.kv_heads * plan_.capacity * plan_.head_dim);
    std::vector<double> values(keys.size());
    for (std::size_t token = plan_.tokens - plan_.kv_len(); token < plan_.tokens; ++token) {
      for (std::size_t head = 0; head < plan_.kv_heads; ++head) {
        const std::size_t place = (head * plan_.capacity + token % plan_.capacity) * plan_.head_dim;
        const auto put = [&](std::span<const float> rows, std::vector<double>& into) {
          std::ranges::copy(rows.subspan(head * plan_.head_dim, plan_.head_dim), into.begin() + static_cast<std::ptrdiff_t>(place));
        };
        put(source_.key(token), keys);
        put(source_.value(token), values);
      }
    }
    // Nothing rotated here: a rotation that is wrong in kernels and oracles alike would show.
    const std::vector<double> exact = oracles::source_attention(of, {query, keys, values});
    const std::vector<double> actual(output.begin(), output.end());
    result_.similarity = harness::compare_rows(exact, actual, plan_.head_dim);

    // Norms belong to blocks of the rotated row.
    for (std::vector<double>* rows : {&query, &keys, &values}) {
      oracles::fwht_in_place(*rows, plan_.head_dim, oracles::FwhtMode::signs_first);
    }
    const std::span<const float> table = oracles::codebook(plan_.bits);
    const oracles::StorageModel model{oracles::mean_squared_error(std::vector<double>(table.begin(), table.end())), 256};
    const std::vector<double> bounds = oracles::storage_error_bound(of, {query, keys, values}, model);
    const std::vector<double> expected = oracles::expected_storage_error(of, {query, keys, values}, model);
    double expected_square = 0.0;
    double exact_square = 0.0;
    for (std::size_t head = 0; head < plan_.heads; ++head) {
      double square = 0.0;
      for (std::size_t i = head * plan_.head_dim; i < (head + 1) * plan_.head_dim; ++i) {
        square += (actual[i] - exact[i]) * (actual[i] - exact[i]);
        exact_square += exact[i] * exact[i];
      }
      const double ratio = std::sqrt(square) / bounds[head];
      // What is not a number is above every bound.
      result_.largest_whole_ratio =
          std::max(result_.largest_whole_ratio, std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio);
      expected_square += expected[head] * expected[head];
    }
    result_.expected_nrmse = std::sqrt(expected_square / exact_square);
  }

  ChainPlan plan_;
  ChainMistakes mistakes_;
  Source source_;
  RingSide keys_{plan_, "K"}, values_{plan_, "V"};
  metal::Buffer token_{plan_.kv_heads * plan_.head_dim * sizeof(float), "src"};  // [G, D], the one that is quantised
  std::deque<GuardedBuffer> buffers_;
  std::vector<std::shared_ptr<metal::Library>> libraries_;
  std::unique_ptr<metal::Simulator> simulator_;
  ChainResult result_;
};

}  // namespace

void PrintTo(const ChainPlan& plan, std::ostream* stream) {
  *stream << fmt::format("bits {} d{} h{}x{} ring {} tokens {} window {} nwg {} nsg {} fused {}", plan.bits, plan.head_dim, plan.heads,
                         plan.kv_heads, plan.capacity, plan.tokens, plan.window, plan.nwg, plan.nsg, plan.fused);
}

std::vector<std::string> ChainResult::failures() const {
  std::vector<std::string> names;
  for (const ChainStage& stage : stages) {
    if (!stage.passed) names.push_back(stage.name);
  }
  if (!whole_passed()) names.emplace_back("whole");
  return names;
}

ChainResult run_chain(const ChainPlan& plan, const ChainMistakes& mistakes) { return Chain(plan, mistakes).run(); }

}  // namespace assay::tests

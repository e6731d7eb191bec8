#include "harness/run/case_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/cases/file_case.h"
#include "harness/run/file_contents.h"
#include "harness/run/file_families.h"

namespace assay::harness {
namespace {

StoredExpectation stored_expectation(const std::filesystem::path& file, std::span<const fixtures::Tensor> expectation) {
  return {file, {expectation[0].values<double>(), expectation[1].values<double>(), {}}};
}

// Makes the inputs with `make(fixture)` or reads and converts them with `convert(file, tensors)`.
template <typename Inputs, typename Make, typename Convert>
CaseData<Inputs> data_of(const Case& about, const fixtures::Shelf& shelf, const Make& make, const Convert& convert) {
  const std::optional<std::string_view> stem = file_stem(about.fixture);
  if (!stem) return {make(fixtures::find_fixture(about.fixture)), std::nullopt};
  const std::filesystem::path file = shelf.find(*stem);
  const LoadedFile loaded = load_file(file);
  require_agreement(about, file, loaded.about);
  CaseData<Inputs> data{convert(file, loaded.inputs), std::nullopt};
  if (!loaded.expectation.empty()) data.stored = stored_expectation(file, loaded.expectation);
  return data;
}

// Families whose kernels know one head dimension have no axis for it.
std::size_t head_dim_of(const Case& about) {
  constexpr std::size_t only = 512;
  return about.family->has_axis("head_dim") ? static_cast<std::size_t>(about.at("head_dim")) : only;
}

std::size_t size_at(const Case& about, std::string_view axis) { return static_cast<std::size_t>(about.at(axis)); }

}  // namespace

float score_scale(const Case& about) {
  const std::int64_t scale = about.at("scale");
  if (scale == families::kScaleOne) return 1.0F;
  if (scale == families::kScaleInverseRoot) return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim_of(about))));
  return std::bit_cast<float>(static_cast<std::uint32_t>(scale));
}

float scale_factor_d512(const Case& about) {
  const std::int64_t factor = about.at("scale_factor_d512");
  if (factor == families::kScaleFactorRoot) return static_cast<float>(std::sqrt(512.0));
  if (factor <= families::kScaleFactorWhole) return static_cast<float>(factor);
  return std::bit_cast<float>(static_cast<std::uint32_t>(factor));
}

fixtures::DecodeRequest decode_request(const Case& about) {
  fixtures::DecodeRequest request;
  request.shape.heads = size_at(about, "n_heads");
  request.shape.kv_heads = size_at(about, "n_kv_heads");
  request.shape.head_dim = size_at(about, "head_dim");
  request.shape.kv_len = size_at(about, "kv_len");
  request.shape.kv_capacity = size_at(about, "kv_capacity");
  request.shape.ring_start = size_at(about, "ring_start");
  request.shape.mask_type = static_cast<oracles::MaskType>(about.at("mask_type"));
  request.shape.sliding_window = size_at(about, "sliding_window");
  request.shape.scale = score_scale(about);
  const bool is_tqhb = about.family->name() == "tqhb";
  if (is_tqhb || about.at("block_norms") != 0) {
    request.norm_layout = oracles::NormLayout::one_per_block;
    request.scale_factor_d512 = scale_factor_d512(about);
  }
  if (is_tqhb) {
    request.bits = static_cast<int>(about.at("codebook_bits"));
    request.shape.fused_rotation = about.at("fuse_fwht_pre") != 0;
  }
  request.seed = about.seed;
  return request;
}

fixtures::ReduceRequest reduce_request(const Case& about) {
  return {{size_at(about, "nrows"), size_at(about, "head_dim"), size_at(about, "nwg")}, about.seed};
}

fixtures::FwhtRequest fwht_request(const Case& about) { return {size_at(about, "num_heads"), size_at(about, "head_dim"), about.seed}; }

fixtures::QuantizeRequest quantize_request(const Case& about) {
  return {.kv_heads = size_at(about, "num_kv_heads"),
          .head_dim = size_at(about, "head_dim"),
          .bits = static_cast<int>(about.at("bits")),
          .scale_factor_d512 = scale_factor_d512(about),
          .seed = about.seed};
}

fixtures::DequantizeRequest dequantize_request(const Case& about) {
  return {.kv_heads = size_at(about, "num_kv_heads"),
          .head_dim = size_at(about, "head_dim"),
          .kv_capacity = size_at(about, "cache_capacity"),
          .position = size_at(about, "read_pos"),
          .bits = static_cast<int>(about.at("bits")),
          .scale_factor_d512 = scale_factor_d512(about),
          .seed = about.seed};
}

fixtures::DenseRequest dense_request(const Case& about) {
  fixtures::DenseRequest request;
  oracles::DenseShape& shape = request.shape;
  shape.batches = size_at(about, "batches");
  shape.heads = size_at(about, "n_heads");
  shape.kv_heads = size_at(about, "n_kv_heads");
  shape.queries = size_at(about, "queries");
  shape.kv_len = size_at(about, "kv_len");
  // Room of gigabytes is no data: the device has it, and nobody writes to it.
  shape.head_rows = shape.kv_len + (about.fixture == "huge" ? 0 : size_at(about, "kv_room"));
  shape.head_dim = head_dim_of(about);
  request.mask = static_cast<fixtures::DenseMask>(about.at("mask_type"));
  if (request.mask != fixtures::DenseMask::none) {
    shape.mask_heads = size_at(about, "mask_heads");
    shape.mask_batches = size_at(about, "mask_batches");
  }
  shape.scale = score_scale(about);
  request.window = size_at(about, "sliding_window");
  request.hides_with_lowest = about.at("hides_lowest") != 0;
  request.q_is_bfloat = about.family->name() == "bf16_prefill";
  request.seed = about.seed;
  return request;
}

oracles::FwhtMode fwht_mode(const Case& about) {
  switch (about.at("mode")) {
    case 1:
      return oracles::FwhtMode::signs_first;
    case 2:
      return oracles::FwhtMode::signs_last;
    default:
      return oracles::FwhtMode::plain;
  }
}

QuantizedRows quantized_rows(const Case& about) { return {size_at(about, "head_dim"), about.at("rms_probe") != 0}; }

CaseData<fixtures::DecodeInputs> decode_data(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::DecodeRequest request = decode_request(about);
  return data_of<fixtures::DecodeInputs>(
      about, shelf, [&](const fixtures::Fixture& fixture) { return fixture.decode(request); },
      [&](const auto& file, const auto& tensors) { return fixtures::decode_inputs(file, request, tensors); });
}

CaseData<std::vector<float>> reduce_data(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::ReduceRequest request = reduce_request(about);
  return data_of<std::vector<float>>(
      about, shelf, [&](const fixtures::Fixture& fixture) { return fixture.reduce(request); },
      [&](const auto& file, const auto& tensors) { return fixtures::reduce_inputs(file, request, tensors); });
}

CaseData<std::vector<float>> fwht_data(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::FwhtRequest request = fwht_request(about);
  return data_of<std::vector<float>>(
      about, shelf, [&](const fixtures::Fixture& fixture) { return fixture.fwht(request); },
      [&](const auto& file, const auto& tensors) { return fixtures::fwht_inputs(file, request, tensors); });
}

CaseData<std::vector<float>> quantize_data(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::QuantizeRequest request = quantize_request(about);
  return data_of<std::vector<float>>(
      about, shelf, [&](const fixtures::Fixture& fixture) { return fixture.quantize(request); },
      [&](const auto& file, const auto& tensors) { return fixtures::quantize_inputs(file, request, tensors); });
}

CaseData<fixtures::DequantizeInputs> dequantize_data(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::DequantizeRequest request = dequantize_request(about);
  return data_of<fixtures::DequantizeInputs>(
      about, shelf, [&](const fixtures::Fixture& fixture) { return fixture.dequantize(request); },
      [&](const auto& file, const auto& tensors) { return fixtures::dequantize_inputs(file, request, tensors); });
}

CaseData<fixtures::DenseInputs> dense_data(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::DenseRequest request = dense_request(about);
  return data_of<fixtures::DenseInputs>(
      about, shelf, [&](const fixtures::Fixture& fixture) { return fixture.dense(request); },
      [&](const auto& file, const auto& tensors) { return fixtures::dense_inputs(file, request, tensors); });
}

std::string find_disagreement(const oracles::Expected& stored, const oracles::Expected& recomputed) {
  if (stored.value.size() != recomputed.value.size() || stored.bound.size() != recomputed.bound.size())
    return fmt::format("{} values and {} bounds stand against {} and {}", stored.value.size(), stored.bound.size(), recomputed.value.size(),
                       recomputed.bound.size());
  for (std::size_t j = 0; j < stored.value.size(); ++j) {
    const double limit = kAgreement * std::min(stored.bound[j], recomputed.bound[j]);
    if (!(std::abs(stored.value[j] - recomputed.value[j]) <= limit))
      return fmt::format("element {} is {} in the file and {} by the oracle; in double they may differ by {}", j, stored.value[j],
                         recomputed.value[j], limit);
  }
  return {};
}

void judge_by_stored(Verdict& verdict, const StoredExpectation& stored, const oracles::Expected& recomputed,
                     const std::function<Judgement(const oracles::Expected&)>& judge_by) {
  if (const std::string difference = find_disagreement(stored.expected, recomputed); !difference.empty()) {
    throw fixtures::FileError(fixtures::file_message(stored.file, "expected/output",
                                                     fmt::format("is not what the oracle finds for these inputs: {}", difference)));
  }
  oracles::Expected expected = stored.expected;
  expected.magnitude = recomputed.magnitude;
  const Judgement judgement = judge_by(expected);
  if (judgement.passed()) return;
  verdict.faults.emplace_back(fault_of_stored(stored.file.string(), judgement));
}

}  // namespace assay::harness

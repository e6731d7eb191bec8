#include "harness/run/file_contents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "harness/judge/quantized_rows.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/file_families.h"
#include "oracles/attention.h"
#include "oracles/dense_attention.h"
#include "oracles/dequantize.h"
#include "oracles/quantize.h"
#include "oracles/reduce.h"

namespace assay::harness {
namespace {

using fixtures::Element;
using fixtures::FileError;
using fixtures::Tensor;
using fixtures::TensorSpec;

std::vector<TensorSpec> decode_file_inputs(const Case& about) { return fixtures::decode_layout(decode_request(about)); }
std::vector<std::uint64_t> decode_file_output(const Case& about) {
  const oracles::DecodeShape shape = decode_request(about).shape;
  return {shape.heads, shape.head_dim};
}
std::vector<Tensor> decode_file_tensors(const Case& about) {
  const fixtures::DecodeRequest request = decode_request(about);
  return fixtures::decode_tensors(request, fixtures::find_fixture(about.fixture).decode(request));
}
oracles::Expected decode_file_expectation(const Case& about, const std::filesystem::path& file, std::span<const Tensor> tensors) {
  const fixtures::DecodeRequest request = decode_request(about);
  const fixtures::DecodeInputs inputs = fixtures::decode_inputs(file, request, tensors);
  return oracles::decode_attention(request.shape, inputs.q, inputs.cache());
}

std::vector<TensorSpec> dense_file_inputs(const Case& about) { return fixtures::dense_layout(dense_request(about)); }
std::vector<std::uint64_t> dense_file_output(const Case& about) {
  const oracles::DenseShape shape = dense_request(about).shape;
  return {shape.batches, shape.heads, shape.queries, shape.head_dim};
}
std::vector<Tensor> dense_file_tensors(const Case& about) {
  if (about.fixture == "huge")
    throw std::invalid_argument("fixture huge: a file would need the gigabytes of its room; gauss has the same data");
  const fixtures::DenseRequest request = dense_request(about);
  return fixtures::dense_tensors(request, fixtures::find_fixture(about.fixture).dense(request));
}
oracles::Expected dense_file_expectation(const Case& about, const std::filesystem::path& file, std::span<const Tensor> tensors) {
  const fixtures::DenseRequest request = dense_request(about);
  oracles::AttentionAccuracy accuracy;
  accuracy.output = oracles::bfloat_format();
  return oracles::dense_attention(request.shape, fixtures::dense_inputs(file, request, tensors).tensors(), accuracy);
}

constexpr FileFamily kFamilies[] = {
    {"bf16_prefill", validate_bf16_prefill, dense_file_inputs, dense_file_output, dense_file_tensors, dense_file_expectation},
    {"bf16_vec", validate_bf16_vec, dense_file_inputs, dense_file_output, dense_file_tensors, dense_file_expectation},
    {"tq4", validate_decode, decode_file_inputs, decode_file_output, decode_file_tensors, decode_file_expectation},
    {"tqhb", validate_decode, decode_file_inputs, decode_file_output, decode_file_tensors, decode_file_expectation},
    {"reduce", validate_reduce, [](const Case& about) { return fixtures::reduce_layout(reduce_request(about)); },
     [](const Case& about) -> std::vector<std::uint64_t> {
       const oracles::PartialsShape shape = reduce_request(about).shape;
       return {shape.rows, shape.head_dim};
     },
     [](const Case& about) {
       const fixtures::ReduceRequest request = reduce_request(about);
       return fixtures::reduce_tensors(request, fixtures::find_fixture(about.fixture).reduce(request));
     },
     [](const Case& about, const std::filesystem::path& file, std::span<const Tensor> tensors) {
       const fixtures::ReduceRequest request = reduce_request(about);
       return oracles::reduce(request.shape, fixtures::reduce_inputs(file, request, tensors));
     }},
    {"fwht", validate_fwht, [](const Case& about) { return fixtures::fwht_layout(fwht_request(about)); },
     [](const Case& about) -> std::vector<std::uint64_t> {
       const fixtures::FwhtRequest request = fwht_request(about);
       return {request.heads, request.head_dim};
     },
     [](const Case& about) {
       const fixtures::FwhtRequest request = fwht_request(about);
       return fixtures::fwht_tensors(request, fixtures::find_fixture(about.fixture).fwht(request));
     },
     [](const Case& about, const std::filesystem::path& file, std::span<const Tensor> tensors) {
       const fixtures::FwhtRequest request = fwht_request(about);
       return oracles::fwht(fixtures::fwht_inputs(file, request, tensors), request.head_dim, fwht_mode(about));
     }},
    {"quantize", validate_quantize, [](const Case& about) { return fixtures::quantize_layout(quantize_request(about)); },
     [](const Case& about) -> std::vector<std::uint64_t> { return {quantize_request(about).kv_heads, quantized_rows(about).length()}; },
     [](const Case& about) {
       const fixtures::QuantizeRequest request = quantize_request(about);
       return fixtures::quantize_tensors(request, fixtures::find_fixture(about.fixture).quantize(request));
     },
     [](const Case& about, const std::filesystem::path& file, std::span<const Tensor> tensors) {
       const fixtures::QuantizeRequest request = quantize_request(about);
       const oracles::QuantizedToken token = oracles::quantize(request.shape(), fixtures::quantize_inputs(file, request, tensors));
       return expected_rows(quantized_rows(about), token, request.bits);
     }},
    {"dequantize", validate_dequantize, [](const Case& about) { return fixtures::dequantize_layout(dequantize_request(about)); },
     [](const Case& about) -> std::vector<std::uint64_t> {
       const fixtures::DequantizeRequest request = dequantize_request(about);
       return {request.kv_heads, request.head_dim};
     },
     [](const Case& about) {
       const fixtures::DequantizeRequest request = dequantize_request(about);
       return fixtures::dequantize_tensors(request, fixtures::find_fixture(about.fixture).dequantize(request));
     },
     [](const Case& about, const std::filesystem::path& file, std::span<const Tensor> tensors) {
       const fixtures::DequantizeRequest request = dequantize_request(about);
       const fixtures::DequantizeInputs inputs = fixtures::dequantize_inputs(file, request, tensors);
       return oracles::dequantize(request.shape(), request.bits, request.scale_factor_d512, inputs.codes, inputs.norms);
     }},
};

constexpr std::string_view kExpected = "expected/output";
constexpr std::string_view kBound = "bound/output";

std::vector<TensorSpec> expectation_layout(const FileFamily& family, const Case& about) {
  const std::vector<std::uint64_t> shape = family.output_shape(about);
  return {{std::string(kExpected), Element::float64, shape}, {std::string(kBound), Element::float64, shape}};
}

// A name that nothing asks for is a misspelt one.
void require_no_other(const std::filesystem::path& file, const fixtures::FileDescription& description, std::span<const TensorSpec> known) {
  for (const TensorSpec& spec : description.tensors) {
    if (std::ranges::find(known, spec.path, &TensorSpec::path) != known.end()) continue;
    std::vector<std::string_view> names;
    for (const TensorSpec& one : known) names.push_back(one.path);
    throw FileError(fixtures::file_message(file, spec.path, fmt::format("is not known here; known are {}", fmt::join(names, ", "))));
  }
}

void require_sensible(const std::filesystem::path& file, const Tensor& expected, const Tensor& bound) {
  const auto check = [&](const Tensor& tensor, auto good, std::string_view rule) {
    const std::vector<double> values = tensor.values<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!good(values[i]))
        throw FileError(fixtures::file_message(file, tensor.spec.path, fmt::format("holds {} at element {}; {}", values[i], i, rule)));
    }
  };
  check(expected, [](double value) { return std::isfinite(value); }, "an expectation must be finite");
  check(bound, [](double value) { return value >= 0.0 && std::isfinite(value); }, "a bound must be finite and not negative");
}

// The first element in which two tensors differ in their bits.
std::string find_difference(const Tensor& stored, const Tensor& made) {
  const std::size_t width = fixtures::bytes_of(stored.spec.element);
  for (std::size_t i = 0; i < stored.bytes.size(); i += width) {
    if (std::memcmp(stored.bytes.data() + i, made.bytes.data() + i, width) != 0)
      return fmt::format("/{}: element {} differs from what the generator makes", stored.spec.path, i / width);
  }
  return {};
}

}  // namespace

const FileFamily& file_family(std::string_view family) {
  const auto* const row = std::ranges::find(kFamilies, family, &FileFamily::family);
  if (row == std::ranges::end(kFamilies)) throw std::logic_error(fmt::format("family {} has no fixture files", family));
  return *row;
}

FileContents contents_of(const Case& about) {
  const FileFamily& family = file_family(about.family->name());
  family.validate(about);
  std::uint64_t total = 0;
  for (const TensorSpec& spec : family.inputs(about)) total += spec.bytes();
  if (total > fixtures::kLargestFileBytes) {
    throw std::invalid_argument(fmt::format("case '{}' has inputs of {} bytes; a fixture file may hold {}", format_case(about), total,
                                            fixtures::kLargestFileBytes));
  }
  FileContents contents;
  contents.format = file_attributes(about);
  contents.tensors = family.generate(about);
  const oracles::Expected expected = family.expect(about, format_case(about), contents.tensors);
  const std::vector<TensorSpec> layout = expectation_layout(family, about);
  contents.tensors.push_back(fixtures::make_tensor<double>(layout[0], expected.value));
  contents.tensors.push_back(fixtures::make_tensor<double>(layout[1], expected.bound));
  return contents;
}

LoadedFile load_file(const std::filesystem::path& file) {
  const fixtures::FileDescription description = fixtures::describe_file(file);
  LoadedFile loaded{read_file_case(file, description), {}, {}};
  const Case& about = loaded.about.value;
  const FileFamily& family = file_family(about.family->name());
  try {
    family.validate(about);
  } catch (const std::invalid_argument& refusal) {
    throw FileError(fixtures::file_message(file, "format", fmt::format("describes what no kernel may be given: {}", refusal.what())));
  }
  std::vector<TensorSpec> wanted = family.inputs(about);
  const std::vector<TensorSpec> expectation = expectation_layout(family, about);
  std::vector<TensorSpec> known = wanted;
  known.insert(known.end(), expectation.begin(), expectation.end());
  require_no_other(file, description, known);
  const std::size_t inputs = wanted.size();
  // One without the other judges nothing.
  if (description.find(kExpected) != nullptr || description.find(kBound) != nullptr) wanted = known;
  std::vector<Tensor> tensors = fixtures::read_tensors(file, wanted);
  loaded.inputs.assign(std::make_move_iterator(tensors.begin()),
                       std::make_move_iterator(tensors.begin() + static_cast<std::ptrdiff_t>(inputs)));
  loaded.expectation.assign(std::make_move_iterator(tensors.begin() + static_cast<std::ptrdiff_t>(inputs)),
                            std::make_move_iterator(tensors.end()));
  if (!loaded.expectation.empty()) require_sensible(file, loaded.expectation[0], loaded.expectation[1]);
  return loaded;
}

std::vector<std::string> verify_file(const std::filesystem::path& file, const LoadedFile& loaded) {
  std::vector<std::string> findings;
  const FileFamily& family = file_family(loaded.about.value.family->name());
  if (!loaded.about.generator.empty()) {
    Case made = loaded.about.value;
    made.fixture = loaded.about.generator;
    const std::vector<Tensor> tensors = family.generate(made);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (std::string difference = find_difference(loaded.inputs[i], tensors[i]); !difference.empty())
        findings.push_back(std::move(difference));
    }
  }
  const oracles::Expected recomputed = family.expect(loaded.about.value, file, loaded.inputs);
  if (loaded.expectation.empty()) return findings;
  const oracles::Expected stored{loaded.expectation[0].values<double>(), loaded.expectation[1].values<double>(), {}};
  if (const std::string difference = find_disagreement(stored, recomputed); !difference.empty())
    findings.push_back(fmt::format("/{}: {}", kExpected, difference));
  for (std::size_t j = 0; j < stored.bound.size(); ++j) {
    if (std::abs(stored.bound[j] - recomputed.bound[j]) <= kAgreement * recomputed.bound[j]) continue;
    findings.push_back(
        fmt::format("/{}: element {} is {} in the file and {} by the oracle", kBound, j, stored.bound[j], recomputed.bound[j]));
    break;
  }
  return findings;
}

}  // namespace assay::harness

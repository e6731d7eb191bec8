// Makes, loads and verifies the contents of fixture files.
#include "harness/cases/file_contents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "harness/cases/case_data.h"

namespace assay::harness {
namespace {

using fixtures::Element;
using fixtures::FileError;
using fixtures::Tensor;
using fixtures::TensorSpec;

constexpr std::string_view kExpected = "expected/output";
constexpr std::string_view kBound = "bound/output";

std::vector<TensorSpec> expectation_layout(const Case& test_case) {
  const std::vector<std::uint64_t> shape = test_case.family->files.output_shape(test_case);
  return {{std::string(kExpected), Element::float64, shape}, {std::string(kBound), Element::float64, shape}};
}

// Rejects a tensor that nothing reads, because its name is misspelt.
void require_no_other(const std::filesystem::path& file, const fixtures::FileDescription& description, std::span<const TensorSpec> known) {
  for (const TensorSpec& spec : description.tensors) {
    if (std::ranges::find(known, spec.path, &TensorSpec::path) != known.end()) continue;
    std::vector<std::string_view> names;
    for (const TensorSpec& one : known) names.push_back(one.path);
    throw FileError(fixtures::file_message(file, spec.path, fmt::format("is unknown; accepted: {}", fmt::join(names, ", "))));
  }
}

void require_sensible(const std::filesystem::path& file, const Tensor& expected, const Tensor& bound) {
  const auto check = [&](const Tensor& tensor, auto good, std::string_view rule) {
    const std::vector<double> values = tensor.values<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!good(values[i]))
        throw FileError(fixtures::file_message(file, tensor.spec.path, fmt::format("has {} at element {}; {}", values[i], i, rule)));
    }
  };
  check(expected, [](double value) { return std::isfinite(value); }, "an expectation must be finite");
  check(bound, [](double value) { return value >= 0.0 && std::isfinite(value); }, "a bound must be finite and not negative");
}

// The first element whose bits differ between two tensors.
std::string find_difference(const Tensor& stored, const Tensor& made) {
  const std::size_t width = fixtures::bytes_of(stored.spec.element);
  for (std::size_t i = 0; i < stored.bytes.size(); i += width) {
    if (std::memcmp(stored.bytes.data() + i, made.bytes.data() + i, width) != 0)
      return fmt::format("/{}: element {} differs from what the generator produces", stored.spec.path, i / width);
  }
  return {};
}

}  // namespace

FileContents contents_of(const Case& test_case) {
  const Family& family = *test_case.family;
  family.validate(test_case);
  std::uint64_t total = 0;
  for (const TensorSpec& spec : family.files.inputs(test_case)) total += spec.bytes();
  if (total > fixtures::kLargestFileBytes) {
    throw std::invalid_argument(fmt::format("case '{}' has inputs of {} bytes; a fixture file may hold at most {}", format_case(test_case),
                                            total, fixtures::kLargestFileBytes));
  }
  FileContents contents;
  contents.format = file_attributes(test_case);
  contents.tensors = family.files.generate(test_case, fixtures::find_fixture(test_case.fixture));
  const oracles::Expected expected = family.files.expect(test_case, {.file = format_case(test_case), .tensors = contents.tensors});
  const std::vector<TensorSpec> layout = expectation_layout(test_case);
  contents.tensors.push_back(fixtures::make_tensor<double>(layout[0], expected.value));
  contents.tensors.push_back(fixtures::make_tensor<double>(layout[1], expected.bound));
  return contents;
}

LoadedFile load_file(const std::filesystem::path& file, FilePart part) {
  const fixtures::FileDescription description = fixtures::describe_file(file);
  LoadedFile loaded{read_file_case(file, description), {}, {}};
  const Case& test_case = loaded.file_case.value;
  const Family& family = *test_case.family;
  try {
    family.validate(test_case);
  } catch (const std::invalid_argument& refusal) {
    throw FileError(fixtures::file_message(file, "format", fmt::format("describes an invalid case: {}", refusal.what())));
  }
  const std::vector<TensorSpec> inputs = family.files.inputs(test_case), expectation = expectation_layout(test_case);
  std::vector<TensorSpec> known = inputs;
  known.insert(known.end(), expectation.begin(), expectation.end());
  require_no_other(file, description, known);
  // Value and bound are both required, because one alone cannot be used to judge.
  const bool has_expectation = description.find(kExpected) != nullptr || description.find(kBound) != nullptr;
  std::vector<TensorSpec> wanted;
  if (part != FilePart::expectation) wanted = inputs;
  const auto split = static_cast<std::ptrdiff_t>(wanted.size());
  if (part != FilePart::inputs && has_expectation) wanted.insert(wanted.end(), expectation.begin(), expectation.end());
  std::vector<Tensor> tensors = fixtures::read_tensors(file, wanted);
  loaded.inputs.assign(std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.begin() + split));
  loaded.expectation.assign(std::make_move_iterator(tensors.begin() + split), std::make_move_iterator(tensors.end()));
  if (!loaded.expectation.empty()) require_sensible(file, loaded.expectation[0], loaded.expectation[1]);
  return loaded;
}

std::vector<std::string> verify_file(const std::filesystem::path& file, const LoadedFile& loaded) {
  std::vector<std::string> findings;
  const families::FileRules& rules = loaded.file_case.value.family->files;
  if (!loaded.file_case.generator.empty()) {
    Case made = loaded.file_case.value;
    made.fixture = loaded.file_case.generator;
    const std::vector<Tensor> tensors = rules.generate(made, fixtures::find_fixture(made.fixture));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (std::string difference = find_difference(loaded.inputs[i], tensors[i]); !difference.empty())
        findings.push_back(std::move(difference));
    }
  }
  const oracles::Expected recomputed = rules.expect(loaded.file_case.value, {.file = file, .tensors = loaded.inputs});
  if (loaded.expectation.empty()) return findings;
  const oracles::Expected stored{loaded.expectation[0].values<double>(), loaded.expectation[1].values<double>(), {}};
  if (const std::string difference = find_disagreement(stored, recomputed); !difference.empty())
    findings.push_back(fmt::format("/{}: {}", kExpected, difference));
  for (std::size_t j = 0; j < stored.bound.size(); ++j) {
    if (std::abs(stored.bound[j] - recomputed.bound[j]) <= kAgreement * recomputed.bound[j]) continue;
    findings.push_back(
        fmt::format("/{}: element {} is {} in the file, but the oracle computes {}", kBound, j, stored.bound[j], recomputed.bound[j]));
    break;
  }
  return findings;
}

}  // namespace assay::harness

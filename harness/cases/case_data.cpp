// Opens the source of a case's inputs, and compares expectations.
#include "harness/cases/case_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/cases/file_case.h"
#include "harness/cases/file_contents.h"

namespace assay::harness {
namespace {

LoadedFile load_agreeing(const Case& test_case, const std::filesystem::path& file, FilePart part) {
  LoadedFile loaded = load_file(file, part);
  require_agreement(test_case, file, loaded.file_case);
  return loaded;
}

}  // namespace

CaseSource::CaseSource(const Case& test_case, const fixtures::Shelf& shelf) {
  const std::optional<std::string_view> stem = file_stem(test_case.fixture);
  if (!stem) {
    source_.generator = &fixtures::find_fixture(test_case.fixture);
    return;
  }
  source_.file = shelf.find(*stem);
  tensors_ = load_agreeing(test_case, source_.file, FilePart::inputs).inputs;
  source_.tensors = tensors_;
}

std::optional<StoredExpectation> stored_expectation(const Case& test_case, const fixtures::Shelf& shelf) {
  const std::optional<std::string_view> stem = file_stem(test_case.fixture);
  if (!stem) return std::nullopt;
  const std::filesystem::path file = shelf.find(*stem);
  const std::vector<fixtures::Tensor> stored = load_agreeing(test_case, file, FilePart::expectation).expectation;
  if (stored.empty()) return std::nullopt;
  return StoredExpectation{file, {stored[0].values<double>(), stored[1].values<double>(), {}}};
}

std::string find_disagreement(const oracles::Expected& stored, const oracles::Expected& recomputed) {
  if (stored.value.size() != recomputed.value.size() || stored.bound.size() != recomputed.bound.size())
    return fmt::format("the file has {} values and {} bounds, the oracle has {} and {}", stored.value.size(), stored.bound.size(),
                       recomputed.value.size(), recomputed.bound.size());
  for (std::size_t j = 0; j < stored.value.size(); ++j) {
    const double limit = kAgreement * std::min(stored.bound[j], recomputed.bound[j]);
    if (!(std::abs(stored.value[j] - recomputed.value[j]) <= limit))
      return fmt::format("element {} is {} in the file, but the oracle computes {}; in double precision they may differ by at most {}", j,
                         stored.value[j], recomputed.value[j], limit);
  }
  return {};
}

}  // namespace assay::harness

// Makes specimens, and reduces large ones.
#include "harness/triage/specimen.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "harness/cases/case_data.h"
#include "harness/cases/case_size.h"

namespace assay::harness {
namespace {

// A prediction of a smaller case takes less than a millisecond, and there are about a thousand.
constexpr double kLargestWhole = 1e5;
constexpr std::size_t kMostRows = 8;

std::size_t rows_of(const Observation& observation) {
  std::size_t rows = 1;
  for (const families::RowPart& part : observation.test_case.family->triage.row_parts(observation.test_case)) rows *= part.count;
  return rows;
}

// Evenly spread over the rows with wrong elements; empty if all of these are few.
std::vector<bool> some_wrong_rows(const Observation& observation, std::size_t rows, std::size_t length) {
  std::vector<std::size_t> wrong;
  for (std::size_t row = 0; row < rows; ++row) {
    bool is_wrong = false;
    for (std::size_t i = row * length; i < (row + 1) * length && !is_wrong; ++i) is_wrong = observation.is_faulty(i);
    if (is_wrong) wrong.push_back(row);
  }
  if (wrong.size() <= kMostRows) return {};
  std::vector<bool> some(rows, false);
  for (std::size_t i = 0; i < kMostRows; ++i) some[wrong[i * (wrong.size() - 1) / (kMostRows - 1)]] = true;
  return some;
}

}  // namespace

Specimen specimen_of(const Observation& observation, const fixtures::Shelf& shelf) {
  const Case& test_case = observation.test_case;
  return {.observation = std::shared_ptr<const Observation>(std::shared_ptr<const Observation>(), &observation),
          .model = test_case.family->triage.model(test_case, CaseSource(test_case, shelf).get())};
}

Specimen wrong_specimen_of(const Observation& observation, const fixtures::Shelf& shelf) {
  Specimen whole = specimen_of(observation, shelf);
  const std::size_t length = std::max<std::size_t>(observation.verdict.row_length, 1);
  const std::size_t rows = rows_of(observation);
  if (whole.model == nullptr || size_of(observation.test_case) <= kLargestWhole || observation.actual.size() < rows * length) return whole;
  const std::vector<bool> some = some_wrong_rows(observation, rows, length);
  if (some.empty()) return whole;
  std::shared_ptr<const families::Model> model = whole.model->only_rows(some);
  if (model == nullptr) return whole;
  auto reduced = std::make_shared<Observation>(observation);
  for (std::size_t i = 0; i < reduced->actual.size(); ++i) {
    // A second output has elements for each row, in the order of the rows.
    const std::size_t row = i < rows * length ? i / length : (i - rows * length) * rows / (reduced->actual.size() - rows * length);
    if (!some[row]) reduced->actual[i] = reduced->expected.value[i];
  }
  return {.observation = std::move(reduced), .model = std::move(model)};
}

}  // namespace assay::harness

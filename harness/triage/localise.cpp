// Describes which rows, blocks and coordinates of an output are wrong.
#include "harness/triage/localise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace assay::harness {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kLanes = 32;

struct Faulty {
  std::set<std::size_t> rows, coordinates;
  std::size_t count = 0, behind_rows = 0;  // all, and those of a second output behind the rows
  std::size_t unwritten = 0, not_numbers = 0, zeros = 0, negated = 0;
};

std::size_t row_count(const Case& test_case, std::size_t most) {
  std::size_t rows = 1;
  for (const families::RowPart& part : test_case.family->triage.row_parts(test_case)) rows *= std::max<std::size_t>(part.count, 1);
  return std::min(rows, most);
}

Faulty faulty_of(const Observation& observation, std::size_t length, std::size_t rows) {
  Faulty faulty;
  for (std::size_t i = 0; i < observation.actual.size(); ++i) {
    if (!observation.is_faulty(i)) continue;
    const double actual = observation.actual[i];
    const double expected = observation.expected.value[i];
    ++faulty.count;
    if (i / length < rows) {
      faulty.rows.insert(i / length);
      faulty.coordinates.insert(i % length);
    } else {
      ++faulty.behind_rows;
    }
    if (is_unwritten(actual)) {
      ++faulty.unwritten;
    } else if (!std::isfinite(actual)) {
      ++faulty.not_numbers;
    } else if (actual == 0.0) {
      ++faulty.zeros;
    } else if (std::abs(actual + expected) <= observation.expected.bound[i]) {
      ++faulty.negated;
    }
  }
  return faulty;
}

// "heads 4..7 of 8", from the numbers of rows, each (row / divisor) % count.
void add_part(std::vector<std::string>& parts, const std::set<std::size_t>& rows, std::string_view name, std::size_t divisor,
              std::size_t count) {
  if (count <= 1) return;
  std::set<std::size_t> numbers;
  for (const std::size_t row : rows) numbers.insert(row / divisor % count);
  if (numbers.size() == count) {
    parts.push_back(fmt::format("all {} {}", count, name));
  } else {
    parts.push_back(fmt::format("{} {} of {}", name, ranges_text(numbers), count));
  }
}

std::string rows_sentence(const Case& test_case, const Faulty& faulty) {
  const std::vector<families::RowPart> parts = test_case.family->triage.row_parts(test_case);
  std::size_t inner = 1;
  for (const families::RowPart& part : parts) inner *= std::max<std::size_t>(part.count, 1);
  std::vector<std::string> texts;
  for (const families::RowPart& part : parts) {
    inner /= std::max<std::size_t>(part.count, 1);
    add_part(texts, faulty.rows, part.name, inner, part.count);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The shortest correct description of the wrong coordinates.
void add_coordinates(std::vector<std::string>& sentences, const std::set<std::size_t>& coordinates, std::size_t length) {
  if (coordinates.size() == length) {
    sentences.push_back(fmt::format("every coordinate 0..{} is affected somewhere", length - 1));
    return;
  }
  if (length > kBlock) {
    std::set<std::size_t> blocks;
    for (const std::size_t j : coordinates) blocks.insert(j / kBlock);
    if (blocks.size() < length / kBlock)
      sentences.push_back(fmt::format("only elements {}..{} of a row (block {} of 256)", *blocks.begin() * kBlock,
                                      std::min((*blocks.rbegin() + 1) * kBlock, length) - 1, ranges_text(blocks)));
  }
  const auto lanes_of = [&](std::size_t width) {
    std::set<std::size_t> lanes;
    for (const std::size_t j : coordinates) lanes.insert(j / width % kLanes);
    return lanes;
  };
  const std::set<std::size_t> quads = lanes_of(4);
  const std::set<std::size_t> singles = lanes_of(1);
  const std::set<std::size_t> runs = lanes_of(std::max<std::size_t>(length / kLanes, 1));
  if (quads.size() < kLanes && quads.size() <= singles.size())
    sentences.push_back(fmt::format("only lanes {} if each lane holds every 32nd group of four coordinates", ranges_text(quads)));
  else if (singles.size() < kLanes)
    sentences.push_back(fmt::format("only lanes {} if each lane holds every 32nd coordinate", ranges_text(singles)));
  if (runs.size() < kLanes && length % kLanes == 0)
    sentences.push_back(fmt::format("only lanes {} if each lane holds {} consecutive coordinates", ranges_text(runs), length / kLanes));
  std::set<std::size_t> parities;
  for (const std::size_t j : coordinates) parities.insert(j % 2);
  if (parities.size() == 1 && coordinates.size() > 1)
    sentences.push_back(fmt::format("only {} coordinates", *parities.begin() == 0 ? "even" : "odd"));
  const std::string ranges = ranges_text(coordinates);
  constexpr std::size_t longest = 80;
  if (ranges.size() <= longest) sentences.push_back(fmt::format("coordinates {} of a row", ranges));
}

}  // namespace

std::string ranges_text(const std::set<std::size_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::size_t first = *at;
    std::size_t last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    if (!text.empty()) text += ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
  }
  return text;
}

std::vector<std::string> localise(const Observation& observation) {
  const std::size_t length = std::max<std::size_t>(observation.verdict.row_length, 1);
  const std::size_t row_total = row_count(observation.test_case, observation.actual.size() / length);
  const Faulty faulty = faulty_of(observation, length, row_total);
  if (faulty.count == 0) return {"no element of the output is wrong"};
  std::vector<std::string> sentences = {
      fmt::format("{} of {} elements are wrong, in {} of {} rows", faulty.count, observation.actual.size(), faulty.rows.size(), row_total)};
  if (faulty.behind_rows > 0) sentences.push_back(fmt::format("{} of them are in the second output, behind the rows", faulty.behind_rows));
  for (const auto& [count, what] : {std::pair{faulty.unwritten, "were never written"},
                                    {faulty.not_numbers, "are NaN or infinite"},
                                    {faulty.zeros, "are 0"},
                                    {faulty.negated, "have the opposite sign"}}) {
    if (count > 0)
      sentences.push_back(count == faulty.count ? fmt::format("all of them {}", what) : fmt::format("{} of them {}", count, what));
  }
  if (faulty.rows.empty()) return sentences;
  if (std::string rows = rows_sentence(observation.test_case, faulty); !rows.empty()) sentences.push_back(std::move(rows));
  const families::TriageRules& rules = observation.test_case.family->triage;
  if (rules.describe_places == nullptr) {
    add_coordinates(sentences, faulty.coordinates, length);
    return sentences;
  }
  sentences.push_back(rules.describe_places(observation.test_case, faulty.coordinates));
  const std::size_t indices = rules.row_indices(observation.test_case);
  const std::set<std::size_t> coordinates(faulty.coordinates.begin(), faulty.coordinates.lower_bound(indices));
  if (!coordinates.empty()) add_coordinates(sentences, coordinates, indices);
  return sentences;
}

bool is_clearly_wrong(const Observation& observation) {
  constexpr double much = 0.02;
  std::size_t faulty = 0;
  std::size_t clear = 0;
  for (std::size_t i = 0; i < observation.actual.size(); ++i) {
    if (!observation.is_faulty(i)) continue;
    ++faulty;
    const double error = std::abs(observation.actual[i] - observation.expected.value[i]);
    clear += error <= much * std::abs(observation.expected.value[i]) ? 0 : 1;
  }
  return 2 * clear >= faulty;
}

}  // namespace assay::harness

#include "harness/triage/localise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "families/quantize/inputs.h"
#include "harness/run/case_data.h"

namespace assay::harness {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kLanes = 32;

struct Faulty {
  std::set<std::size_t> rows, coordinates;
  std::size_t count = 0, unwritten = 0, not_numbers = 0, zeros = 0, negated = 0;
};

Faulty faulty_of(const Observation& observation, std::size_t length) {
  Faulty faulty;
  for (std::size_t i = 0; i < observation.actual.size(); ++i) {
    if (!observation.is_faulty(i)) continue;
    const double actual = observation.actual[i];
    const double expected = observation.expected.value[i];
    ++faulty.count;
    faulty.rows.insert(i / length);
    faulty.coordinates.insert(i % length);
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

std::int64_t axis_or(const Case& about, std::string_view name, std::int64_t otherwise) {
  const bool has = std::ranges::any_of(about.family->axes, [&](const Axis& axis) { return axis.name == name; });
  return has ? about.at(name) : otherwise;
}

// "heads 4..7 of 8" from the numbers of rows, each (row / divisor) % count.
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

std::string rows_sentence(const Observation& observation, const Faulty& faulty, std::size_t length) {
  const Case& about = observation.about;
  const auto queries = static_cast<std::size_t>(axis_or(about, "queries", 1));
  const auto batches = static_cast<std::size_t>(axis_or(about, "batches", 1));
  const std::size_t rows = observation.actual.size() / length;
  const std::size_t heads = rows / std::max<std::size_t>(queries * batches, 1);
  std::vector<std::string> parts;
  add_part(parts, faulty.rows, "batches", queries * heads, batches);
  add_part(parts, faulty.rows, about.family->name() == "reduce" ? "rows" : "heads", queries, heads);
  add_part(parts, faulty.rows, "queries", 1, queries);
  return parts.empty() ? std::string() : fmt::format("{}", fmt::join(parts, ", "));
}

// The coordinates that are wrong, as the smallest description that holds.
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
  const Faulty faulty = faulty_of(observation, length);
  if (faulty.count == 0) return {"no element of the output is wrong"};
  std::vector<std::string> sentences = {fmt::format("{} of {} elements are wrong, in {} of {} rows", faulty.count,
                                                    observation.actual.size(), faulty.rows.size(), observation.actual.size() / length)};
  for (const auto& [count, what] : {std::pair{faulty.unwritten, "were never written"},
                                    {faulty.not_numbers, "are NaN or infinite"},
                                    {faulty.zeros, "are 0"},
                                    {faulty.negated, "have the opposite sign"}}) {
    if (count > 0)
      sentences.push_back(count == faulty.count ? fmt::format("all of them {}", what) : fmt::format("{} of them {}", count, what));
  }
  if (std::string rows = rows_sentence(observation, faulty, length); !rows.empty()) sentences.push_back(std::move(rows));
  if (observation.about.family->name() == "quantize") {
    const families::QuantizedRows rows = families::quantized_rows(observation.about);
    std::size_t indices = 0;
    std::set<std::string> norms;
    std::size_t inputs = 0;
    std::set<std::size_t> coordinates;
    for (const std::size_t place : faulty.coordinates) {
      if (rows.is_index(place)) {
        ++indices;
        coordinates.insert(place);
      } else if (place < rows.head_dim + rows.blocks()) {
        norms.insert(rows.describe(place));
      } else {
        ++inputs;
      }
    }
    sentences.push_back(fmt::format("in a row: indices of {} coordinates{}{}", indices,
                                    norms.empty() ? std::string(", no norm") : fmt::format(", {}", fmt::join(norms, ", ")),
                                    rows.has_inputs ? fmt::format(", {} quantiser inputs", inputs) : std::string()));
    if (!coordinates.empty()) add_coordinates(sentences, coordinates, rows.head_dim);
  } else {
    add_coordinates(sentences, faulty.coordinates, length);
  }
  return sentences;
}

}  // namespace assay::harness

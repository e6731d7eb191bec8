// Compares runs of numbers in a source with tables of the contract, up to a factor.
#include "harness/triage/written_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>

#include "harness/execute/constant_tables.h"
#include "math/functions.h"

namespace assay::harness {
namespace {

constexpr std::size_t kFewest = 8;       // entries: fewer numbers meet a table by chance
constexpr std::size_t kMostSorted = 16;  // entries among which conditions choose
constexpr double kScaledDigits = 5e-7;   // of a number times a factor, relatively
constexpr double kLeastScale = 100;      // integers of fewer units are no fixed point of a table

// How the numbers are written: `0.5f`, `5000`, or `0x3f000000` for as_type<float>().
enum class Form : std::uint8_t { fraction, integer, bits };

// A number in a source, with its sign.
struct WrittenNumber {
  std::size_t offset = 0, length = 0;
  double value = 0;
  Form form = Form::fraction;
};

bool is_operand(const SourceToken& token) {
  using metal::translate::TokenKind;
  if (token.is("return") || token.is("case")) return false;
  return token.is_identifier() || token.kind == TokenKind::number || token.is(")") || token.is("]");
}

std::optional<Form> form_of(std::string_view text) {
  constexpr std::size_t digits = 10;  // with the prefix
  if (text.starts_with("0x") || text.starts_with("0X"))
    return text.find_first_of("uU") == digits || text.size() == digits ? std::optional(Form::bits) : std::nullopt;
  return text.find_first_of(".eEfFhH") == std::string_view::npos ? Form::integer : Form::fraction;
}

// All numbers of a piece that have the form; without labels and places of elements.
std::vector<WrittenNumber> numbers_of(const SourcePiece& piece, Form form) {
  const std::vector<SourceToken>& tokens = piece.tokens;
  std::vector<WrittenNumber> numbers;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const SourceToken& token = tokens[i];
    if (token.kind != metal::translate::TokenKind::number || form_of(token.text) != form) continue;
    std::size_t first = i;
    if (i > 0 && tokens[i - 1].is("-") && (i < 2 || !is_operand(tokens[i - 2]))) first = i - 1;
    if (first > 0 && (tokens[first - 1].is("case") || tokens[first - 1].is("["))) continue;
    const std::string text(token.text);
    const double value = form == Form::bits
                             ? double{std::bit_cast<float>(static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 16)))}
                             : std::strtod(text.c_str(), nullptr);
    if (!std::isfinite(value)) continue;
    numbers.push_back({.offset = tokens[first].offset,
                       .length = token.offset + token.text.size() - tokens[first].offset,
                       .value = first == i ? value : -value,
                       .form = form});
  }
  return numbers;
}

// The factor between what stands there and the contract: the median of the quotients, as a power of ten or two if it nearly is one.
std::optional<double> scale_of(std::span<const WrittenNumber> numbers, std::span<const double> wanted) {
  std::vector<double> quotients;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (wanted[i] != 0) quotients.push_back(numbers[i].value / wanted[i]);
  }
  if (quotients.size() * 4 < numbers.size() * 3) return std::nullopt;
  const auto middle = quotients.begin() + static_cast<std::ptrdiff_t>(quotients.size() / 2);
  std::ranges::nth_element(quotients, middle);
  if (*middle <= 0) return std::nullopt;
  for (const double base : {10.0, 2.0}) {
    const double power = math::pow(base, std::round(math::log(*middle) / math::log(base)));
    if (std::abs(*middle / power - 1) < kNearlyEqualEntries) return power;
  }
  return *middle;
}

std::string as_literal(const WrittenNumber& number, double value) {
  if (number.form == Form::integer) return fmt::format("{:.0f}", value);
  if (number.form == Form::bits) return fmt::format("0x{:08x}u", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  std::string text = fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

// nullopt if the numbers are not the table; without entries if they are exactly it. `is_sorted`: that is not their order in the source.
std::optional<WrittenTable> compare(std::span<const WrittenNumber> numbers, std::span<const double> wanted, bool is_sorted) {
  const std::optional<double> scale = scale_of(numbers, wanted);
  const bool is_integer = numbers.front().form == Form::integer;
  if (!scale || (is_integer && *scale < kLeastScale)) return std::nullopt;
  WrittenTable table{.size = numbers.size(), .entries = {}};
  std::size_t near = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double value = numbers[i].value / *scale;
    near += std::abs(value - wanted[i]) <= kNearlyEqualEntries ? 1U : 0U;
    const double tolerance = kScaledDigits * std::abs(wanted[i]) + (is_integer ? 1 / *scale : 0);
    if (*scale == 1 ? double{static_cast<float>(value)} == wanted[i] : std::abs(value - wanted[i]) <= tolerance) continue;
    table.entries.push_back({.offset = numbers[i].offset,
                             .length = numbers[i].length,
                             .index = i,
                             .value = value,
                             .wanted = wanted[i],
                             .right = as_literal(numbers[i], wanted[i] * *scale)});
  }
  // Sorted, or times a factor, other numbers nearly equal those of a dense table: half must be exactly the contract's.
  const bool is_certain = (*scale == 1 && !is_sorted) || table.entries.size() * 2 <= numbers.size();
  return is_certain && near * 4 >= numbers.size() * 3 ? std::optional(std::move(table)) : std::nullopt;
}

// As conditions choose them, numbers stand in any order.
std::vector<WrittenNumber> in_order(std::span<const WrittenNumber> numbers) {
  std::vector<WrittenNumber> ordered(numbers.begin(), numbers.end());
  std::ranges::sort(ordered, {}, &WrittenNumber::value);
  return ordered;
}

}  // namespace

std::vector<WrittenTable> find_written_tables(const Source& source, const families::ContractTable& wanted) {
  const std::size_t size = wanted.values.size();
  if (wanted.is_of_bytes || size < kFewest) return {};
  std::vector<WrittenTable> tables;
  for (const SourcePiece& piece : source.pieces()) {
    for (const Form form : {Form::fraction, Form::integer, Form::bits}) {
      const std::vector<WrittenNumber> numbers = numbers_of(piece, form);
      // A number belongs to one table: sorted, the end of one and the beginning of the next look like either.
      std::vector<bool> taken(numbers.size());
      for (const bool is_sorted : {false, true}) {
        if (is_sorted && size > kMostSorted) break;
        for (std::size_t first = 0; first + size <= numbers.size(); ++first) {
          const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(first), end = begin + static_cast<std::ptrdiff_t>(size);
          if (std::find(begin, end, true) != end) continue;
          const std::span<const WrittenNumber> some = std::span(numbers).subspan(first, size);
          std::optional<WrittenTable> table =
              compare(is_sorted ? in_order(some) : std::vector(some.begin(), some.end()), wanted.values, is_sorted);
          if (!table) continue;
          std::fill(begin, end, true);
          if (!table->entries.empty()) tables.push_back(std::move(*table));
        }
      }
    }
  }
  return tables;
}

}  // namespace assay::harness

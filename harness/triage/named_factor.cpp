// Recognises constants.
#include "harness/triage/named_factor.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace assay::harness {

std::string named_factor(double factor, std::span<const double> row_lengths) {
  using namespace std::numbers;
  std::vector<std::pair<double, std::string>> known = {
      {log2e, "log2(e)"},          {ln2, "ln(2) = 1/log2(e)"}, {log10e, "log10(e)"}, {ln10, "ln(10)"},
      {sqrt2, "sqrt(2)"},          {1 / sqrt2, "1/sqrt(2)"},   {pi, "pi"},           {e, "e"},
      {log2e * log2e, "log2(e)^2"}};
  for (const double size : row_lengths) {
    if (size < 3) continue;
    const std::string text = fmt::format("{:g}", size);
    known.emplace_back(1 / std::sqrt(size), "1/sqrt(" + text + ")");
    known.emplace_back(std::sqrt(size), "sqrt(" + text + ")");
    known.emplace_back(1 / size, "1/" + text);
    known.emplace_back(1 / (size * std::sqrt(size)), text + "^-1.5");
    known.emplace_back(log2e / std::sqrt(size), "log2(e)/sqrt(" + text + ")");
  }
  // Those of other rows, which a kernel may have as a number. A square's root is any number's.
  for (const double size : {32.0, 80.0, 96.0, 128.0, 192.0, 512.0, 576.0}) {
    known.emplace_back(1 / std::sqrt(size), fmt::format("1/sqrt({:g})", size));
    known.emplace_back(std::sqrt(size), fmt::format("sqrt({:g})", size));
  }
  const std::string number = fmt::format("{:.6g}", factor);
  constexpr double same = 1e-3;
  for (const auto& [value, name] : known) {
    for (const double sign : {1.0, -1.0}) {
      if (std::abs(factor - sign * value) <= same * value && number != name) return number + (sign < 0 ? " = -" : " = ") + name;
    }
  }
  return number;
}

}  // namespace assay::harness

// Splits the error of a case into shares of source lines, by running it again for each line.
#include "harness/execute/explain.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/execute/execute_once.h"
#include "harness/execute/source_lines.h"
#include "harness/findings/known_finding.h"
#include "metal/source_files.h"

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

double sum_of_errors(const metal::LineRounding& line) { return line.mean_relative * static_cast<double>(line.operations); }

double root_mean_square(const ShadowedOutput& output, const std::function<double(const SplitElement&)>& part, std::size_t& not_finite) {
  double squares = 0;
  std::size_t count = 0;
  not_finite = 0;
  for (std::size_t i = 0; i < output.values.size(); ++i) {
    if (!output.is_discrete.empty() && output.is_discrete[i]) continue;
    const SplitElement element{i,
                               output.values[i],
                               output.shadows[i],
                               output.expected.value[i],
                               output.expected.bound[i],
                               output.exact.value[i],
                               output.exact.bound[i]};
    if (!std::isfinite(element.actual) || !std::isfinite(element.shadow)) {
      ++not_finite;
    } else if (element.bound > 0.0) {
      const double ratio = part(element) / element.bound;
      squares += ratio * ratio;
      ++count;
    }
  }
  return count == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(count));
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size());
  std::ranges::transform(a, b, result.begin(), std::minus<>());
  return result;
}

}  // namespace

std::vector<metal::LineRounding> lines_to_try(std::vector<metal::LineRounding> roundings, std::size_t most) {
  std::erase_if(roundings, [](const metal::LineRounding& line) { return !(line.largest_relative > 0.0); });
  std::vector<metal::LineRounding> chosen;
  for (std::size_t turn = 0; chosen.size() < most && !roundings.empty(); ++turn) {
    const auto worst = turn % 2 == 0 ? std::ranges::max_element(roundings, {}, &metal::LineRounding::largest_relative)
                                     : std::ranges::max_element(roundings, {}, sum_of_errors);
    chosen.push_back(std::move(*worst));
    roundings.erase(worst);
  }
  return chosen;
}

Contribution contribution_of(const std::vector<double>& moved, const Outputs& outputs) {
  const auto& [plain, error, conversions, bounds] = outputs;
  double dd = 0, dc = 0, de = 0, cc = 0, ce = 0, ee = 0;
  std::size_t count = 0;
  bool is_lost = false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    is_lost = is_lost || (std::isfinite(plain[i]) && !std::isfinite(moved[i]));
    const double d = (moved[i] - plain[i]) / bounds[i];
    const double c = conversions[i] / bounds[i];
    const double e = error[i] / bounds[i];
    if (!std::isfinite(d) || !std::isfinite(c) || !std::isfinite(e)) continue;
    dd += d * d;
    dc += d * c;
    de += d * e;
    cc += c * c;
    ce += c * e;
    ee += e * e;
    ++count;
  }
  const double times = cc > 0.0 ? dc / cc : 0.0;
  const double finite = count == 0 ? 0.0 : std::sqrt(std::max(0.0, dd - times * dc) / static_cast<double>(count));
  return {.root_mean_square = is_lost ? std::numeric_limits<double>::infinity() : finite,
          .share = ee > 0.0 ? (de - times * ce) / ee : 0.0,
          .conversions = times};
}

double share_of_conversions(double times, const Outputs& outputs) {
  double ce = 0, ee = 0;
  for (std::size_t i = 0; i < outputs.error.size(); ++i) {
    const double c = outputs.conversions[i] / outputs.bounds[i];
    const double e = outputs.error[i] / outputs.bounds[i];
    if (!std::isfinite(c) || !std::isfinite(e)) continue;
    ce += c * e;
    ee += e * e;
  }
  return ee > 0.0 ? times * ce / ee : 0.0;
}

Explanation explain_case(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options,
                         const ExplainOptions& asked) {
  ExecutionOptions running = options;
  running.policy = metal::Policy::shadow;
  running.explain = true;
  running.large_error = asked.large_error;
  const metal::Schedule schedule = options.schedules.empty() ? metal::Schedule{} : options.schedules.front();
  Kept kept;
  Outcome plain = execute_once(prepared, test_case, running, schedule, kept);

  Explanation explanation;
  explanation.large_error = asked.large_error;
  explanation.verdict = std::move(plain.verdict);
  settle_known_findings(prepared.known_findings, explanation.verdict, running.policy);
  explanation.birth = std::move(plain.birth);
  if (!plain.shadowed) return explanation;

  const ShadowedOutput& output = *plain.shadowed;
  const auto mean = [&](double (*part)(const SplitElement&)) { return root_mean_square(output, part, explanation.not_finite); };
  explanation.rounding = mean([](const SplitElement& element) { return element.rounding(); });
  explanation.conversions = mean([](const SplitElement& element) { return element.conversions(); });
  explanation.logic = mean([](const SplitElement& element) { return element.logic(); });

  Outputs outputs{.plain = output.shadows,
                  .error = {},
                  .conversions = difference(output.expected.value, output.exact.value),
                  .bounds = output.expected.bound};
  outputs.error = difference(difference(output.values, output.shadows), outputs.conversions);
  // Elements without a split say nothing about lines.
  for (std::size_t i = 0; i < output.is_discrete.size(); ++i) {
    if (output.is_discrete[i]) outputs.error[i] = std::numeric_limits<double>::quiet_NaN();
  }
  const auto rounds = [](const metal::LineRounding& line) { return line.largest_relative > 0.0; };
  const auto rounding_lines = static_cast<std::size_t>(std::ranges::count_if(plain.roundings, rounds));
  SourceLines source(prepared.variant.source);
  double conversions_made = 0;
  const auto contribution_at = [&](const metal::SourceLocation& place) -> std::optional<Contribution> {
    running.rounded_line = place;
    const Outcome rounded = execute_once(prepared, test_case, running, schedule, kept);
    if (!rounded.shadowed) return std::nullopt;
    const Contribution part = contribution_of(rounded.shadowed->shadows, outputs);
    if (explanation.birth && explanation.birth->place == place) explanation.birth_contribution = part.root_mean_square;
    return part;
  };
  for (metal::LineRounding& line : lines_to_try(std::move(plain.roundings), asked.most_lines)) {
    const std::optional<Contribution> tried = contribution_at(line.place);
    if (!tried) continue;
    const Contribution& part = *tried;
    conversions_made += part.conversions;
    std::string text = source.line(line.place);
    explanation.lines.push_back({std::move(line), std::move(text), part.root_mean_square, part.share});
  }
  if (explanation.birth && !explanation.birth_contribution) static_cast<void>(contribution_at(explanation.birth->place));
  std::ranges::sort(explanation.lines, [](const LineContribution& a, const LineContribution& b) {
    // A line that overflows on its own outweighs all others. If there is no error, all shares are 0.
    const auto weight = [](const LineContribution& line) {
      return std::tuple(std::isinf(line.contribution), std::abs(line.share), line.contribution);
    };
    return weight(a) != weight(b) ? weight(a) > weight(b) : a.rounding.place.line < b.rounding.place.line;
  });
  explanation.lines_left_out = rounding_lines - explanation.lines.size();
  if (explanation.lines.empty()) return explanation;
  // A kernel omits at most all of the conversions, and makes up for no more than them. Where lines round in other ways that resemble these,
  // the sum is a number without such a meaning.
  explanation.missing_conversions_share = share_of_conversions(std::clamp(conversions_made - 1.0, -1.0, 0.0), outputs);
  explanation.share_left_out = 1.0 - explanation.missing_conversions_share;
  for (const LineContribution& line : explanation.lines) explanation.share_left_out -= line.share;
  return explanation;
}

}  // namespace assay::harness

// The explanation of a case's error as text and JSON.
#include "reports/explanation.h"
#include "harness/findings/fault_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace assay::reports {
namespace {

using harness::ErrorSplit;
using harness::Explanation;
using harness::LineContribution;
using harness::SplitElement;
using Json = nlohmann::ordered_json;

std::string place_text(const metal::SourceLocation& place) { return fmt::format("{}:{}", place.file, place.line); }

std::string places_text(const std::vector<metal::SourceLocation>& places) {
  std::vector<std::string> texts;
  for (const metal::SourceLocation& place : places) texts.push_back(place_text(place));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string elements_text(const ErrorSplit& split, std::size_t row_length) {
  if (split.worst.empty()) return {};
  std::string text = "\nworst elements: value - expected = rounding + logic\n";
  text += fmt::format("  {:>8} {:>6} {:>10}  {:>16} {:>16}  {:>16} {:>16}  {:>10} {:>10} {:>10}  {}\n", "index", "row", "coordinate",
                      "value", "shadow", "expected", "unconverted", "bound", "rounding", "logic", "mostly");
  for (const SplitElement& element : split.worst) {
    text +=
        fmt::format("  {:>8} {:>6} {:>10}  {:>16.9g} {:>16.9g}  {:>16.9g} {:>16.9g}  {:>10.3g} {:>10.3g} {:>10.3g}  {}\n", element.index,
                    element.index / row_length, element.index % row_length, element.actual, element.shadow, element.expected, element.exact,
                    element.bound, element.rounding(), element.logic(), element.is_mostly_logic() ? "logic" : "rounding");
  }
  text +=
      "  shadow: the value without any rounding; unconverted: the expected value without the conversions that the contract requires;\n"
      "  the shadow omits these conversions too, so their effect counts neither as rounding nor as logic\n";
  return text;
}

std::string lines_text(const Explanation& explanation) {
  if (explanation.lines.empty()) return {};
  std::string text = "\nlines by their contribution to the rounding error, each tried separately\n";
  text += fmt::format("  {:>7}  {:>10}  {:>10}  {:>12}  {:<14}  {}\n", "share", "rms/bound", "largest", "operations", "largest in", "line");
  for (const LineContribution& line : explanation.lines) {
    text += fmt::format("  {:>6.1f}%  {:>10.3g}  {:>10.3g}  {:>12}  {:<14}  {}\n{:>53}  {}\n", 100.0 * line.share, line.contribution,
                        line.rounding.largest_relative, line.rounding.operations, line.rounding.what, place_text(line.rounding.place), "",
                        line.text);
  }
  if (explanation.conversions != 0.0)
    text += fmt::format("  {:>6.1f}%  {:>10}  conversions that the contract requires and no line makes\n",
                        100.0 * explanation.missing_conversions_share, "");
  text +=
      "  share: part of the squared rounding error. All lines together have 100 %; a line that cancels errors of others is below 0.\n"
      "  Conversions that the contract requires are not included. largest: the largest relative error of a single operation.\n";
  if (explanation.lines_left_out != 0) {
    text += fmt::format("  {} more lines round but were not tried; {:.1f} % remains for them\n", explanation.lines_left_out,
                        100.0 * explanation.share_left_out);
  }
  return text;
}

std::string means_text(const Explanation& explanation) {
  std::string text = "\nroot mean square over the elements, in units of their bounds\n";
  text += fmt::format("  {:>10.3g}  rounding: value - shadow{}\n", explanation.rounding,
                      explanation.conversions == 0.0 ? "" : ", without the conversions that the contract requires");
  if (explanation.conversions != 0.0)
    text += fmt::format("  {:>10.3g}    these conversions, which are not errors\n", explanation.conversions);
  text += fmt::format("  {:>10.3g}  logic: shadow - unconverted\n", explanation.logic);
  if (explanation.not_finite != 0)
    text += fmt::format("  without {} not finite\n",
                        explanation.not_finite == 1 ? "1 element that is" : fmt::format("{} elements that are", explanation.not_finite));
  return text;
}

Json json_of(const metal::SourceLocation& place) { return {{"file", place.file}, {"line", place.line}}; }

Json json_of(const SplitElement& element, std::size_t row_length) {
  return {
      {"index", element.index},         {"row", element.index / row_length}, {"coordinate", element.index % row_length},
      {"value", element.actual},        {"shadow", element.shadow},          {"expected", element.expected},
      {"bound", element.bound},         {"unconverted", element.exact},      {"unconverted_bound", element.exact_bound},
      {"rounding", element.rounding()}, {"logic", element.logic()},          {"mostly", element.is_mostly_logic() ? "logic" : "rounding"}};
}

Json json_of(const LineContribution& line) {
  Json json = json_of(line.rounding.place);
  json["text"] = line.text;
  json["share"] = line.share;
  json["rms_over_bound"] = line.contribution;
  json["loses_most"] = line.rounding.what;
  json["operations"] = line.rounding.operations;
  json["largest_relative"] = line.rounding.largest_relative;
  json["mean_relative"] = line.rounding.mean_relative;
  return json;
}

Json json_of(const ErrorSplit& split, std::size_t row_length) {
  Json json = {{"elements", split.elements},
               {"discrete", split.discrete},
               {"logic_above_bound", split.above_bound},
               {"max_rounding_over_bound", split.max_rounding_ratio},
               {"max_rounding_index", split.max_rounding_index},
               {"max_logic_over_bound", split.max_logic_ratio},
               {"max_logic_index", split.max_logic_index},
               {"worst", Json::array()}};
  for (const SplitElement& element : split.worst) json["worst"].push_back(json_of(element, row_length));
  return json;
}

}  // namespace

std::string split_text(const ErrorSplit& split) {
  if (split.elements == 0) return fmt::format("none: {} discrete elements have no split", split.discrete);
  std::string text = fmt::format("rounding up to {:.4g} of the bound at index {}, logic up to {:.4g} at index {}", split.max_rounding_ratio,
                                 split.max_rounding_index, split.max_logic_ratio, split.max_logic_index);
  if (split.discrete != 0) text += fmt::format("; {} discrete elements have no split", split.discrete);
  return text;
}

namespace {

// Whether the output is wrong without any rounding, and no line rounds too much or overflows.
bool is_only_logic(const Explanation& explanation) {
  const ErrorSplit& split = *explanation.verdict.split;
  const bool rounds_too = !split.worst.empty() && !split.worst.front().is_mostly_logic();
  const bool overflows = explanation.birth && explanation.birth->is_overflow;
  return split.above_bound != 0 && explanation.verdict.lost_shadows.empty() && !rounds_too && !overflows;
}

}  // namespace

std::string conclusion_of(const Explanation& explanation) {
  const harness::Verdict& verdict = explanation.verdict;
  if (!verdict.split) return "there is no output to explain";
  const ErrorSplit& split = *verdict.split;
  if (split.elements == 0) return fmt::format("there is no error to split: {}", split_text(split));
  const bool is_wrong = verdict.judgement.above_bound + verdict.judgement.nans + verdict.judgement.infs != 0;
  if (split.above_bound != 0 && !verdict.lost_shadows.empty()) {
    return fmt::format(
        "logic and rounding cannot be separated: the kernel computes with the bits of numbers at {}, after which shadows restart "
        "from the rounded values",
        places_text(verdict.lost_shadows));
  }
  if (split.above_bound != 0) {
    const SplitElement* worst = split.worst.empty() ? nullptr : &split.worst.front();
    const std::string mistake = fmt::format(
        "the kernel computes the wrong thing: even without rounding, {} of {} elements {} wrong; "
        "the worst is element {}, whose error is {:.3g} times its bound",
        split.above_bound, split.elements, split.above_bound == 1 ? "is" : "are", split.max_logic_index, split.max_logic_ratio);
    const bool rounds_too = is_wrong && worst != nullptr && !worst->is_mostly_logic();
    return mistake + (rounds_too
                          ? fmt::format("; it also rounds too much: the error of the worst element, {}, is mostly rounding", worst->index)
                          : "");
  }
  constexpr double kMostOfTheError = 0.5;
  if (is_wrong && explanation.missing_conversions_share > kMostOfTheError) {
    return fmt::format(
        "the formula is right, but the kernel omits a rounding that the contract requires (docs/CONTRACTS.md): the error of element {} "
        "is {:.3g} times its bound, and {:.0f} % of the squared error is the effect of the conversions that the contract requires",
        split.max_rounding_index, split.max_rounding_ratio, 100.0 * explanation.missing_conversions_share);
  }
  if (is_wrong) {
    return fmt::format(
        "the formula is right, but the kernel rounds too much: the error of element {} is {:.3g} times its bound; without "
        "rounding, every error is within {:.3g} of its bound",
        split.max_rounding_index, split.max_rounding_ratio, split.max_logic_ratio);
  }
  return fmt::format("all elements are within their bounds: {}", split_text(split));
}

std::string explanation_text(const Explanation& explanation) {
  std::string text = conclusion_of(explanation) + '\n';
  const harness::Verdict& verdict = explanation.verdict;
  if (!verdict.split || verdict.split->elements == 0) return text;
  if (!verdict.lost_shadows.empty() && verdict.split->above_bound == 0)
    text += fmt::format("shadows restart from the rounded values after {}, where the kernel computes with the bits of numbers\n",
                        places_text(verdict.lost_shadows));
  text += elements_text(*verdict.split, verdict.row_length);
  text += means_text(explanation);
  if (is_only_logic(explanation))
    return text + "\nwhere it rounds says nothing about such a mistake, so no line is named; `assay triage` looks for the line\n";
  text += lines_text(explanation);
  text += fmt::format("\nfirst relative error above {:.3g}\n  ", explanation.large_error);
  if (!explanation.birth) return text + "none: no operation has such an error in its result and none in its operands\n";
  if (explanation.has_telling_birth()) return text + fmt::format("in {}: {}\n", explanation.birth->function, explanation.birth->message);
  return text +
         fmt::format(
             "none that matters: the first is in {}:{}, whose rounding, apart from conversions that the contract requires, changes the "
             "output by {:.3g} times its bound\n",
             explanation.birth->place.file, explanation.birth->place.line, *explanation.birth_contribution);
}

std::string explanation_json(const Explanation& explanation) {
  const harness::Verdict& verdict = explanation.verdict;
  Json json = {{"case", harness::format_case(verdict.test_case)},
               {"status", harness::to_string(verdict.status)},
               {"reason", harness::reason_of(verdict)},
               {"conclusion", conclusion_of(explanation)},
               {"schedule", verdict.schedules},
               {"executed_on", "simulator"}};
  json["split"] = verdict.split ? json_of(*verdict.split, verdict.row_length) : Json();
  json["lost_shadows"] = Json::array();
  for (const metal::SourceLocation& place : verdict.lost_shadows) json["lost_shadows"].push_back(json_of(place));
  json["rms_over_bound"] = {{"rounding", explanation.rounding},
                            {"conversions", explanation.conversions},
                            {"logic", explanation.logic},
                            {"not_finite", explanation.not_finite}};
  json["lines"] = Json::array();
  for (const LineContribution& line : explanation.lines) json["lines"].push_back(json_of(line));
  json["missing_conversions_share"] = explanation.missing_conversions_share;
  json["lines_left_out"] = explanation.lines_left_out;
  json["share_left_out"] = explanation.share_left_out;
  json["large_error"] = explanation.large_error;
  json["birth"] = Json();
  if (explanation.has_telling_birth()) {
    json["birth"] = json_of(explanation.birth->place);
    json["birth"]["function"] = explanation.birth->function;
    json["birth"]["message"] = explanation.birth->message;
  }
  return json.dump(2);
}

}  // namespace assay::reports

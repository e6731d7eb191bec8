// Reads the steps of a workflow or an action.
#include "tests/command/workflow_steps.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace assay::tests {
namespace {

std::string unquoted(std::string text) {
  const bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

struct Line {
  std::size_t column;  // of the key
  std::string key, value;
};

Line parsed(const std::string& line) {
  std::size_t column = std::min(line.find_first_not_of(' '), line.size());
  if (line.compare(column, 2, "- ") == 0) column += 2;
  const std::size_t colon = std::min(line.find(':', column), line.size());
  const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
  return {column, line.substr(column, colon - column), unquoted(line.substr(value))};
}

}  // namespace

std::vector<WorkflowStep> workflow_steps(std::string_view yaml) {
  std::vector<WorkflowStep> steps;
  std::istringstream stream{std::string(yaml)};
  std::size_t number = 0, indent = 0;
  std::string block;  // the key whose block the lines are
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::size_t blanks = line.find_first_not_of(' ');
    if (!block.empty() && (blanks == std::string::npos || blanks > indent)) {
      if (block == "run") {
        steps.back().script += (line.size() > indent + 2 ? line.substr(indent + 2) : "") + "\n";
      } else if (const Line entry = parsed(line); blanks != std::string::npos) {
        (block == "env" ? steps.back().environment : steps.back().inputs)[entry.key] = entry.value;
      }
      continue;
    }
    block.clear();
    if (blanks == std::string::npos || line[blanks] == '#') continue;
    const auto [column, key, value] = parsed(line);
    const bool is_first = line.compare(blanks, 2, "- ") == 0;
    if (is_first && (key == "name" || key == "uses" || key == "run")) steps.emplace_back().line = number;
    if (steps.empty()) continue;
    WorkflowStep& step = steps.back();
    indent = column;
    if (key == "name") step.name = value;
    if (key == "id") step.id = value;
    if (key == "if") step.condition = value;
    if (key == "uses") step.uses = value;
    if (key == "env" || key == "with") block = key;
    if (key == "run" && value == "|") {
      block = key;
      step.line = number;
    } else if (key == "run") {
      step.script = value + "\n";
    }
  }
  return steps;
}

std::map<std::string, std::string> evaluated(const WorkflowStep& step, const std::map<std::string, std::string>& values) {
  static const std::regex expression(R"(\$\{\{ *([^}]*?) *\}\})");
  std::map<std::string, std::string> result;
  for (const auto& [name, text] : step.environment) {
    std::string value;
    std::string rest = text;
    for (std::smatch found; std::regex_search(rest, found, expression); rest = found.suffix()) {
      const auto known = values.find(found[1]);
      if (known == values.end()) throw std::out_of_range("no value for " + found[1].str() + " in step " + step.name);
      value += found.prefix().str() + known->second;
    }
    result[name] = value + rest;
  }
  return result;
}

}  // namespace assay::tests

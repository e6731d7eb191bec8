// The steps of a workflow or an action of GitHub, for tests that execute their scripts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::tests {

struct WorkflowStep {
  std::size_t line = 0;  // where the script begins, from 1 on
  std::string name, id, condition, uses;
  std::map<std::string, std::string> environment;  // with the expressions of GitHub: "${{ inputs.kernel }}"
  std::map<std::string, std::string> inputs;       // of `with`, likewise
  std::string script;                              // of `run`
};

// Understands the part of YAML that our files use: keys of one line, and blocks behind `run: |`, `env:` and `with:`.
[[nodiscard]] std::vector<WorkflowStep> workflow_steps(std::string_view yaml);

// The environment of a step with the values of all its expressions. Throws std::out_of_range for one that `values` lacks.
[[nodiscard]] std::map<std::string, std::string> evaluated(const WorkflowStep& step, const std::map<std::string, std::string>& values);

}  // namespace assay::tests

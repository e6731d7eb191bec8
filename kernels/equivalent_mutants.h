// Reads `equivalent.toml` beside a source: mutants that no test can tell from the original, each with a reason.
//
// Grammar, one table per line of the source and reason:
//
//   [[equivalent]]
//   line   = "if (head >= params.num_heads) {"        the source line, without the blanks around it
//   ids    = ["condition:55:9:1", "relation:55:14:1"] as `assay mutate` prints them: operator:line:column:number
//   reason = "the launch code dispatches exactly num_heads threadgroups, so no head is out of range"
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::kernels {

struct EquivalentMutant {
  std::string id;
  std::string line;  // of the source, without the blanks around it
  std::string reason;
  std::uint32_t place = 0;  // line of the description, for messages
};

// Parses the text of an equivalent.toml; `file` is used in messages. Throws VariantError with file and line for syntax errors, unknown keys
// and duplicate ids.
[[nodiscard]] std::vector<EquivalentMutant> parse_equivalent_mutants(std::string_view text, const std::filesystem::path& file);

// Reads the file in the folder of `source`; returns nothing if there is none.
[[nodiscard]] std::vector<EquivalentMutant> read_equivalent_mutants(const std::filesystem::path& source);

}  // namespace assay::kernels

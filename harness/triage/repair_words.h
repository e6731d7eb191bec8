// The class of a mistake for which there is no other evidence, from the names that its repair changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::harness {

struct RepairWord {
  std::string_view kind;  // a class of families/mistakes.h
  std::string word;       // "v_stride"
};

// From what only one of the sources has at the places where they differ, else from the lines around. nullopt if no word there is a usual
// name of something that goes wrong.
[[nodiscard]] std::optional<RepairWord> word_of_repair(const std::string& source, const std::string& repaired);

}  // namespace assay::harness

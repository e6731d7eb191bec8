// The difference of two texts as a unified diff, which `patch -p1` applies.
#pragma once

#include <string>
#include <string_view>

namespace assay::reports {

// Empty if the texts are equal. `name` is the file's; three lines of context. Texts that differ in many thousand lines are one hunk.
[[nodiscard]] std::string unified_diff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace assay::reports

// Annotations as commands to the runner of GitHub Actions, which shows them at their lines.
#pragma once

#include <span>
#include <string>

#include "reports/annotation.h"

namespace assay::reports {

// GitHub shows at most ten errors, ten warnings and ten notices of a step.
inline constexpr std::size_t kMostCommands = 10;  // of each level

// A line each: "::error file=kernels/mine.metal,line=12,title=...::...". Text cannot end its property, its command or its line. A last
// notice says how many are left out. Files outside of the root have no line in the repository, so their paths are part of the message.
[[nodiscard]] std::string github_commands(std::span<const Annotation> annotations);

}  // namespace assay::reports

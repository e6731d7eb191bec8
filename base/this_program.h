// Runs this program again.
#pragma once

#include <string>
#include <vector>

#include "base/process.h"

namespace assay::base {

// Starts this program with these arguments, which do not include its name. It writes to the standard output and standard error of this
// process, has its environment, no standard input, and gets Ctrl-C from the terminal as this process does. Throws ProcessRefused.
[[nodiscard]] Process start_this_program(const std::vector<std::string>& arguments);

}  // namespace assay::base

// The lines of sources around places, read while the process that compiled them still knows their files.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::harness {

// Lines of files by name, so that each is read once.
using SourceTexts = std::map<std::string, std::vector<std::string>>;

// Three lines before each place and three after it, ascending by file and line. None of a file that this process has not compiled: a
// kernel may give its lines the name of any file.
[[nodiscard]] std::vector<SourceLine> lines_around(std::span<const metal::SourceLocation> places, SourceTexts& texts);

}  // namespace assay::harness

// How a run is named on the command line: by its number, or by its place among the newest; in the user's own ledger, or in a file.
#pragma once

#include <memory>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::cli {

inline constexpr const char* kRunReferenceHelp = "number, `latest` or `latest~K`; FILE:RUN or FILE (its latest) for another ledger";

struct NamedRun {
  std::shared_ptr<const harness::Ledger> ledger;
  harness::RunRecord run;
};

// `ledger` is where a run is looked for that names no file; empty: the user's own. Throws harness::LedgerError, and std::invalid_argument
// for what is no reference.
[[nodiscard]] NamedRun find_run(const std::string& reference, const std::string& ledger);

}  // namespace assay::cli

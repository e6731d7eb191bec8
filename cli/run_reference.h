// Parses references to recorded runs: by number, or relative to the newest; in the default ledger, or in a file.
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

// `ledger` is searched if the reference names no file; empty: the default ledger. Throws harness::LedgerError, and std::invalid_argument
// for a malformed reference.
[[nodiscard]] NamedRun find_run(const std::string& reference, const std::string& ledger);

// Says on standard error why the verdicts of the run may not be those that were given, if they are not sealed with the user's key.
void say_doubt(const NamedRun& named);

}  // namespace assay::cli

// The tables of a ledger, version by version, and views that read older versions without changing the file. Internal to
// harness/ledger/; ledger.h describes the columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace assay::harness {

inline constexpr std::int64_t kLedgerApplicationId = 0x41535359;  // "ASSY"

// Element i is the SQL that upgrades a file of version i to version i + 1; a new file has version 0. A released version
// is never changed.
[[nodiscard]] std::span<const char* const> ledger_versions();

// Element i is the SQL of temporary tables and views through which a file of version i + 1 reads like one of the newest version; there
// is one for each older version. Temporary names take precedence over those of the file.
[[nodiscard]] std::span<const std::string> ledger_readings();

}  // namespace assay::harness

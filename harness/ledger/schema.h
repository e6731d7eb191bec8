// The tables of a ledger, version by version, and how a file of an older version is read without a change to it. Internal to
// harness/ledger/; ledger.h says what the columns mean.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace assay::harness {

inline constexpr std::int64_t kLedgerApplicationId = 0x41535359;  // "ASSY"

// SQL that makes version i + 1 of a file of version i; a new file is of version 0. A version that was released is never changed.
[[nodiscard]] std::span<const char* const> ledger_versions();

// SQL of temporary tables and views through which a file of version i + 1 reads as one of the newest: for every version but that. Names of
// temporary things come before the file's.
[[nodiscard]] std::span<const std::string> ledger_readings();

}  // namespace assay::harness

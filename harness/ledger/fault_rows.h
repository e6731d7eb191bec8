// The form of a fault in a ledger: its kind, and its values by name. Internal to harness/ledger/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "harness/findings/fault.h"

namespace assay::harness {

// NaNs are the texts "nan" and "-nan", because SQLite has no NaN. Enumerators are their names.
using FaultValue = std::variant<std::int64_t, double, std::string>;
// By the name of the member: "count", "place.line", "places[0].first".
using FaultValues = std::map<std::string, FaultValue>;

// The values of a fault; absent optionals have no entry.
[[nodiscard]] FaultValues values_of(const Fault& fault);

// Throws std::invalid_argument, with the reason, for an unknown kind, and for values that are missing, of another type, or not
// of that kind.
[[nodiscard]] Fault fault_from(std::string_view kind, std::string schedule, const FaultValues& values);

}  // namespace assay::harness

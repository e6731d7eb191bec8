// A fault as a ledger keeps it: its kind, and its values by name. Internal to harness/ledger/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "harness/findings/fault.h"

namespace assay::harness {

// Numbers that are none are the texts "nan" and "-nan", because SQLite has no such numbers; enumerators are their names.
using FaultValue = std::variant<std::int64_t, double, std::string>;
// By the member's name: "count", "place.line", "places[0].first".
using FaultValues = std::map<std::string, FaultValue>;

[[nodiscard]] FaultValues values_of(const Fault& fault);

// Throws std::invalid_argument, which says what is wrong, for a kind that there is not, and for values that are missing, of another type,
// or none of that kind.
[[nodiscard]] Fault fault_from(std::string_view kind, std::string schedule, const FaultValues& values);

}  // namespace assay::harness

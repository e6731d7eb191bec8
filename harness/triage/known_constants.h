// Conditions of a source that the function constants of a case decide: what they exclude did not run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/mutate/source.h"
#include "harness/prepare/workbench.h"

namespace assay::harness {

// By name; a boolean is 0 or 1.
using KnownConstants = std::map<std::string, std::int64_t, std::less<>>;

// Booleans and integers of the source that have one value in all functions that the case launches: function constants, and constants with a
// literal.
[[nodiscard]] KnownConstants known_constants(const PreparedVariant& prepared, const Case& test_case, const Source& source);

// Whether the condition in tokens [first, last) holds; nullopt if that depends on a name of which `value_of` has no value, or if the
// condition is very long. Knows `||`, `&&`, `!` and comparisons.
[[nodiscard]] std::optional<bool> known_condition(const std::vector<SourceToken>& tokens, std::size_t first, std::size_t last,
                                                  const std::function<std::optional<std::int64_t>(std::string_view)>& value_of);

}  // namespace assay::harness

// Launch traces as text for people and as JSON for hosts in any language, and a reader of the JSON (docs/DISPATCH.md has the format).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/dispatch/check.h"
#include "harness/dispatch/recorder.h"
#include "harness/dispatch/trace.h"

namespace assay::reports {

inline constexpr int kTraceVersion = 1;    // what is written: no tensors
inline constexpr int kTensorsVersion = 2;  // may list tensors

// Lists every dispatch with its arguments, field by field.
[[nodiscard]] std::string dispatch_text(const std::string& case_name, std::span<const harness::ContractDispatch> dispatches);

// The same in the trace format; this trace agrees with the contract.
[[nodiscard]] std::string dispatch_json(const std::string& case_name, std::span<const harness::ContractDispatch> dispatches);

// Parses an untrusted trace; `file` is used in messages. Every value is checked before use, and no number in it determines how much memory
// is allocated. Throws harness::TraceError with the place ("commands[0].bindings[2].length") and what is accepted there.
[[nodiscard]] harness::Trace parse_trace(std::string_view json, const std::string& file);

// Differences and remarks, one per line, and the outcome as the last line; if strict, also what is tolerated.
[[nodiscard]] std::string check_text(const std::string& case_name, const harness::TraceCheck& check, bool strict);

}  // namespace assay::reports

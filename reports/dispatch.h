// Dispatch traces as text for people and as JSON for hosts in any language (docs/DISPATCH.md has the format), and reading the latter back.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/dispatch/check.h"
#include "harness/dispatch/recorder.h"
#include "harness/dispatch/trace.h"

namespace assay::reports {

inline constexpr int kTraceVersion = 1;

// Every dispatch with its arguments, field by field.
[[nodiscard]] std::string dispatch_text(const std::string& case_name, std::span<const harness::ContractDispatch> dispatches);

// The same in the format of traces: what it prints is itself a trace that agrees with the contract.
[[nodiscard]] std::string dispatch_json(const std::string& case_name, std::span<const harness::ContractDispatch> dispatches);

// Reads a trace; `file` stands in messages. Nothing in it is believed before it is checked, and no number in it decides how much memory is
// taken. Throws harness::TraceError with the place ("commands[0].bindings[2].length") and what is accepted there.
[[nodiscard]] harness::Trace parse_trace(std::string_view json, const std::string& file);

// Differences and remarks, a line each, and the outcome as the last one.
[[nodiscard]] std::string check_text(const std::string& case_name, const harness::TraceCheck& check);

}  // namespace assay::reports

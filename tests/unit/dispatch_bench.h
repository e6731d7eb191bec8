// The launches that tests of traces start from: a case per family, as a host's recorder would have written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/dispatch/check.h"
#include "harness/dispatch/recorder.h"
#include "harness/dispatch/replay.h"
#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"
#include "reports/dispatch.h"

namespace assay::tests {

// By family.
const std::map<std::string, std::string>& dispatch_cases();

const harness::PreparedVariant& prepared(const std::string& family);
std::vector<harness::ContractDispatch> contract(const std::string& family);
harness::Trace recorded(const std::string& family);
harness::TraceCheck check(const std::string& family, const harness::Trace& trace);

// The little-endian word at `offset` of the bytes at buffer `index`.
void set_word(harness::Trace& trace, std::size_t dispatch, std::uint32_t index, std::size_t offset, std::uint32_t value);

// What the launch computes, under one schedule.
harness::Verdict executed(const std::string& family, const harness::Trace& trace, bool concurrent = false);

}  // namespace assay::tests

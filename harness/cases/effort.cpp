// Estimates the processor time of cases from their work (Family::work).
#include "harness/cases/effort.h"

#include <algorithm>

namespace assay::harness {
namespace {

constexpr double kPerCase = 10e-3;  // seconds of a case without work: buffers, processes, ledger
constexpr double kPerWork = 13e-9;  // seconds for each unit of Family::work

// A cache of gigabytes (fixture `huge`) is never filled: no case does more.
constexpr std::int64_t kMostEffort = std::int64_t{1} << 27;

}  // namespace

double expected_seconds(const Case& value) {
  return kPerCase + kPerWork * static_cast<double>(std::clamp<std::int64_t>(value.family->work(value.values), 0, kMostEffort));
}

double expected_seconds(std::span<const Case> cases) {
  double seconds = 0;
  for (const Case& value : cases) seconds += expected_seconds(value);
  return seconds;
}

}  // namespace assay::harness

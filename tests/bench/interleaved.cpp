// Measures contenders in turn and compares their times.
#include "tests/bench/interleaved.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace assay::tests {
namespace {

double process_cpu_seconds() {
  timespec now{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) throw std::system_error(errno, std::generic_category(), "clock_gettime");
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The upper one of the two middle values if their number is even.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Interleaved::Interleaved(std::vector<Contender> contenders) : contenders_(std::move(contenders)), seconds_(contenders_.size()) {
  for (const Contender& contender : contenders_) contender.work();
}

double Interleaved::round() {
  double total = 0.0;
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    const double start = process_cpu_seconds();
    contenders_[i].work();
    seconds_[i].push_back(process_cpu_seconds() - start);
    total += seconds_[i].back();
  }
  ++rounds_;
  return total;
}

const std::vector<double>& Interleaved::seconds_of(const std::string& name) const {
  const auto found = std::ranges::find(contenders_, name, &Contender::name);
  if (found == contenders_.end()) throw std::invalid_argument(fmt::format("no contender '{}'", name));
  if (rounds_ == 0) throw std::logic_error(fmt::format("no round of '{}' has been timed", name));
  return seconds_[static_cast<std::size_t>(found - contenders_.begin())];
}

Timing Interleaved::timing(const std::string& name) const {
  const std::vector<double>& seconds = seconds_of(name);
  const auto [smallest, largest] = std::ranges::minmax(seconds);
  return {smallest, median(seconds), largest};
}

double Interleaved::disturbance() const {
  double largest = 0.0;
  for (const Contender& contender : contenders_) {
    const Timing seen = timing(contender.name);
    largest = std::max(largest, seen.median / seen.smallest - 1.0);
  }
  return largest;
}

double Interleaved::ratio(const std::string& numerator, const std::string& denominator) const {
  const std::vector<double>& over = seconds_of(numerator);
  const std::vector<double>& under = seconds_of(denominator);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds_; ++i) ratios.push_back(over[i] / under[i]);
  return median(std::move(ratios));
}

Interleaved measure_calmly(const std::vector<Interleaved::Contender>& contenders, std::size_t rounds) {
  constexpr double kCalm = 0.08;
  constexpr std::size_t kAttempts = 8;
  std::optional<Interleaved> calmest;
  for (std::size_t attempt = 0; attempt < kAttempts && (!calmest || calmest->disturbance() > kCalm); ++attempt) {
    Interleaved measured(contenders);
    for (std::size_t i = 0; i < rounds; ++i) measured.round();
    fmt::print("measurement {}: disturbed by {:.1f} %\n", attempt + 1, 100.0 * measured.disturbance());
    if (!calmest || measured.disturbance() < calmest->disturbance()) calmest.emplace(std::move(measured));
  }
  return *std::move(calmest);
}

}  // namespace assay::tests

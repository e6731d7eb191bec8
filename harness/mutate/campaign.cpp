// Tries mutants in parallel processes, within a budget of time.
#include "harness/mutate/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/server.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

constexpr std::chrono::milliseconds kCampaignTick{200};
constexpr double kSlowestTimes = 10;
// Per case of the original, which may never end: this, or a multiple of the limit of the mutants.
constexpr std::chrono::duration<double> kOriginalTimeout{20};
constexpr double kOriginalTimes = 4;

TrialResult unjudged(std::string reason) {
  TrialResult result;
  result.reason = std::move(reason);
  return result;
}

TrialResult cut_off(Cut cut) {
  TrialResult result = unjudged(cut == Cut::interrupted ? "interrupted" : "the budget was used up");
  result.cut = cut;
  return result;
}

constexpr std::uint64_t kLongestResult = std::uint64_t{16} << 20;

base::Server start(const Trial& trial, const std::string& mutated, std::chrono::duration<double> timeout) {
  // An interrupt ends these processes too. The next run judges the remaining mutants.
  const base::ChildSetup setup{.name = "process for a mutant", .keeps_fault_handlers = true};
  try {
    return {setup, kLongestResult, [&](std::span<const std::byte>) {
              TrialResult result;
              try {
                result = trial.run(mutated, timeout);
              } catch (const std::exception& error) {
                result = unjudged(error.what());
                std::ranges::replace(result.reason, '\n', ' ');
              }
              return base::to_bytes(result);
            }};
  } catch (const base::ProcessRefused& refused) {
    throw metal::EnvironmentError(refused.what());
  }
}

// A process that tries one mutant.
class TrialProcess {
 public:
  TrialProcess(const Trial& trial, const std::string& mutated, std::chrono::duration<double> timeout, std::size_t index)
      : index_(index), server_(start(trial, mutated, timeout)) {
    server_.ask({});
  }

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] int descriptor() const { return server_.descriptor(); }
  // Does not wait; empty while the process works.
  [[nodiscard]] std::optional<TrialResult> result() {
    const std::optional<base::Reply> reply = server_.receive();
    return reply ? std::optional(result_of(*reply)) : std::nullopt;
  }

 private:
  static TrialResult result_of(const base::Reply& reply) {
    if (reply.kind == base::Reply::Kind::ended && reply.ending.kind == base::Ending::Kind::killed)
      return unjudged(fmt::format("its process was killed by {}", reply.ending.to_string()));
    if (reply.kind == base::Reply::Kind::ended)
      return unjudged(fmt::format("its process ended with status {} and left no result", reply.ending.number));
    try {
      return base::from_bytes<TrialResult>(reply.bytes);
    } catch (const base::DamagedArchive& error) {
      return unjudged(fmt::format("its process left no result ({})", error.what()));
    }
  }

  std::size_t index_;
  base::Server server_;
};

// Waits until a process has output, or for a short time.
void wait_for_any(const std::vector<TrialProcess>& running) {
  std::vector<int> descriptors;
  for (const TrialProcess& process : running) descriptors.push_back(process.descriptor());
  base::wait_for_any(descriptors, kCampaignTick);
}

TrialResult judge_alone(const Trial& trial, const std::string& text, std::chrono::duration<double> timeout, const std::atomic<bool>& stop) {
  std::vector<TrialProcess> running;
  running.emplace_back(trial, text, timeout, 0);
  while (!stop) {
    wait_for_any(running);
    if (std::optional<TrialResult> result = running.front().result()) return *result;
  }
  return cut_off(Cut::interrupted);
}

}  // namespace

std::vector<TrialResult> run_campaign(const Trial& trial, const Source& source, std::span<const Mutant> mutants,
                                      const CampaignOptions& options, const std::atomic<bool>& stop, CampaignListener& listener) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(options.budget);
  std::vector<TrialResult> results(mutants.size(), cut_off(Cut::interrupted));
  const TrialResult original = judge_alone(trial, source.text(), std::max(kOriginalTimeout, kOriginalTimes * options.timeout), stop);
  if (stop) return results;
  if (original.fate == Fate::unjudged) throw std::runtime_error(fmt::format("{} cannot be judged: {}", source.name(), original.why()));
  if (original.fate != Fate::survived) {
    throw std::invalid_argument(fmt::format("{} already fails unchanged, so its mutants would prove nothing: under policy {} {} {}: {}",
                                            source.name(), to_string(original.policy), to_string(original.verdict), original.case_name,
                                            original.why()));
  }
  const auto timeout = std::max(options.timeout, std::chrono::duration<double>(kSlowestTimes * original.slowest_seconds));

  std::vector<TrialProcess> running;
  std::size_t next = 0;
  std::size_t done = 0;
  while (!stop && done < mutants.size()) {
    if (next < mutants.size() && std::chrono::steady_clock::now() >= end) {
      std::fill(results.begin() + static_cast<std::ptrdiff_t>(next), results.end(), cut_off(Cut::out_of_budget));
      done += mutants.size() - next;
      next = mutants.size();
      continue;
    }
    while (running.size() < std::max(1U, options.jobs) && next < mutants.size()) {
      running.emplace_back(trial, mutated_text(source, mutants[next]), timeout, next);
      ++next;
    }
    wait_for_any(running);
    for (std::size_t i = running.size(); i-- > 0;) {
      std::optional<TrialResult> result = running[i].result();
      if (!result) continue;
      const std::size_t index = running[i].index();
      results[index] = std::move(*result);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      if (!stop) listener.judged(mutants[index], results[index], ++done, mutants.size());
    }
  }
  return results;
}

}  // namespace assay::harness

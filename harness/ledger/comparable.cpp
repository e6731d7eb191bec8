// Finds runs of the same request, and lists what differs between two runs.
#include "harness/ledger/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <stdexcept>

#include "harness/cases/selection.h"
#include "harness/ledger/shell_line.h"

namespace assay::harness {
namespace {

bool asks_the_same(const RunDescription& one, const RunDescription& other) {
  const auto wish = [](const RunDescription& run) {
    return std::tie(run.selection, run.shard, run.schedule, run.seed, run.replay_options, run.environment.policy);
  };
  return !one.selection.empty() && wish(one) == wish(other);
}

const SourceRecord* source_of(const Environment& environment, const std::string& variant) {
  const auto found = std::ranges::find(environment.sources, variant, &SourceRecord::variant);
  return found == environment.sources.end() ? nullptr : &*found;
}

}  // namespace

std::optional<RunRecord> find_run_like(const Ledger& ledger, const RunDescription& wanted) {
  const std::vector<RunRecord> runs = ledger.runs();
  for (const RunRecord& run : std::views::reverse(runs)) {
    if (asks_the_same(run.description, wanted)) return run;
  }
  return std::nullopt;
}

std::vector<std::string> differences_of(const RunDescription& earlier, const RunDescription& later) {
  std::vector<std::string> differences;
  const Environment& a = earlier.environment;
  const Environment& b = later.environment;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now) differences.push_back(fmt::format("{}: {}, now {}", what, before.empty() ? "unknown" : before, now));
  };
  compare("version of assay", earlier.version, later.version);
  if (earlier.version == later.version && a.build != b.build) differences.emplace_back("build of assay");
  compare("policy", a.policy, b.policy);
  compare("schedule", earlier.schedule, later.schedule);
  compare("seed", std::to_string(earlier.seed), std::to_string(later.seed));
  // No options means "none", not that an older ledger lacks the value.
  const auto options = [](const RunDescription& run) {
    return run.replay_options.empty() ? std::string("none") : shell_line(run.replay_options);
  };
  compare("options", options(earlier), options(later));
  compare("compiler", a.compiler, b.compiler);
  compare("compiler's options", a.flags, b.flags);
  if (a.compiler == b.compiler && a.flags == b.flags && a.toolchain != b.toolchain)
    differences.emplace_back("shader headers, plugin, processor or file of the compiler");
  std::set<std::string> variants;
  for (const Environment* environment : {&a, &b}) {
    for (const SourceRecord& source : environment->sources) variants.insert(source.variant);
  }
  for (const std::string& variant : variants) {
    const SourceRecord* before = source_of(a, variant);
    const SourceRecord* now = source_of(b, variant);
    // Compares only variants of both runs, because a shard may have no case of a variant.
    if (before != nullptr && now != nullptr && before->digest != now->digest) differences.push_back(fmt::format("kernel of {}", variant));
  }
  return differences;
}

std::optional<ShardNumber> shard_number(const std::string& text) {
  try {
    const Shard shard = parse_shard(text);
    return ShardNumber{shard.index + 1, shard.count};
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace assay::harness

// Checks that shards belong together, and merges their runs.
#include "harness/ledger/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/ledger/comparable.h"

namespace assay::harness {
namespace {

std::string place_of(const ShardRun& shard) { return fmt::format("run {} of {}", shard.run, shard.ledger->file().string()); }

// Machines of a job array may differ, and each may have its own build.
bool is_only_noted(const std::string& difference) {
  return difference == "build of assay" || difference == "shader headers, plugin, processor or file of the compiler";
}

void add_sources(std::vector<SourceRecord>& sources, const std::vector<SourceRecord>& more) {
  for (const SourceRecord& source : more) {
    if (std::ranges::find(sources, source.variant, &SourceRecord::variant) == sources.end()) sources.push_back(source);
  }
}

// The description of the whole run, and the numbers of the shards that were given.
struct Whole {
  RunDescription description;
  std::size_t count = 0;  // of the shards of a full run
  std::set<std::size_t> numbers = {};
};

// Checks that the shard belongs to the whole, and adds its number.
void add_number(Whole& whole, const ShardRun& first, const ShardRun& shard, const RunDescription& description) {
  if (description.selection != whole.description.selection)
    throw LedgerError(fmt::format("{} and {} are parts of different selections", place_of(first), place_of(shard)));
  const std::optional<ShardNumber> number = shard_number(description.shard);
  if (!number) throw LedgerError(fmt::format("{} is a whole run, not a shard", place_of(shard)));
  if (whole.count != 0 && number->count != whole.count)
    throw LedgerError(
        fmt::format("{} is shard {} of {}, but others are shards of {}", place_of(shard), number->number, number->count, whole.count));
  whole.count = number->count;
  if (!whole.numbers.insert(number->number).second)
    throw LedgerError(fmt::format("{} is shard {} of {}, which was given already", place_of(shard), number->number, whole.count));
}

// Throws LedgerError if the shards are not parts of the same run.
Whole whole_of(std::span<const ShardRun> shards, std::span<const RunRecord> runs) {
  const ShardRun& first = shards.front();
  Whole whole{.description = runs.front().description};
  RunDescription& sum = whole.description;
  if (sum.selection.empty())
    throw LedgerError(fmt::format("{} was recorded by an older assay, which did not store the selected cases", place_of(first)));
  std::set<std::string> notes(sum.notes.begin(), sum.notes.end());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const RunDescription& description = runs[i].description;
    add_number(whole, first, shards[i], description);
    for (const std::string& difference : differences_of(runs.front().description, description)) {
      if (!is_only_noted(difference))
        throw LedgerError(fmt::format("{} and {} differ: {}", place_of(first), place_of(shards[i]), difference));
      notes.insert(fmt::format("the shards' environments differ: {}", difference));
    }
    if (const std::string doubt = shards[i].ledger->doubt_about(shards[i].run); !doubt.empty())
      notes.insert(fmt::format("not verified: {}: {}", place_of(shards[i]), doubt));
    if (description.machine != sum.machine) notes.insert(fmt::format("shards ran on {} and on {}", sum.machine, description.machine));
    for (const std::string& note : description.notes) {
      if (notes.insert(note).second) sum.notes.push_back(note);
    }
    add_sources(sum.environment.sources, description.environment.sources);
  }
  for (const std::string& note : notes) {
    if (std::ranges::find(sum.notes, note) == sum.notes.end()) sum.notes.push_back(note);
  }
  return whole;
}

}  // namespace

Merge merge_runs(std::span<const ShardRun> shards, const std::string& command, Ledger& into) {
  if (shards.empty()) throw LedgerError("there is nothing to merge");
  std::vector<RunRecord> runs;
  for (const ShardRun& shard : shards) runs.push_back(shard.ledger->run(shard.run));
  Whole checked = whole_of(shards, runs);
  RunDescription& whole = checked.description;

  Merge merge;
  whole.command = command;
  whole.shard.clear();
  whole.selected = whole.weaker_accuracy = 0;
  for (const RunRecord& run : runs) {
    whole.selected += run.description.selected;
    whole.weaker_accuracy += run.description.weaker_accuracy;
  }
  merge.run = into.begin(whole);
  for (const ShardRun& shard : shards) into.copy_cases(*shard.ledger, shard.run, merge.run);
  for (std::size_t number = 1; number <= checked.count; ++number) {
    if (checked.numbers.contains(number)) continue;
    merge.missing.push_back(fmt::format("shard {}/{} was not given", number, checked.count));
    merge.again.push_back(number);
  }
  merge.count = checked.count;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (runs[i].verdicts >= runs[i].description.selected) continue;
    merge.missing.push_back(
        fmt::format("{} has verdicts on {} of its {} cases", place_of(shards[i]), runs[i].verdicts, runs[i].description.selected));
    if (const std::optional<ShardNumber> number = shard_number(runs[i].description.shard)) merge.again.push_back(number->number);
  }
  std::ranges::sort(merge.again);
  Summary summary = summary_of(whole.selected, into.cases(merge.run));
  summary.stopped = !merge.missing.empty();
  into.finish(merge.run, summary);
  return merge;
}

}  // namespace assay::harness

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

}  // namespace

Merge merge_runs(std::span<const ShardRun> shards, const std::string& command, Ledger& into) {
  if (shards.empty()) throw LedgerError("there is nothing to merge");
  std::vector<RunRecord> runs;
  for (const ShardRun& shard : shards) runs.push_back(shard.ledger->run(shard.run));

  RunDescription whole = runs.front().description;
  if (whole.selection.empty())
    throw LedgerError(fmt::format("{} was recorded by an older assay, which did not store the selected cases", place_of(shards.front())));
  std::size_t count = 0;
  std::set<std::size_t> numbers;
  std::set<std::string> notes(whole.notes.begin(), whole.notes.end());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const RunDescription& description = runs[i].description;
    if (description.selection != whole.selection)
      throw LedgerError(fmt::format("{} and {} are parts of different selections", place_of(shards.front()), place_of(shards[i])));
    const std::optional<ShardNumber> number = shard_number(description.shard);
    if (!number) throw LedgerError(fmt::format("{} is a whole run, not a shard", place_of(shards[i])));
    if (count != 0 && number->count != count)
      throw LedgerError(
          fmt::format("{} is shard {} of {}, but others are shards of {}", place_of(shards[i]), number->number, number->count, count));
    count = number->count;
    if (!numbers.insert(number->number).second)
      throw LedgerError(fmt::format("{} is shard {} of {}, which was given already", place_of(shards[i]), number->number, count));
    for (const std::string& difference : differences_of(runs.front().description, description)) {
      if (!is_only_noted(difference))
        throw LedgerError(fmt::format("{} and {} differ: {}", place_of(shards.front()), place_of(shards[i]), difference));
      notes.insert(fmt::format("the shards' environments differ: {}", difference));
    }
    if (const std::string doubt = shards[i].ledger->doubt_about(shards[i].run); !doubt.empty())
      notes.insert(fmt::format("not verified: {}: {}", place_of(shards[i]), doubt));
    if (description.machine != whole.machine) notes.insert(fmt::format("shards ran on {} and on {}", whole.machine, description.machine));
    for (const std::string& note : description.notes) {
      if (notes.insert(note).second) whole.notes.push_back(note);
    }
    add_sources(whole.environment.sources, description.environment.sources);
  }
  for (const std::string& note : notes) {
    if (std::ranges::find(whole.notes, note) == whole.notes.end()) whole.notes.push_back(note);
  }

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
  for (std::size_t number = 1; number <= count; ++number) {
    if (!numbers.contains(number)) merge.missing.push_back(fmt::format("shard {}/{} was not given", number, count));
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (runs[i].verdicts < runs[i].description.selected)
      merge.missing.push_back(
          fmt::format("{} has verdicts on {} of its {} cases", place_of(shards[i]), runs[i].verdicts, runs[i].description.selected));
  }
  Summary summary = summary_of(whole.selected, into.cases(merge.run));
  summary.stopped = !merge.missing.empty();
  into.finish(merge.run, summary);
  return merge;
}

}  // namespace assay::harness

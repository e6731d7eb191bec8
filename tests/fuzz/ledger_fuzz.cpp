// A ledger that somebody else wrote: whatever its bytes, `assay report`, `history`, `diff` and `merge` read runs and cases from it that
// they can render, or a LedgerError that names the file.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "harness/ledger/difference.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/merge.h"
#include "reports/difference.h"
#include "reports/history.h"
#include "reports/junit.h"
#include "reports/page_data.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

constexpr std::size_t kMostRuns = 2;  // that are rendered: further ones go the same way

void render(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases) {
  static_cast<void>(reports::run_json(run, cases));
  static_cast<void>(reports::junit(run, cases));
  require(reports::run_markdown(run, cases).size() <= reports::kLongestMarkdown, "the summary is as short as it promises");
  static_cast<void>(reports::page_data(run, cases));
  static_cast<void>(reports::page_details(cases));
  static_cast<void>(harness::summary_of(run.description.selected, cases));
  for (const harness::CaseRecord& record : cases) {
    static_cast<void>(reports::case_history_text(record.name, std::vector<reports::CaseInRun>{{run, record}, {run, record}}));
    note_outcome(record.status ? harness::to_string(*record.status) : "no verdict");
  }
}

void merge(const harness::Ledger& ledger, harness::RunId run) {
  try {
    harness::Ledger into = harness::Ledger::in_memory();
    const std::vector<harness::ShardRun> shards = {{&ledger, run}};
    static_cast<void>(harness::merge_runs(shards, "assay merge", into));
    note_outcome("merged");
  } catch (const harness::LedgerError& error) {
    note_outcome(error.what());
  }
}

void read(const std::filesystem::path& file) {
  const harness::Ledger ledger = harness::Ledger::open_existing(file);
  note_outcome("opened");
  const std::vector<harness::RunRecord> runs = ledger.runs();
  static_cast<void>(reports::history_text(runs));
  for (std::size_t i = 0; i < std::min(runs.size(), kMostRuns); ++i) {
    const harness::RunRecord run = ledger.run(runs[i].id);
    const std::vector<harness::CaseRecord> cases = ledger.cases(run.id);
    render(run, cases);
    const harness::RunDifference difference = harness::difference_of(cases, cases, 0.05);
    const reports::ComparedRuns compared = {run, run, "one", "other", 0.05};
    static_cast<void>(reports::difference_text(compared, difference, 20));
    static_cast<void>(reports::difference_json(compared, difference));
    if (!run.description.shard.empty()) merge(ledger, run.id);
  }
}

// As `assay run --ledger FILE` and `--resume` go on with it.
void write(const std::filesystem::path& file) {
  harness::Ledger ledger = harness::Ledger::open(file);
  const harness::RunId run = ledger.begin({"assay run", "", "0", "here", "", 0, 1, 0, {"a note"}});
  ledger.finish(run, {});
  ledger.take_up(run);
  ledger.keep(1);
  note_outcome("written");
}

void remove_beside(const std::filesystem::path& file) {
  std::error_code ignored;
  for (const char* suffix : {"-wal", "-shm", "-journal"}) std::filesystem::remove(file.string() + suffix, ignored);
}

template <typename Use>
void expect_ledger_error(const std::filesystem::path& file, const Use& use) {
  try {
    use(file);
  } catch (const harness::LedgerError& error) {
    require(std::string_view(error.what()).find(file.string()) != std::string_view::npos, "a message names the file");
    note_outcome(error.what());
  }
  remove_beside(file);
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::filesystem::path& file = tests::scratch_file(tests::text_of(data, size));
  tests::expect_ledger_error(file, tests::read);
  // Writing costs ten times as much.
  if (size != 0 && data[size - 1] % 8 == 0) tests::expect_ledger_error(file, tests::write);
  return 0;
}

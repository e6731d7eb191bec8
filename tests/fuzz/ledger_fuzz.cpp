// A ledger with arbitrary bytes: `assay report`, `history`, `diff` and `merge` read runs and cases from it that
// they can render, or a LedgerError that names the file.
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "harness/ledger/difference.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/merge.h"
#include "reports/difference.h"
#include "reports/formats.h"
#include "reports/history.h"
#include "reports/junit.h"
#include "reports/page_data.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

// One of the ways in which a run is shown, by the number given: all of them would be most of the time.
void render(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases, std::size_t way) {
  switch (way % 5) {
    case 0:
      static_cast<void>(reports::run_json(run, cases));
      break;
    case 1:
      static_cast<void>(reports::junit(run, cases, reports::SourceRoot("/")));
      static_cast<void>(reports::find_format("sarif").of_run(run, cases, {reports::SourceRoot("/"), "0"}));
      static_cast<void>(reports::find_format("github").of_run(run, cases, {reports::SourceRoot("/"), "0"}));
      break;
    case 2:
      require(reports::run_markdown(run, cases).size() <= reports::kLongestMarkdown, "the summary is as short as it promises");
      break;
    case 3:
      static_cast<void>(reports::page_data(run, cases));
      static_cast<void>(reports::page_details(cases));
      break;
    default: {
      const harness::RunDifference difference = harness::difference_of(cases, cases, 0.05);
      const reports::ComparedRuns compared = {run, run, "one", "other", 0.05};
      static_cast<void>(reports::difference_text(compared, difference, 20));
      static_cast<void>(reports::difference_json(compared, difference));
    }
  }
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

void read(const std::filesystem::path& file, std::size_t way) {
  const harness::Ledger ledger = harness::Ledger::open_existing(file);
  note_outcome("opened");
  const std::vector<harness::RunRecord> runs = ledger.runs();
  static_cast<void>(reports::history_text(runs));
  if (runs.empty()) return;
  const harness::RunRecord run = ledger.run(runs[way % runs.size()].id);
  const std::vector<harness::CaseRecord> cases = ledger.cases(run.id);
  static_cast<void>(harness::summary_of(run.description.selected, cases));
  render(run, cases, way / 2);
  if (way % 8 == 0) merge(ledger, run.id);
}

// As `assay run --ledger FILE` and `--resume` go on with it.
void write(const std::filesystem::path& file, std::size_t) {
  harness::Ledger ledger = harness::Ledger::open(file);
  const harness::RunId run = ledger.begin({"assay run", {}, "0", "here", "", 0, 1, 0, {"a note"}});
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
void expect_ledger_error(const std::filesystem::path& file, std::size_t way, const Use& use) {
  try {
    use(file, way);
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
  const std::size_t way = std::accumulate(data, data + size, std::size_t{0});
  tests::expect_ledger_error(file, way, tests::read);
  // Writing costs ten times as much.
  if (way % 16 == 1) tests::expect_ledger_error(file, way, tests::write);
  return 0;
}

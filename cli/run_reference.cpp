// Parses references to recorded runs: 12, latest, latest~2, FILE:12.
#include "cli/run_reference.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/say.h"

namespace assay::cli {
namespace {

// The distance from the newest run; nothing if `word` is not of that form.
std::optional<std::size_t> steps_back(std::string_view word) {
  constexpr std::string_view kLatest = "latest";
  if (word == kLatest) return 0;
  if (!word.starts_with("latest~")) return std::nullopt;
  return base::number_of<std::size_t>(word.substr(kLatest.size() + 1));
}

bool names_a_run(std::string_view word) { return base::number_of<harness::RunId>(word) || steps_back(word); }

harness::RunRecord look_up(const harness::Ledger& ledger, const std::string& word) {
  if (const auto id = base::number_of<harness::RunId>(word)) return ledger.run(*id);
  const std::size_t steps = steps_back(word).value();
  const std::vector<harness::RunRecord> runs = ledger.runs();
  if (runs.empty()) throw harness::LedgerError(fmt::format("ledger {} has no runs", ledger.file().string()));
  if (steps >= runs.size())
    throw harness::LedgerError(
        fmt::format("ledger {} has {} run{}; there is no {}", ledger.file().string(), runs.size(), runs.size() == 1 ? "" : "s", word));
  return runs[runs.size() - 1 - steps];
}

}  // namespace

NamedRun find_run(const std::string& reference, const std::string& ledger) {
  std::string file = ledger.empty() ? harness::Ledger::default_file().string() : ledger;
  std::string word = reference;
  if (!names_a_run(reference)) {
    const std::size_t colon = reference.rfind(':');
    const bool has_run = colon != std::string::npos && names_a_run(std::string_view(reference).substr(colon + 1));
    file = has_run ? reference.substr(0, colon) : reference;
    word = has_run ? reference.substr(colon + 1) : "latest";
    if (!std::filesystem::exists(file))
      throw std::invalid_argument(
          fmt::format("'{}' does not name a run: {}, and there is no ledger {}", reference, kRunReferenceHelp, file));
  }
  auto opened = std::make_shared<const harness::Ledger>(harness::Ledger::open_existing(file));
  harness::RunRecord run = look_up(*opened, word);
  return {std::move(opened), std::move(run)};
}

void say_doubt(const NamedRun& named) {
  if (const std::string doubt = named.ledger->doubt_about(named.run.id); !doubt.empty())
    say(stderr, "note: not verified: run {} of {}: {}\n", named.run.id, named.ledger->file().string(), doubt);
}

}  // namespace assay::cli

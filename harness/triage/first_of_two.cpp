// Traces edited kernels, and looks for one that gets further than the unedited one.
#include "harness/triage/first_of_two.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/processors.h"
#include "base/text.h"
#include "harness/triage/confirm.h"
#include "harness/triage/edit_places.h"
#include "harness/triage/edit_trials.h"

namespace assay::harness {
namespace {

using Clock = std::chrono::steady_clock;

// Several at a time.
void compile(std::span<Laboratory> laboratories, const Case& test_case) {
  std::atomic<std::size_t> next = 0;
  const auto some = [&] {
    for (std::size_t i = next++; i < laboratories.size(); i = next++) static_cast<void>(laboratories[i].prepared(test_case));
  };
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < base::usable_processors(); ++i) helpers.emplace_back(some);
  some();
}

// How far a kernel gets: the first landmark that it does not reach; behind the last one if the output is right, or all that is known is.
std::optional<std::size_t> progress_of(Laboratory& laboratory, const Case& test_case, std::size_t all) {
  const std::optional<Observation> observation = laboratory.observe(test_case);
  if (!observation) return std::nullopt;
  if (!observation->is_failure()) return all;
  const std::optional<LandmarkFinding> found = find_landmarks(laboratory, *observation);
  return found ? std::optional(found->first_wrong) : std::nullopt;
}

}  // namespace

std::optional<FirstOfTwo> blame_first_of_two(const Laboratory& laboratory, const Source& source, std::span<const Edit> edits,
                                             const EditSearch& search, std::chrono::duration<double> budget) {
  if (search.landmarks == nullptr) return std::nullopt;
  const WrongLandmark& wrong = *search.landmarks;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
  Laboratory before = laboratory.with_source(laboratory.variant().source);
  const std::size_t batch = std::size_t{2} * base::usable_processors();
  for (std::size_t first = 0; first < edits.size() && Clock::now() < end; first += batch) {
    const std::span<const Edit> some = edits.subspan(first, std::min(batch, edits.size() - first));
    std::vector<std::string> texts;
    std::vector<Laboratory> laboratories;
    for (const Edit& edit : some) {
      texts.push_back(edited(source.text(), simplified(source, edit)));
      laboratories.push_back(with_text(laboratory, texts.back()));
      laboratories.back().set_patience(EditTrials::patience());
    }
    compile(laboratories, wrong.test_case);
    for (std::size_t i = 0; i < some.size() && Clock::now() < end; ++i) {
      Laboratory& repaired = laboratories[i];
      const std::optional<std::size_t> progress = progress_of(repaired, wrong.test_case, wrong.all);
      if (!progress || *progress <= wrong.first) continue;
      const auto passes = [&](const Case& test_case) { return repaired.verdict(test_case).status == Status::passed; };
      if (!std::ranges::all_of(search.passing, passes)) continue;
      const Confirmation confirmation =
          confirm(before, repaired, search.given, std::max<std::chrono::duration<double>>(budget, kConfirmation / 2));
      if (confirmation.breaks) continue;
      const std::uint32_t line = source.place(some[i].offset).line;
      const Source after(texts[i], source.name());
      FirstOfTwo found = {.blame = {}, .landmark = wrong.name};
      found.blame.suspects.push_back(
          {.file = source.name(),
           .line = line,
           .why = fmt::format("{}with this edit, the {} is right, which it is not without; the output still is not, so there are "
                              "two mistakes ({})",
                              kPlaceToLook, wrong.name, to_text(confirmation)),
           .is_elsewhere = false,
           .context = {},
           .repaired = std::string(base::trimmed(after.line(line)))});
      found.blame.repaired = texts[i];
      found.blame.is_partial = found.blame.is_guess = true;
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace assay::harness

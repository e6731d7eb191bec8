// Compiles edits in schemata and alone, and runs them.
#include "harness/triage/edit_trials.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "base/processors.h"
#include "harness/triage/ordered.h"

namespace assay::harness {
namespace {

// Edits of one schema: with more, compiling takes longer than in proportion.
constexpr std::size_t kTogether = 32;

using Clock = std::chrono::steady_clock;

}  // namespace

EditTrials::EditTrials(const Laboratory& laboratory, const Source& source, const EditSearch& search)
    : laboratory_(laboratory), source_(source), search_(search), schemata_(source) {
  Laboratory before = laboratory.with_source(laboratory.variant().source);
  const auto start = Clock::now();
  end_ = start + std::chrono::duration_cast<Clock::duration>(search.budget);
  digest_ = before.try_choices(search.failing.front(), std::vector<std::uint32_t>{0}).front().digest;
  // More than any edit takes that ends; the first run also starts processes.
  constexpr int times = 10;
  constexpr std::chrono::duration<double> least = std::chrono::milliseconds(200);
  patience_ = std::clamp<std::chrono::duration<double>>(times * (Clock::now() - start), least, patience());
}

std::size_t EditTrials::at_once() const {
  const std::size_t most = kTogether * base::usable_processors();
  if (seconds_per_edit_ == 0) return most;
  // The most likely of them are confirmed before the next ones are compiled, also on a machine that is busy with something else.
  constexpr double part = 0.15;
  const double fitting = part * search_.budget.count() / seconds_per_edit_;
  return static_cast<std::size_t>(std::clamp(fitting, static_cast<double>(kTogether), static_cast<double>(most)));
}

std::vector<Edit> EditTrials::spread(std::vector<Edit> ordered) const {
  // Alone, an edit costs about as much as so many together.
  constexpr std::size_t as_much = 24;
  std::vector<Edit> all;
  std::vector<Edit> waiting;
  std::size_t next = 0;
  std::size_t together = 0;
  for (Edit& edit : ordered) {
    if (schemata_.can_hold(edit)) {
      all.push_back(std::move(edit));
      ++together;
    } else {
      waiting.push_back(std::move(edit));
    }
    if (next < waiting.size() && together >= as_much) {
      all.push_back(std::move(waiting[next++]));
      together = 0;
    }
  }
  std::move(waiting.begin() + static_cast<std::ptrdiff_t>(next), waiting.end(), std::back_inserter(all));
  return all;
}

// Several at a time.
void EditTrials::compile(std::span<Laboratory> laboratories) const {
  std::atomic<std::size_t> next = 0;
  const auto some = [&] {
    for (std::size_t i = next++; i < laboratories.size(); i = next++) static_cast<void>(laboratories[i].prepared(search_.failing.front()));
  };
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < base::usable_processors(); ++i) helpers.emplace_back(some);
  some();
}

// Leaves out edits that do not compile. Where the compiler does not say which these are, halves are tried.
std::vector<EditTrials::Chunk> EditTrials::compiled_chunks(std::span<const Edit> edits, std::vector<std::size_t> some,
                                                           std::vector<std::size_t>& alone) const {
  std::vector<Chunk> done;
  std::vector<Chunk> open;
  // Each with edits of all ranks, so that the chunks take equally long.
  const std::size_t count = (some.size() + kTogether - 1) / kTogether;
  open.resize(count);
  for (std::size_t i = 0; i < some.size(); ++i) open[i % count].edits.push_back(some[i]);
  constexpr int rounds = 12;
  for (int round = 0; round < rounds && !open.empty() && Clock::now() < end_; ++round) {
    std::vector<Laboratory> laboratories;
    for (Chunk& chunk : open) {
      std::vector<Edit> held;
      for (const std::size_t i : chunk.edits) held.push_back(edits[i]);
      chunk.schema = schemata_.schema_of(held);
      laboratories.push_back(with_text(laboratory_, chunk.schema.text));
      laboratories.back().set_patience(patience());
    }
    compile(laboratories);
    std::vector<Chunk> next;
    for (std::size_t at = 0; at < open.size(); ++at) {
      Chunk& chunk = open[at];
      const std::string problem = laboratories[at].problem(search_.failing.front());
      if (problem.empty()) {
        chunk.laboratory.emplace(std::move(laboratories[at]));
        done.push_back(std::move(chunk));
        continue;
      }
      const std::vector<std::size_t> wrong = edits_with_errors(chunk.schema, problem);
      if (!wrong.empty()) {
        // Of a value with several wrong edits, the compiler may name one only.
        constexpr int patient = 3;
        std::set<std::size_t> left_out(wrong.begin(), wrong.end());
        for (std::size_t i = 0; round >= patient && i < chunk.edits.size(); ++i) {
          const auto shares = [&](std::size_t other) { return schemata_.share_place(edits[chunk.edits[i]], edits[chunk.edits[other]]); };
          if (std::ranges::any_of(wrong, shares)) left_out.insert(i);
        }
        for (auto i = left_out.rbegin(); i != left_out.rend(); ++i) {
          if (std::ranges::find(wrong, *i) == wrong.end()) alone.push_back(chunk.edits[*i]);
          chunk.edits.erase(chunk.edits.begin() + static_cast<std::ptrdiff_t>(*i));
        }
        if (!chunk.edits.empty()) next.push_back({.edits = std::move(chunk.edits)});
      } else if (chunk.edits.size() > 1) {
        const auto middle = chunk.edits.begin() + static_cast<std::ptrdiff_t>(chunk.edits.size() / 2);
        next.push_back({.edits = {chunk.edits.begin(), middle}});
        next.push_back({.edits = {middle, chunk.edits.end()}});
      }
    }
    open = std::move(next);
  }
  return done;
}

void EditTrials::keep_changing(std::span<const Edit> edits, const Chunk& chunk, std::span<const Laboratory::Trial> trials) {
  for (std::size_t i = 0; i < chunk.edits.size(); ++i) {
    const Laboratory::Trial& trial = trials[i + 1];
    if (!trial.passes && trial.digest != 0 && trial.digest != digest_)
      changing_.push_back(
          {edits[chunk.edits[i]], trials.front().error > 0 ? trial.error / trials.front().error : 1, tried_ + chunk.edits[i]});
  }
}

std::vector<Edit> EditTrials::half_right() const {
  constexpr std::size_t most_better = 24, most_likely = 24;
  constexpr double half = 0.5;
  std::vector<const Changing*> ordered;
  for (const Changing& one : changing_) ordered.push_back(&one);
  order_by(ordered, [](const Changing* one) { return one->order; });
  std::vector<const Changing*> chosen(ordered.begin(),
                                      ordered.begin() + static_cast<std::ptrdiff_t>(std::min(most_likely, ordered.size())));
  for (const Changing* one : ordered) {
    const bool is_known = std::ranges::find(chosen, one) != chosen.end();
    if (!is_known && one->error < half && chosen.size() < most_better + most_likely) chosen.push_back(one);
  }
  std::vector<Edit> edits;
  for (const Changing* one : chosen) edits.push_back(one->edit);
  return edits;
}

bool EditTrials::try_chunk(std::span<const Edit> edits, Chunk& chunk, std::vector<std::size_t>& found) {
  std::vector<std::uint32_t> choices(chunk.edits.size() + 1);
  std::iota(choices.begin(), choices.end(), 0U);
  chunk.laboratory->set_patience(patience_);
  std::vector<Laboratory::Trial> trials = chunk.laboratory->try_choices(search_.failing.front(), choices);
  // Nor does a trial say anything of a failure that it does not see, such as a remark under --strict.
  if (trials.front().passes || trials.front().digest != digest_) return false;
  if (search_.landmarks != nullptr) keep_changing(edits, chunk, trials);
  std::vector<std::uint32_t> left;
  for (std::uint32_t choice = 1; choice < choices.size(); ++choice) {
    if (trials[choice].passes) left.push_back(choice);
  }
  for (const Case& test_case : search_.passing) {
    if (left.empty()) break;
    trials = chunk.laboratory->try_choices(test_case, left);
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (trials[i].passes) kept.push_back(left[i]);
    }
    left = std::move(kept);
  }
  for (const std::uint32_t choice : left) found.push_back(chunk.edits[choice - 1]);
  return true;
}

void EditTrials::try_alone(std::span<const Edit> edits, std::span<const std::size_t> some, std::vector<std::size_t>& found) const {
  const std::size_t batch = std::size_t{4} * base::usable_processors();
  for (std::size_t first = 0; first < some.size() && Clock::now() < end_; first += batch) {
    const std::span<const std::size_t> these = some.subspan(first, std::min(batch, some.size() - first));
    std::vector<Laboratory> laboratories;
    for (const std::size_t i : these) {
      laboratories.push_back(with_text(laboratory_, edited(source_.text(), edits[i])));
      laboratories.back().set_patience(patience());
    }
    compile(laboratories);
    for (std::size_t at = 0; at < these.size(); ++at) {
      const auto passes = [&](const Case& test_case) { return laboratories[at].verdict(test_case).status == Status::passed; };
      if (passes(search_.failing.front()) && std::ranges::all_of(search_.passing, passes)) found.push_back(these[at]);
    }
  }
}

std::vector<std::size_t> EditTrials::promising(std::span<const Edit> edits) {
  const auto start = Clock::now();
  std::vector<std::size_t> together;
  std::vector<std::size_t> alone;
  for (std::size_t i = 0; i < edits.size(); ++i) (schemata_.can_hold(edits[i]) ? together : alone).push_back(i);
  std::vector<std::size_t> found;
  for (Chunk& chunk : compiled_chunks(edits, std::move(together), alone)) {
    if (!try_chunk(edits, chunk, found)) std::ranges::copy(chunk.edits, std::back_inserter(alone));
  }
  try_alone(edits, alone, found);
  const std::chrono::duration<double> taken = Clock::now() - start;
  if (!edits.empty()) seconds_per_edit_ = taken.count() / static_cast<double>(edits.size());
  std::ranges::sort(found);
  tried_ += edits.size();
  return found;
}

}  // namespace assay::harness

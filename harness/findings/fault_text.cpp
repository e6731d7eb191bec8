// Puts every kind of fault and note into words.
#include "harness/findings/fault_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "metal/engine.h"

namespace assay::harness {
namespace {

// "x/variant.toml:12 (when n <= 32, shows nan; see FINDINGS.md#3)"
std::string described(const fault::Finding& finding) {
  return fmt::format("{} (when {}, shows {}{})", finding.place, finding.when, finding.shows,
                     finding.see.empty() ? std::string() : "; see " + finding.see);
}

// Appends what a process wrote before it ended.
std::string with_words(std::string text, const std::string& words) {
  if (!words.empty()) text += ": " + words;
  return text;
}

std::string say(const fault::AboveBound& it) {
  return base::counted(it.count, "element") + (it.count == 1 ? " above its bound" : " above their bound");
}
// A kernel that copies a number from unwritten memory leaves the same bits as one that writes nothing.
std::string say(const fault::NotWritten& it) { return fmt::format("{} never written, or written from unwritten memory", it.count); }
std::string say(const fault::Nan& it) { return fmt::format("{} NaN", it.count); }
std::string say(const fault::Infinite& it) { return fmt::format("{} infinite", it.count); }
std::string say(const fault::GuardWritten& it) { return base::counted(it.words, "word") + " written outside of the output"; }

std::string say(const fault::Logic& it) {
  return fmt::format(
      "logic: {} of {} elements {} wrong even without rounding; the worst is element {}, whose error is {:.3g} times its bound", it.wrong,
      it.elements, it.wrong == 1 ? "is" : "are", it.worst, it.ratio);
}

std::string say(const fault::Mistrusted& it) {
  switch (it.why) {
    case Distrust::nothing_to_compare:
      return "there was nothing to compare";
    case Distrust::none_comparable:
      return fmt::format("none of {} could be compared", base::counted(it.elements, "element"));
    case Distrust::constant_expectation:
      return fmt::format("all {} expected values are the same, and the inputs were not constant", it.elements);
    case Distrust::uninformative:
      return fmt::format("{} of {} elements have a bound above {} of their magnitude", it.uninformative, it.elements, it.limit);
  }
  return "?";
}

std::string say(const fault::Hazard& it) {
  const std::string text = hazard_text({it.hazard, it.function, it.message, it.place, {}, 1});
  return it.is_output_right ? text + "; every value of the output is within its bound" : text;
}

std::string say(const fault::DifferingElement& it) {
  return fmt::format("element {} (row {}, coordinate {}: {} and {})", it.index, it.row, it.coordinate, it.first, it.other);
}

// The plural: "elements", "words of the partials".
std::string several(const std::string& unit) {
  const std::size_t end = std::min(unit.find(' '), unit.size());
  return unit.substr(0, end) + 's' + unit.substr(end);
}

std::string say(const fault::OrderDependence& it) {
  std::vector<std::string> named;
  for (const fault::DifferingElement& place : it.places)
    named.push_back(it.unit.empty() ? say(place) : fmt::format("{} {} ({} and {})", it.unit, place.index, place.first, place.other));
  const bool is_of_engines = it.other == metal::to_string(metal::Engine::fibers);
  return fmt::format("output depends on the {}: {} and {} differ at {}, and at {} of {} {} in total; {}",
                     is_of_engines ? "engine" : "order of simdgroups", it.first, it.other, fmt::join(named, ", "), it.count, it.size,
                     several(it.unit.empty() ? "element" : it.unit),
                     is_of_engines ? "either the kernel uses addresses of its own variables or an engine of assay is wrong"
                                   : "either a barrier is missing or float atomics add in a different order");
}

std::string say(const fault::InputWritten& it) { return fmt::format("the kernel wrote to its input {}", it.argument); }

std::string say(const fault::BrokenPromise& it) { return families::promise_of(it).text(it); }

std::string say(const fault::WrongTable& it) {
  std::vector<std::string> entries;
  for (const fault::TableEntry& entry : it.entries)
    entries.push_back(
        fmt::format("[{}] is {} instead of {}", entry.index, static_cast<float>(entry.value), static_cast<float>(entry.wanted)));
  return fmt::format("{}{} is {} except for {} of {} entries: {}{}",
                     it.place.line == 0 ? std::string() : fmt::format("{}:{}: ", it.place.file, it.place.line),
                     it.table.empty() ? "the table that is written here" : it.table, it.meaning, it.count, it.size,
                     fmt::join(entries, ", "), it.count > it.entries.size() ? ", ..." : "");
}

std::string say(const fault::StoredExpectation& it) {
  Judgement judgement;
  judgement.above_bound = it.above_bound;
  judgement.not_written = it.not_written;
  judgement.nans = it.nans;
  judgement.infs = it.infs;
  judgement.guard_violations = it.guard_words;
  const std::vector<Fault> faults = faults_of(judgement);
  return fmt::format("compared with the expectation stored in {}: {}", it.file,
                     !faults.empty() ? reason_of(faults)
                     : it.mistrusted ? say(*it.mistrusted)
                                     : std::string());
}

std::string say(const fault::OutsideOfOracle& it) { return it.message; }
std::string say(const fault::RefusedByLaunch& it) { return it.message; }
std::string say(const fault::RefusedByEncoder& it) { return it.message; }

std::string say(const fault::OutsideOfLimits& it) {
  const bool has_words = it.words.size() == it.accepted.size() + 1;
  std::vector<std::string> accepted;
  for (std::size_t i = 0; i < it.accepted.size(); ++i)
    accepted.push_back(has_words ? fmt::format("\"{}\"", it.words[i]) : fmt::format("{}", it.accepted[i]));
  const std::string value = has_words ? fmt::format("\"{}\"", it.words.back()) : fmt::format("{}", it.value);
  if (!it.file.empty() && it.line == 0)
    return fmt::format("{}: [limits] leaves out {}, which then is only {}, but the case has {}", it.file, it.axis,
                       fmt::join(accepted, ", "), value);
  const std::string place = it.file.empty() ? "--limit" : fmt::format("{}:{}: [limits]", it.file, it.line);
  return fmt::format("{} {} = [{}], but the case has {}", place, it.axis, fmt::join(accepted, ", "), value);
}

std::string say(const fault::NoFunction& it) {
  if (it.source.empty()) return fmt::format("no function for {}", it.entry);
  if (!it.function.empty()) return fmt::format("{} has no function '{}' for {}", it.source, it.function, it.entry);
  return fmt::format("{} has no function for {} (by name, {} implements another entry)", it.source, it.entry, fmt::join(it.others, ", "));
}

std::string say(const fault::Misfit& it) { return it.message; }
std::string say(const fault::UnusableFile& it) { return it.message; }
std::string say(const fault::InternalFailure& it) { return fmt::format("the harness failed: {}", it.message); }

std::string say(const fault::Killed& it) {
  const char* guess = it.signal == SIGKILL ? " that assay did not send; the system may have run out of memory" : "";
  return with_words(fmt::format("worker killed by signal {} ({}){}", it.signal, strsignal(static_cast<int>(it.signal)), guess), it.words);
}

std::string say(const fault::Exited& it) {
  return with_words(fmt::format("worker exited with status {} without sending a verdict", it.status), it.words);
}
std::string say(const fault::OutOfMemory& it) { return with_words("worker ran out of memory", it.words); }
std::string say(const fault::ClosedChannel& it) {
  return with_words("worker closed the channel for its verdicts but kept running", it.words);
}
std::string say(const fault::Vanished& it) {
  return with_words("worker ended; its exit status is unknown, because SIGCHLD is ignored", it.words);
}
std::string say(const fault::MalformedVerdict& it) {
  return with_words(fmt::format("worker sent a malformed verdict: {}", it.message), it.words);
}
std::string say(const fault::Timeout& it) { return fmt::format("no verdict within {:g} s, the time limit of a case", it.seconds); }

std::string say(const fault::DeviceFault& it) { return fmt::format("'{}' failed on the GPU: {}", it.function, it.error); }

std::string say(const fault::MemoryLimit& it) {
  constexpr double kGiB = 0x1p30;
  return fmt::format("its process used {:.2f} GiB of memory; the limit of a case is {:.2f} GiB", static_cast<double>(it.bytes) / kGiB,
                     static_cast<double>(it.limit) / kGiB);
}

std::string say(const fault::KnownFinding& it) {
  std::vector<std::string> which;
  for (const fault::Finding& finding : it.findings) which.push_back(described(finding));
  return fmt::format("known finding of {}", fmt::join(which, ", "));
}

// Names only the places, because there may be several findings and their `when` is long.
std::string say(const fault::LikeKnownFinding& it) {
  std::vector<std::string> alike;
  for (const fault::Finding& finding : it.findings) alike.push_back(finding.place + (finding.see.empty() ? "" : " (" + finding.see + ")"));
  return fmt::format("the failure matches {} ({}), but {} `when` does not include this case",
                     alike.size() == 1 ? "a known finding" : "known findings", fmt::join(alike, ", "), alike.size() == 1 ? "its" : "their");
}

std::string say(const fault::StaleFinding& it) {
  return fmt::format("the known finding of {} no longer occurs: remove it or narrow its `when`", described(it.finding));
}
std::string say(const fault::MissingFinding& it) {
  return fmt::format("the known finding of {} should occur here, but does not", described(it.finding));
}
std::string say(const fault::BeyondFinding& it) {
  return fmt::format("the case fails in more ways than the known finding of {} declares", described(it.finding));
}
std::string say(const fault::OtherBits& it) {
  if (it.count == 0) return fmt::format("the case with {} = {} does not pass", it.axis, it.other);
  return fmt::format("outputs with {} = {} and {} = {} differ in {} of {} elements, the first at row {}, coordinate {}", it.axis, it.first,
                     it.axis, it.other, it.count, it.size, it.row, it.coordinate);
}
std::string say(const fault::BrokenClaim& it) {
  return fmt::format("{}: the claim '{}' is not true, the kernel does not {}", it.place, it.claim, it.ability);
}
std::string say(const fault::Remark& it) {
  const std::string others =
      it.others == 0 ? std::string() : fmt::format(", and {} further remark{}", it.others, it.others == 1 ? "" : "s");
  return fmt::format("a remark, which fails a case under --strict: {}{}",
                     hazard_text({it.hazard, it.function, it.message, it.place, {}, 1}), others);
}
std::string say(const fault::NotRequired& it) { return fmt::format("the kernel does not {} (not required by the contract)", it.ability); }
std::string say(const fault::Told& it) { return it.text; }

std::string say(const note::WorstElement& it) { return fmt::format("the worst element is the {}", it.element); }
std::string say(const note::RightNevertheless& it) {
  return fmt::format("{}; nevertheless, every value is within its bound", say(it.logic));
}
std::string say(const note::LostShadows& it) {
  std::vector<std::string> places;
  for (const metal::SourceLocation& place : it.places) places.push_back(fmt::format("{}:{}", place.file, place.line));
  return fmt::format("logic and rounding cannot be separated, because the kernel computes with the bits of numbers at {}: {}",
                     fmt::join(places, ", "), say(it.logic));
}
std::string say(const note::Repeated& it) {
  if (it.others == 0) return fmt::format("repeated, because the first time it was {} ({})", to_string(it.status), reason_of(it));
  return fmt::format("repeated: in a process that had executed {} other case{}, it was {} ({}); an earlier case may have corrupted memory",
                     it.others, it.others == 1 ? "" : "s", to_string(it.status), reason_of(it));
}
std::string say(const note::Recorded& it) { return it.text; }

// Whether the fault is a count of one comparison; these are listed together.
bool is_count(FaultKind kind) { return kind <= FaultKind::guard_written; }

std::string_view between(const Fault& one, const Fault& next) {
  constexpr std::array introducing = {FaultKind::known_finding, FaultKind::broken_claim, FaultKind::not_required};
  if (std::ranges::find(introducing, one.kind()) != introducing.end()) return ": ";
  return is_count(one.kind()) && is_count(next.kind()) ? ", " : "; ";
}

}  // namespace

std::string hazard_text(const metal::Hazard& hazard) {
  // The message may start with its own place and kind.
  std::string_view message = hazard.message;
  const std::string place = fmt::format("{}:{}: ", hazard.first.file, hazard.first.line);
  const std::string kind = fmt::format("{}: ", metal::to_string(hazard.kind));
  if (message.starts_with(place)) message.remove_prefix(place.size());
  if (message.starts_with(kind)) message.remove_prefix(kind.size());
  return fmt::format("{}{} in {}: {}", hazard.first.line == 0 || hazard.lacks_line ? std::string() : place, metal::to_string(hazard.kind),
                     hazard.function, message);
}

std::string text_of(const FaultDetails& details) {
  return std::visit([](const auto& it) { return say(it); }, details);
}

std::string text_of(std::span<const Note> notes) {
  std::vector<std::string> texts;
  for (const Note& note : notes) texts.push_back(std::visit([](const auto& it) { return say(it); }, note));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string reason_of(std::span<const Fault> faults) {
  std::string text;
  const Fault* before = nullptr;
  for (const Fault& fault : faults) {
    if (before != nullptr) text += between(*before, fault);
    if (!fault.schedule.empty() && (before == nullptr || before->schedule != fault.schedule))
      text += fmt::format("under schedule {}: ", fault.schedule);
    text += text_of(fault.details);
    before = &fault;
  }
  return text;
}

}  // namespace assay::harness

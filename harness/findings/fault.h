// Why a case did not pass, as data: what kind of thing is wrong, where, how often and with which values. Text is made of it where it is
// shown (harness/findings/fault_text.h); whoever decides anything looks at these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "families/broken_promise.h"
#include "harness/judge/judge.h"
#include "harness/judge/split.h"
#include "metal/hazard.h"
#include "metal/source_location.h"

namespace assay::harness {

// In the order of FaultDetails. Names are spelt by to_string(), in ledgers and reports too.
enum class FaultKind : std::uint8_t {
  above_bound,
  not_written,
  nan,
  infinite,
  guard_written,
  logic,
  mistrusted,
  hazard,
  order_dependence,
  input_written,
  threadgroup_behind_last,
  idle_workgroup,
  stray_slot,
  old_cache,
  stored_expectation,
  wrong_pad_row,
  wrong_pad_mask,
  wrong_tile_class,
  wrong_merge,
  outside_of_oracle,
  refused_by_launch,
  refused_by_encoder,
  outside_of_limits,
  no_function,
  misfit,
  unusable_file,
  internal_failure,
  killed,
  exited,
  out_of_memory,
  closed_channel,
  vanished,
  malformed_verdict,
  timeout,
  memory_limit,
  known_finding,
  like_known_finding,
  stale_finding,
  missing_finding,
  beyond_finding,
  told,
};

using families::CacheRows;
using families::PartialsPart;
using families::SlotPart;

[[nodiscard]] std::string_view to_string(FaultKind kind);
[[nodiscard]] std::string_view to_string(PartialsPart part);
[[nodiscard]] std::string_view to_string(SlotPart part);
[[nodiscard]] std::string_view to_string(CacheRows rows);

namespace fault {

// Those that a family's job finds.
using families::promise::IdleWorkgroup;
using families::promise::OldCache;
using families::promise::StraySlot;
using families::promise::ThreadgroupBehindLast;
using families::promise::WrongPadMask;
using families::promise::WrongPadRow;
using families::promise::WrongTileClass;

// Elements of the judged output, so many; the worst of them are in Judgement::worst.
struct AboveBound {
  std::uint64_t count = 0;
};
struct NotWritten {
  std::uint64_t count = 0;
};
struct Nan {
  std::uint64_t count = 0;
};
struct Infinite {
  std::uint64_t count = 0;
};
// Words outside of the output.
struct GuardWritten {
  std::uint64_t words = 0;
};
// Wrong before anything is rounded: so many of the elements, the worst by `ratio` of its bound.
struct Logic {
  std::uint64_t wrong = 0, elements = 0, worst = 0;
  double ratio = 0;
};
// The comparison proves nothing.
struct Mistrusted {
  Distrust why = Distrust::nothing_to_compare;
  std::uint64_t elements = 0, uninformative = 0;
  double limit = 0;
};
// The first of Verdict::hazards.
struct Hazard {
  metal::HazardKind hazard = metal::HazardKind::barrier_divergence;
  std::string function, message;
  metal::SourceLocation place;
  bool is_output_right = false;  // every value is within its bound all the same
};
struct DifferingElement {
  std::uint64_t index = 0, row = 0, coordinate = 0;
  float first = 0, other = 0;  // under either schedule
};
// Bits differ between two orders of simdgroups, at `count` of `size`.
struct OrderDependence {
  std::string first, other;  // the schedules
  std::vector<DifferingElement> places;
  std::uint64_t count = 0, size = 0;
  std::string unit;  // what was compared, if not elements of the output: "word of the partials"
};
// The kernel wrote to what is an input of it.
struct InputWritten {
  std::string argument;
};
// Held to the expectation that came in a file, the output is wrong: as the kinds of these names.
struct StoredExpectation {
  std::string file;
  std::uint64_t above_bound = 0, not_written = 0, nans = 0, infs = 0, guard_words = 0;
  std::optional<Mistrusted> mistrusted;
};
// Of a later stage: the output is not the merge of the stored partials.
struct WrongMerge {};
// Of a later stage: what it got is nothing that its oracle can judge. In the oracle's words.
struct OutsideOfOracle {
  std::string message;
};
// Refused, in the words of whoever did.
struct RefusedByLaunch {
  std::string message;
};
struct RefusedByEncoder {
  std::string message;
};
// The variant's author says that it is not for such cases.
struct OutsideOfLimits {
  std::string file;  // and line, where it stands; empty: on the command line
  std::uint64_t line = 0;
  std::string axis;
  std::vector<std::int64_t> accepted;
  std::int64_t value = 0;
};
// The variant has none for the case.
struct NoFunction {
  std::string entry;                // what it would be for
  std::string source;               // the file that has none; empty: nobody looked
  std::string function;             // its name; empty: of any name
  std::vector<std::string> others;  // functions that bind, but whose names speak for other entries
};
// The kernel's function is none for the case, in the words of the launch code.
struct Misfit {
  std::string field;  // or constant, that the case and the kernel disagree about
  std::string message;
};
// A fixture file that is damaged, or not the case's; in its reader's words.
struct UnusableFile {
  std::string message;
};
// The harness failed; what was thrown.
struct InternalFailure {
  std::string message;
};
// How the process of a case ended, and the first line with a letter that it wrote.
struct Killed {
  std::uint64_t signal = 0;
  std::string words;
};
struct Exited {
  std::uint64_t status = 0;
  std::string words;
};
struct OutOfMemory {
  std::string words;
};
struct ClosedChannel {
  std::string words;
};
struct Vanished {
  std::string words;
};
struct MalformedVerdict {
  std::string message;  // what is wrong with the bytes that it sent
  std::string words;
};
struct Timeout {
  double seconds = 0;  // the limit
};
struct MemoryLimit {
  std::uint64_t bytes = 0, limit = 0;
};
// A [[known_finding]] of the variant.
struct Finding {
  std::string place;  // "kernels/x/variant.toml:12"
  std::string when, shows, see;
};
// It fails as these say it must; what follows is what they account for.
struct KnownFinding {
  std::vector<Finding> findings;
};
// It fails as these say, which do not include the case.
struct LikeKnownFinding {
  std::vector<Finding> findings;
};
// It passed, where this says that it fails.
struct StaleFinding {
  Finding finding;
};
// It fails, but not as this says.
struct MissingFinding {
  Finding finding;
};
// It fails as this says, and otherwise too.
struct BeyondFinding {
  Finding finding;
};
// What a ledger of an older assay says in words.
struct Told {
  std::string text;
};

}  // namespace fault

using FaultDetails =
    std::variant<fault::AboveBound, fault::NotWritten, fault::Nan, fault::Infinite, fault::GuardWritten, fault::Logic, fault::Mistrusted,
                 fault::Hazard, fault::OrderDependence, fault::InputWritten, fault::ThreadgroupBehindLast, fault::IdleWorkgroup,
                 fault::StraySlot, fault::OldCache, fault::StoredExpectation, fault::WrongPadRow, fault::WrongPadMask,
                 fault::WrongTileClass, fault::WrongMerge, fault::OutsideOfOracle, fault::RefusedByLaunch, fault::RefusedByEncoder,
                 fault::OutsideOfLimits, fault::NoFunction, fault::Misfit, fault::UnusableFile, fault::InternalFailure, fault::Killed,
                 fault::Exited, fault::OutOfMemory, fault::ClosedChannel, fault::Vanished, fault::MalformedVerdict, fault::Timeout,
                 fault::MemoryLimit, fault::KnownFinding, fault::LikeKnownFinding, fault::StaleFinding, fault::MissingFinding,
                 fault::BeyondFinding, fault::Told>;
inline constexpr std::size_t kFaultKinds = std::variant_size_v<FaultDetails>;
static_assert(kFaultKinds == static_cast<std::size_t>(FaultKind::told) + 1, "every kind has its details, and the other way round");

struct Fault {
  FaultDetails details;
  std::string schedule;  // where a verdict is on several: the one under which this showed; else empty

  Fault() = default;
  template <typename Details>
    requires std::constructible_from<FaultDetails, Details>
  // NOLINTNEXTLINE(google-explicit-constructor): whoever finds something says what, and no more
  Fault(Details what) : details(std::move(what)) {}

  [[nodiscard]] FaultKind kind() const { return static_cast<FaultKind>(details.index()); }
  template <typename Details>
  [[nodiscard]] const Details* as() const {
    return std::get_if<Details>(&details);
  }
};

// Whether every value is the same, bit for bit.
[[nodiscard]] bool operator==(const Fault& one, const Fault& other);

// What is wrong with a comparison, worst first; nothing where it passed or is only mistrusted.
[[nodiscard]] std::vector<Fault> faults_of(const Judgement& judgement);
// Nothing if no element is wrong before it is rounded.
[[nodiscard]] std::optional<fault::Logic> logic_of(const ErrorSplit& split);
[[nodiscard]] fault::Mistrusted fault_of(const Mistrust& mistrust);
[[nodiscard]] fault::StoredExpectation fault_of_stored(std::string file, const Judgement& judgement);

// What it is about, where faults of a kind may be about different things: an argument, an axis, a part, a finding. Without the particulars
// of one case; empty where the kind says it all.
[[nodiscard]] std::string subject_of(const Fault& fault);

[[nodiscard]] bool has_kind(const std::vector<Fault>& faults, FaultKind kind);

}  // namespace assay::harness

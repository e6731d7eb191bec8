// Why a case did not pass, as data: the kind of fault, where, how often and with which values. Only code that shows faults makes text
// of them (harness/findings/fault_text.h). Code that decides uses these types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "families/promise.h"
#include "harness/judge/judge.h"
#include "harness/judge/split.h"
#include "metal/hazard.h"
#include "metal/source_location.h"

namespace assay::harness {

// In the order of FaultDetails. to_string() spells the names, in ledgers and reports too.
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
  broken_promise,
  wrong_table,
  stored_expectation,
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
  other_bits,
  broken_claim,
  not_required,
  device_fault,
  remark,
  told,
};

[[nodiscard]] std::string_view to_string(FaultKind kind);

namespace fault {

// A promise of the family's contract.
using families::BrokenPromise;

// The number of elements of the judged output that are above their bound. The worst of them are in Judgement::worst.
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
// Guard words beside the output that the kernel changed.
struct GuardWritten {
  std::uint64_t words = 0;
};
// Elements that are wrong before anything is rounded: their number, and the worst by `ratio` of its bound.
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
  bool is_output_right = false;  // nevertheless, every value is within its bound
};
struct DifferingElement {
  std::uint64_t index = 0, row = 0, coordinate = 0;
  float first = 0, other = 0;  // under the first and the other schedule
};
// Bits that differ between two orders of simdgroups, at `count` of `size` elements.
struct OrderDependence {
  std::string first, other;  // the two schedules
  std::vector<DifferingElement> places;
  std::uint64_t count = 0, size = 0;
  std::string unit;  // what was compared, if not elements of the output: "word of the partials"
};
// The kernel wrote to one of its inputs.
struct InputWritten {
  std::string argument;
};
struct TableEntry {
  std::uint64_t index = 0;
  double value = 0, wanted = 0;
};
// A constant array of the source that is nearly a table of the contract.
struct WrongTable {
  std::string table, meaning;  // its name (empty if it is no array), and that of the contract's: "the codebook of 4 bits"
  metal::SourceLocation place;
  std::vector<TableEntry> entries;  // the first of those that differ
  std::uint64_t count = 0, size = 0;
};
// Compared with the expectation from a file, the output is wrong; the members are like those of the kinds of these names.
struct StoredExpectation {
  std::string file;
  std::uint64_t above_bound = 0, not_written = 0, nans = 0, infs = 0, guard_words = 0;
  std::optional<Mistrusted> mistrusted;
};
// Of a later stage: its oracle cannot judge its input, with the oracle's message.
struct OutsideOfOracle {
  std::string message;
};
// The launch code or the encoder rejected the case, with their message.
struct RefusedByLaunch {
  std::string message;
};
struct RefusedByEncoder {
  std::string message;
};
// The variant's author excludes such cases.
struct OutsideOfLimits {
  std::string file;  // file and line of the limit; empty: on the command line
  std::uint64_t line = 0;
  std::string axis;
  std::vector<std::int64_t> accepted;
  std::int64_t value = 0;
  std::vector<std::string> words = {};  // what an author writes for `accepted` and, at the end, for `value`; empty: the numbers
};
// The variant has no function for the case.
struct NoFunction {
  std::string entry;                // the entry that needs it
  std::string source;               // the file that lacks it; empty: no file was searched
  std::string function;             // its name; empty: any name
  std::vector<std::string> others;  // functions that bind, but whose names match other entries
};
// The kernel's function does not support the case, with the launch code's message.
struct Misfit {
  std::string field;  // field or constant about which the case and the kernel disagree
  std::string message;
};
// A fixture file that is damaged or belongs to another case, with its reader's message.
struct UnusableFile {
  std::string message;
};
// The harness failed, with the exception's message.
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
  std::string message;  // the error in the bytes that it sent
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
// The case fails as these findings declare. The faults that follow are those that they account for.
struct KnownFinding {
  std::vector<Finding> findings;
};
// The case fails as these findings declare, but their `when` excludes it.
struct LikeKnownFinding {
  std::vector<Finding> findings;
};
// The case passed, but this finding declares that it fails.
struct StaleFinding {
  Finding finding;
};
// The case fails, but not as this finding declares.
struct MissingFinding {
  Finding finding;
};
// The case fails as this finding declares, and in other ways too.
struct BeyondFinding {
  Finding finding;
};
// Bits that differ between two values of an axis, at `count` of `size` elements. If count is 0, the case with the other value fails by
// itself, with the faults that follow.
struct OtherBits {
  std::string axis;
  std::int64_t first = 0, other = 0;
  std::uint64_t count = 0, size = 0, row = 0, coordinate = 0;  // the first element that differs
};
// The kernel does not do what its variant claims. The faults that follow show it.
struct BrokenClaim {
  std::string place, claim;  // "kernels/x/variant.toml:12", as written
  std::string ability;       // families::Omission
};
// The kernel does not do what the contract leaves out. The faults that follow show it.
struct NotRequired {
  std::string ability;
};
// A kernel that a GPU ended: a bad address, a trap.
struct DeviceFault {
  std::string function;
  std::string error;  // the driver's name and description of it
};
// The first of Verdict::remarks, in a run in which remarks fail a case.
struct Remark {
  metal::HazardKind hazard = metal::HazardKind::simdgroup_race;
  std::string function, message;
  metal::SourceLocation place;
  std::uint64_t others = 0;  // further remarks of the case
};
// The text of a fault in a ledger of an older assay.
struct Told {
  std::string text;
};

}  // namespace fault

using FaultDetails =
    std::variant<fault::AboveBound, fault::NotWritten, fault::Nan, fault::Infinite, fault::GuardWritten, fault::Logic, fault::Mistrusted,
                 fault::Hazard, fault::OrderDependence, fault::InputWritten, fault::BrokenPromise, fault::WrongTable,
                 fault::StoredExpectation, fault::OutsideOfOracle, fault::RefusedByLaunch, fault::RefusedByEncoder, fault::OutsideOfLimits,
                 fault::NoFunction, fault::Misfit, fault::UnusableFile, fault::InternalFailure, fault::Killed, fault::Exited,
                 fault::OutOfMemory, fault::ClosedChannel, fault::Vanished, fault::MalformedVerdict, fault::Timeout, fault::MemoryLimit,
                 fault::KnownFinding, fault::LikeKnownFinding, fault::StaleFinding, fault::MissingFinding, fault::BeyondFinding,
                 fault::OtherBits, fault::BrokenClaim, fault::NotRequired, fault::DeviceFault, fault::Remark, fault::Told>;
inline constexpr std::size_t kFaultKinds = std::variant_size_v<FaultDetails>;
static_assert(kFaultKinds == static_cast<std::size_t>(FaultKind::told) + 1, "every kind has its details, and the other way round");

struct Fault {
  FaultDetails details;
  std::string schedule;  // for a verdict on several schedules, the one under which the fault occurred; else empty

  // Defined once: a variant of 40 kinds makes each of these costly to compile.
  Fault();
  Fault(const Fault& other);
  Fault(Fault&& other) noexcept;
  Fault& operator=(const Fault& other);
  Fault& operator=(Fault&& other) noexcept;
  ~Fault();
  template <typename Details>
    requires std::constructible_from<FaultDetails, Details>
  // NOLINTNEXTLINE(google-explicit-constructor): code that finds a fault only gives its details
  Fault(Details what) : details(std::move(what)) {}

  [[nodiscard]] FaultKind kind() const { return static_cast<FaultKind>(details.index()); }
  template <typename Details>
  [[nodiscard]] const Details* as() const {
    return std::get_if<Details>(&details);
  }
};

// The name of its kind, in ledgers and messages; of a broken promise, the promise's.
[[nodiscard]] std::string_view name_of(const Fault& fault);

// Whether all values are equal, bit for bit.
[[nodiscard]] bool operator==(const Fault& one, const Fault& other);

// The faults in a comparison, worst first. Empty if it passed or is only mistrusted.
[[nodiscard]] std::vector<Fault> faults_of(const Judgement& judgement);
// Empty if no element is wrong before rounding.
[[nodiscard]] std::optional<fault::Logic> logic_of(const ErrorSplit& split);
[[nodiscard]] fault::Mistrusted fault_of(const Mistrust& mistrust);
[[nodiscard]] fault::StoredExpectation fault_of_stored(std::string file, const Judgement& judgement);

// The subject of a fault, for kinds that may have different subjects: an argument, an axis, a part, a finding. It does not contain
// details of one case. Empty if the kind has a single subject.
[[nodiscard]] std::string subject_of(const Fault& fault);

[[nodiscard]] bool has_kind(const std::vector<Fault>& faults, FaultKind kind);

}  // namespace assay::harness

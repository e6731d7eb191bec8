// Executes cases on two devices, compares bits, and tries the reasons why they may differ.
#include "harness/compare/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "harness/compare/mailbox.h"
#include "harness/execute/execute_once.h"
#include "harness/findings/fault_text.h"
#include "metal/guarded_memory.h"

namespace assay::harness {

constexpr std::uint64_t largest(PartingReason) { return static_cast<std::uint64_t>(PartingReason::unexplained); }
constexpr std::uint64_t largest_scalar() { return static_cast<std::uint64_t>(metal::ScalarType::other); }

namespace {

// Status and ScalarType have an archive form of their own elsewhere or none; here they are numbers.
struct Wire {
  std::uint64_t first_status = 0, other_status = 0;
  std::string first_words, other_words;
  std::uint64_t elements = 0, equal = 0;
  std::vector<std::uint64_t> parted;  // index, type, first, other; or nothing
  std::string argument;
  std::uint64_t reason = 0;
};
void fields(auto& archive, base::OneOf<Wire> auto& value) {
  auto& [first_status, other_status, first_words, other_words, elements, equal, parted, argument, reason] = value;
  each(archive, first_status, other_status, first_words, other_words, elements, equal, parted, argument, reason);
}

Wire wire_of(const CaseAgreement& it) {
  Wire wire{static_cast<std::uint64_t>(it.first_status),
            static_cast<std::uint64_t>(it.other_status),
            it.first_words,
            it.other_words,
            it.elements,
            it.equal,
            {},
            {},
            static_cast<std::uint64_t>(it.reason)};
  if (!it.parted) return wire;
  wire.argument = it.parted->argument;
  wire.parted = {it.parted->index, static_cast<std::uint64_t>(it.parted->type), it.parted->first, it.parted->other};
  return wire;
}

// Throws base::DamagedArchive for numbers out of range.
CaseAgreement agreement_of(const Wire& wire, const std::string& name) {
  const auto status = [](std::uint64_t number) {
    if (number > static_cast<std::uint64_t>(Status::not_required)) throw base::DamagedArchive("no such status");
    return static_cast<Status>(number);
  };
  if (wire.reason > largest(PartingReason{}) || (!wire.parted.empty() && (wire.parted.size() != 4 || wire.parted[1] > largest_scalar())))
    throw base::DamagedArchive("no such agreement");
  CaseAgreement made;
  made.name = name;
  made.first_status = status(wire.first_status);
  made.other_status = status(wire.other_status);
  made.first_words = wire.first_words;
  made.other_words = wire.other_words;
  made.elements = wire.elements;
  made.equal = wire.equal;
  made.reason = static_cast<PartingReason>(wire.reason);
  made.is_within_bounds = made.first_status == Status::passed && made.other_status == Status::passed;
  if (!wire.parted.empty())
    made.parted =
        PartedElement{wire.argument, wire.parted[0], static_cast<metal::ScalarType>(wire.parted[1]), wire.parted[2], wire.parted[3]};
  return made;
}

std::uint64_t element_at(const OutputBits& output, std::size_t index, std::size_t width) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, output.bytes.data() + index * width, width);
  return bits;
}

bool is_nan(metal::ScalarType type, std::uint64_t bits) {
  switch (type) {
    case metal::ScalarType::float32:
      return (bits & 0x7fffffffU) > 0x7f800000U;
    case metal::ScalarType::float16:
      return (bits & 0x7fffU) > 0x7c00U;
    case metal::ScalarType::bfloat16:
      return (bits & 0x7fffU) > 0x7f80U;
    default:
      return false;
  }
}

// Whether the element still is what it was before the case. Bytes have no value that says so.
bool is_poison(std::uint64_t bits, std::size_t width) {
  if (width == 2) return bits == (metal::kPoisonWord & 0xffffU);
  return width == 4 && bits == metal::kPoisonWord;
}

// One run on one device.
Outcome outcome_on(const metal::DeviceChoice& device, const PreparedVariant& prepared, const Case& test_case,
                   const ExecutionOptions& options) {
  ExecutionOptions execution = options;
  execution.device = device;
  execution.keep_bits = true;
  Kept kept;
  return execute_once(prepared, test_case, execution, metal::Schedule{}, kept);
}

bool leaves_bits(const Outcome& outcome) { return !outcome.bits.empty() && !outcome.verdict.is_internal; }

// The bits of two runs, and nothing else.
bool is_equal(const Outcome& one, const Outcome& other) {
  CaseAgreement compared;
  compare_bits(one.bits, other.bits, compared);
  return !compared.parted;
}

class Comparing {
 public:
  Comparing(const Workbench& workbench, const AgreementOptions& options) : workbench_(workbench), options_(options) {}

  // Returns the verdict that ends the worker if something is wrong, and leaves the agreement.
  Verdict compare(const Case& test_case, const Mailbox& mailbox) const {
    const PreparedVariant& prepared = workbench_.find(test_case.variant);
    const Outcome first = outcome_on(options_.first, prepared, test_case, options_.running.execution);
    const Outcome other = outcome_on(options_.other, prepared, test_case, options_.running.execution);
    CaseAgreement made;
    made.first_status = first.verdict.status;
    made.other_status = other.verdict.status;
    made.first_words = reason_of(first.verdict);
    made.other_words = reason_of(other.verdict);
    if (leaves_bits(first) && leaves_bits(other)) {
      compare_bits(first.bits, other.bits, made);
      if (made.parted) made.reason = reason_for(prepared, test_case, first, other);
    } else if (made.first_status != made.other_status || first.verdict.is_internal || other.verdict.is_internal) {
      const bool is_known = made.first_status == Status::hazard && made.other_status == Status::crashed && !other.verdict.is_internal;
      made.reason = is_known ? PartingReason::hazard : PartingReason::no_output;
    }
    mailbox.leave(format_case(test_case), wire_of(made));
    return is_success(other.verdict.status) ? first.verdict : other.verdict;
  }

 private:
  [[nodiscard]] PartingReason reason_for(const PreparedVariant& prepared, const Case& test_case, const Outcome& first,
                                         const Outcome& other) const {
    const ExecutionOptions& execution = options_.running.execution;
    for (unsigned i = 0; i < options_.repetitions; ++i) {
      const Outcome again = outcome_on(options_.other, prepared, test_case, execution);
      if (!leaves_bits(again) || !is_equal(other, again)) return other.has_atomics ? PartingReason::atomics : PartingReason::race;
    }
    if (options_.other.is_gpu() && !options_.other.keeps_lockstep) {
      metal::DeviceChoice ordered = options_.other;
      ordered.keeps_lockstep = true;
      const Outcome in_lockstep = outcome_on(ordered, prepared, test_case, execution);
      if (leaves_bits(in_lockstep) && is_equal(first, in_lockstep)) return PartingReason::lockstep;
    }
    return other.has_atomics ? PartingReason::atomics : PartingReason::unexplained;
  }

  const Workbench& workbench_;
  const AgreementOptions& options_;
};

}  // namespace

std::string_view to_string(PartingReason reason) {
  constexpr std::array<std::string_view, 7> kNames = {"none", "race", "lockstep", "atomics", "hazard", "no output", "unexplained"};
  return kNames[static_cast<std::size_t>(reason)];
}

void compare_bits(std::span<const OutputBits> first, std::span<const OutputBits> other, CaseAgreement& into) {
  for (std::size_t output = 0; output < std::min(first.size(), other.size()); ++output) {
    const OutputBits& a = first[output];
    const OutputBits& b = other[output];
    const std::size_t width = std::max<std::size_t>(1, metal::size_of(a.element));
    for (std::size_t i = 0; i < std::min(a.bytes.size(), b.bytes.size()) / width; ++i) {
      const std::uint64_t one = element_at(a, i, width);
      const std::uint64_t two = element_at(b, i, width);
      if (is_poison(one, width) && is_poison(two, width)) continue;
      ++into.elements;
      const bool is_written = !is_poison(one, width) && !is_poison(two, width);
      if (one == two || (is_written && is_nan(a.element, one) && is_nan(a.element, two)))
        ++into.equal;
      else if (!into.parted)
        into.parted = PartedElement{a.argument, i, a.element, one, two};
    }
  }
}

std::string element_text(metal::ScalarType type, std::uint64_t bits) {
  switch (type) {
    case metal::ScalarType::float32:
      return fmt::format("{:.9g} ({:#010x})", std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits);
    case metal::ScalarType::bfloat16:
      return fmt::format("{:.4g} ({:#06x})", std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16U)), bits);
    case metal::ScalarType::float16:
      return fmt::format("{:#06x}", bits);
    default:
      return fmt::format("{}", bits);
  }
}

AgreedCases find_agreement(std::span<const Case> cases, const Workbench& workbench, const AgreementOptions& options,
                           const std::atomic<bool>& stop, RunListener& listener) {
  const Mailbox mailbox;
  const Comparing comparing(workbench, options);
  // The verdicts of cases whose worker ended before it left anything.
  class Keeper final : public RunListener {
   public:
    explicit Keeper(RunListener& next) : next_(next) {}
    void started(const Case& test_case) override { next_.started(test_case); }
    void finished(const Verdict& verdict, const Summary& so_far) override {
      verdicts.insert_or_assign(format_case(verdict.test_case), std::pair(verdict.status, reason_of(verdict)));
      next_.finished(verdict, so_far);
    }
    bool tick() override { return next_.tick(); }

    std::map<std::string, std::pair<Status, std::string>> verdicts;

   private:
    RunListener& next_;
  } keeper(listener);
  const CaseFunction execute = [&](const Case& test_case) { return comparing.compare(test_case, mailbox); };
  const Summary summary = run_cases(cases, execute, options.running, stop, keeper);

  AgreedCases agreed;
  agreed.stopped = summary.stopped;
  for (const Case& test_case : cases) {
    const std::string name = format_case(test_case);
    const auto verdict = keeper.verdicts.find(name);
    if (verdict == keeper.verdicts.end()) continue;
    CaseAgreement made;
    if (const auto wire = mailbox.take<Wire>(name)) {
      made = agreement_of(*wire, name);
    } else {
      made.name = name;
      made.first_status = made.other_status = verdict->second.first;
      made.other_words = verdict->second.second;
      made.reason = PartingReason::no_output;
    }
    if (made.first_status == Status::skipped && made.other_status == Status::skipped)
      ++agreed.skipped;
    else
      agreed.cases.push_back(std::move(made));
  }
  return agreed;
}

}  // namespace assay::harness

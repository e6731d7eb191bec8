// Compares what a run left with the oracle, and its stages with what they read.
#include "harness/execute/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "fixtures/hdf5_file.h"
#include "harness/cases/file_case.h"
#include "harness/execute/job_memory.h"
#include "harness/execute/output_digest.h"
#include "harness/findings/fault_text.h"
#include "metal/guarded_memory.h"

namespace assay::harness {
namespace {

using families::BufferRole;
using families::Job;
using families::JobBuffer;
using families::Reading;
using families::Results;

// The value of every 16 bits of an unwritten output. No arithmetic produces this bfloat.
constexpr auto kPoisonHalfWord = static_cast<std::uint16_t>(metal::kPoisonWord & 0xffffU);
static_assert((metal::kPoisonWord >> 16U) == kPoisonHalfWord);

// Stored bfloats as floats. Unwritten ones become the poison word that the judge knows.
std::vector<float> widened(std::span<const std::uint16_t> stored) {
  std::vector<float> values;
  values.reserve(stored.size());
  for (const std::uint16_t bits : stored)
    values.push_back(std::bit_cast<float>(bits == kPoisonHalfWord ? metal::kPoisonWord : std::uint32_t{bits} << 16U));
  return values;
}

bool has_same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// One job during and after its run, until it has a verdict.
class Judging {
 public:
  Judging(Execution& execution, const JobMemory& memory)
      : execution_(execution), job_(*execution.kept.job), memory_(memory), results_(memory.results()), verdict_(execution.verdict) {}

  // The same again if this run left the bytes that another one did.
  void judge() {
    std::optional<JudgedRun>& before = execution_.kept.judged;
    // The output is read once: a thread of a hostile kernel may still write to it. So it is compared with what was judged.
    std::vector<float> output = before ? read().output : std::vector<float>();
    if (before && has_same_bits(output, before->output) && memory_.has_written(before->bytes) && memory_.has_unchanged_inputs()) {
      Verdict again = before->verdict;
      again.schedules = std::move(verdict_.schedules);
      again.oracle_seconds = verdict_.oracle_seconds;
      verdict_ = std::move(again);
      execution_.output = std::move(output);
      execution_.finished = before->finished;
      execution_.output_unit = output_unit();
      return;
    }
    judge_everything();
    if (!before && is_worth_keeping()) before = {memory_.written(), verdict_, execution_.output, execution_.finished};
  }

  void judge_everything() {
    if (!is_traced()) settle_helpers();
    verdict_.row_length = job_.row_length;
    const oracles::Expected& expected = asked_once(execution_.kept.expected, job_.expect, "expected");
    if (job_.find_broken_promises && !final_output()) {
      for (families::BrokenPromise& broken : job_.find_broken_promises(results_)) verdict_.faults.emplace_back(std::move(broken));
    }
    settle_probes();
    if (!is_traced()) judge_later_stages();

    const Reading reading = read();
    const std::vector<std::uint32_t> guards = judged_guards();
    JudgeOptions options = execution_.judging;
    if (job_.informative_ratio) options.informative_ratio = *job_.informative_ratio;
    options.output_spacing = job_.output_spacing;
    options.declared_loss = job_.declared_loss;
    options.constant_is_expected = job_.constant_is_expected;
    const auto judge_by = [&](const oracles::Expected& by) {
      return judge_reading(reading, allows_more() ? allowed_by(by, expected) : by, guards, options);
    };
    verdict_.judgement = judge_by(expected);
    if (is_traced() && !verdict_.judgement.passed()) explain_trace(expected, options);
    describe_worst();
    if (execution_.simulator.policy == metal::Policy::shadow) keep_shadowed(reading, expected);
    if (execution_.kept.stored) judge_by_stored(*execution_.kept.stored, expected, judge_by);
    add_digest();
    check_inputs();
    execution_.output = reading.output;
    if (!execution_.test_case.beyond.empty()) keep_finished();
    if (execution_.keeps_bits) keep_bits();
    execution_.output_unit = output_unit();
    // The domain is the contract's.
    if (!verdict_.judgement.passed() && execution_.test_case.beyond.empty()) require_domain();
  }

 private:
  const oracles::Expected& asked_once(std::optional<oracles::Expected>& kept, const std::function<oracles::Expected()>& oracle,
                                      std::string_view which) {
    if (kept) return *kept;
    const Case& test_case = execution_.test_case;
    // A file says what the inputs are, and another one of its name may say something else.
    const bool may_be_kept = execution_.expectations != nullptr && job_.expectation_may_be_kept && !file_stem(test_case.fixture);
    verdict_.oracle_seconds += timed([&] {
      kept = may_be_kept
                 ? execution_.expectations->get(expectation_name(test_case, execution_.variant(), execution_.profile, which), oracle)
                 : oracle();
    });
    return *kept;
  }

  [[nodiscard]] std::vector<float> elements_of(std::size_t buffer) const {
    // Half outputs are read by their jobs.
    if (job_.buffers[buffer].element == metal::ScalarType::bfloat16) return widened(results_.of<std::uint16_t>(buffer));
    const std::span<const float> values = results_.of(buffer);
    return {values.begin(), values.end()};
  }

  // Whether the dispatches are those of a host's trace. How its kernels share the work is its own affair, so nothing but the final output
  // decides, and what lies between is only looked at to explain a failure.
  [[nodiscard]] bool is_traced() const { return static_cast<bool>(execution_.launch); }
  // The buffer with the final output of a trace, if the case's own dispatches are judged before that.
  [[nodiscard]] std::optional<std::size_t> final_output() const {
    return is_traced() && !job_.later_stages.empty() ? std::optional(job_.later_stages.back().output) : std::nullopt;
  }
  [[nodiscard]] std::string_view output_unit() const { return final_output() ? std::string_view() : job_.output_unit; }

  [[nodiscard]] Reading read() const {
    if (const auto output = final_output()) return Reading{elements_of(*output)};
    return read_of_case();
  }
  [[nodiscard]] Reading read_of_case() const { return job_.read ? job_.read(results_) : Reading{elements_of(job_.judged.front())}; }

  static Judgement judge_reading(const Reading& reading, const oracles::Expected& allowed, const std::vector<std::uint32_t>& guards,
                                 const JudgeOptions& options) {
    if (reading.judged.empty()) return harness::judge(std::span<const float>(reading.output), allowed, {guards, {}}, options);
    return harness::judge(std::span<const double>(reading.judged), allowed, {guards, {}}, options);
  }

  void add_guards(std::vector<std::uint32_t>& words, std::size_t buffer, std::size_t pass) const {
    for (const auto& band : {memory_.guard_before(buffer, pass), memory_.guard_behind(buffer, pass)})
      words.insert(words.end(), band.begin(), band.end());
  }
  [[nodiscard]] std::vector<std::uint32_t> judged_guards() const {
    std::vector<std::uint32_t> words;
    for (std::size_t pass = 0; pass < results_.passes.size(); ++pass) {
      if (job_.passes[pass].probes) continue;
      for (const std::size_t buffer : judged_buffers()) add_guards(words, buffer, pass);
    }
    return words;
  }
  [[nodiscard]] std::vector<std::size_t> judged_buffers() const {
    if (const auto output = final_output()) return {*output};
    return job_.judged;
  }

  // The bounds of the output allow for merges; what is added is for the job's own reading.
  [[nodiscard]] bool is_widened() const { return job_.widen && !final_output(); }
  [[nodiscard]] bool allows_more() const { return !execution_.prepared.weaker_storage.empty() || is_widened(); }
  [[nodiscard]] oracles::Expected allowed_by(oracles::Expected by, const oracles::Expected& expected) const {
    // A stored bound does not include the weaker storage that this variant declares.
    if (!execution_.prepared.weaker_storage.empty()) std::ranges::transform(by.bound, expected.bound, by.bound.begin(), std::ranges::max);
    if (is_widened()) job_.widen(by);
    return by;
  }

  void settle_helpers() {
    for (const families::HelperCheck& check : job_.helper_checks) settle_helper(check);
  }
  void judge_later_stages() {
    for (const families::LaterStage& stage : job_.later_stages) verdict_.stages.push_back(judge_stage(stage));
  }

  // Which of a trace's dispatches left something wrong.
  void explain_trace(const oracles::Expected& expected, const JudgeOptions& options) {
    for (const families::HelperCheck& check : job_.helper_checks) static_cast<void>(add_helper_stage(check));
    if (final_output()) {
      oracles::Expected allowed = expected;
      if (job_.widen) job_.widen(allowed);
      JudgeOptions silent = options;
      silent.keep = nullptr;
      StageVerdict& stage = verdict_.stages.emplace_back();
      stage.name = "partials, merged exactly";
      stage.judgement = judge_reading(read_of_case(), allowed, {}, silent);
      stage.passed = stage.judgement.passed();
      stage.faults = faults_of(stage.judgement);
    }
    judge_later_stages();
  }

  // A wrong helper from the variant's own file is the variant's failure, and comes before faults of the output, which it spoiled. A
  // wrong helper from another variant says nothing about this one, so the case proves nothing.
  void settle_helper(const families::HelperCheck& check) {
    const std::string owner = execution_.prepared.helper_owner(check.family);
    const std::optional<families::BrokenPromise> broken = add_helper_stage(check);
    if (!broken) return;
    const StageVerdict& stage = verdict_.stages.back();
    if (owner != execution_.prepared.variant.name)
      throw std::runtime_error(fmt::format("{0} has no {1} of its own, and the {1} of {2} that it uses is wrong: {3}",
                                           execution_.prepared.variant.name, check.family, owner, reason_of(stage)));
    verdict_.faults.emplace_back(*broken);
  }

  std::optional<families::BrokenPromise> add_helper_stage(const families::HelperCheck& check) {
    std::optional<families::BrokenPromise> broken = check.find_fault(results_);
    StageVerdict& stage = verdict_.stages.emplace_back();
    stage.name = fmt::format("{} of {}", check.stage, execution_.prepared.helper_owner(check.family));
    stage.passed = !broken;
    if (broken) stage.faults = {*broken};
    return broken;
  }

  void settle_probes() {
    for (std::size_t pass = 0; pass < results_.passes.size(); ++pass) {
      const auto is_intact = [&](std::size_t buffer) { return results_.at(buffer, pass).has_intact_guards; };
      const std::optional<families::BrokenPromise>& broken = job_.passes[pass].probes;
      if (broken && !std::ranges::all_of(job_.judged, is_intact)) verdict_.faults.emplace_back(*broken);
    }
  }

  [[nodiscard]] StageVerdict judge_stage(const families::LaterStage& later) const {
    StageVerdict stage;
    stage.name = fmt::format("{} of {}", later.family, execution_.prepared.helper_owner(later.family));
    try {
      const GuardBands guards = {memory_.guard_before(later.output, 0), memory_.guard_behind(later.output, 0)};
      stage.judgement = harness::judge(std::span<const float>(elements_of(later.output)), later.expect(results_), guards);
      stage.passed = stage.judgement.passed();
      // Inputs that allow no conclusion, such as partials that are all idle, are not a fault of the stage.
      stage.is_judged = stage.passed || !faults_of(stage.judgement).empty();
      if (!stage.passed && stage.is_judged) stage.faults.emplace_back(fault::BrokenPromise{later.promise, {}});
      if (!stage.is_judged) stage.faults.emplace_back(harness::fault_of(stage.judgement.mistrusted.value()));
    } catch (const std::invalid_argument& outside) {
      stage.is_judged = false;
      stage.faults.emplace_back(fault::OutsideOfOracle{outside.what()});
    }
    return stage;
  }

  void describe_worst() {
    if (!job_.describe || verdict_.judgement.worst.empty()) return;
    const WorstElement& worst = verdict_.judgement.worst.front();
    if (worst.fault != ElementFault::none) verdict_.notes.emplace_back(note::WorstElement{job_.describe(worst.index)});
  }

  void keep_shadowed(const Reading& reading, const oracles::Expected& expected) {
    ShadowedOutput& shadowed = execution_.shadowed.emplace();
    if (reading.judged.empty())
      shadowed.values.assign(reading.output.begin(), reading.output.end());
    else
      shadowed.values = reading.judged;
    const auto of_buffer = [this](std::size_t buffer) { return execution_.report.shadows.at(buffer); };
    shadowed.shadows = job_.read_shadows && !final_output() ? job_.read_shadows(of_buffer) : of_buffer(judged_buffers().front());
    shadowed.expected = expected;
    shadowed.exact = job_.expect_exact ? asked_once(execution_.kept.exact, job_.expect_exact, "exact") : expected;
    if (is_widened()) {
      job_.widen(shadowed.expected);
      job_.widen(shadowed.exact);
    }
    if (!job_.is_discrete) return;
    for (std::size_t i = 0; i < shadowed.values.size(); ++i) shadowed.is_discrete.push_back(job_.is_discrete(i));
  }

  // If the inputs came with an expectation, the output must be within that too. If it disagrees with the oracle, one of the two is
  // wrong and no output can be judged.
  template <typename JudgeBy>
  void judge_by_stored(const StoredExpectation& stored, const oracles::Expected& recomputed, const JudgeBy& judge_by) {
    if (const std::string difference = find_disagreement(stored.expected, recomputed); !difference.empty()) {
      throw fixtures::FileError(fixtures::file_message(stored.file, "expected/output",
                                                       fmt::format("is not what the oracle finds for these inputs: {}", difference)));
    }
    oracles::Expected expected = stored.expected;
    expected.magnitude = recomputed.magnitude;
    const Judgement judgement = judge_by(expected);
    if (!judgement.passed()) verdict_.faults.emplace_back(fault_of_stored(stored.file.string(), judgement));
  }

  void add_digest() {
    for (std::size_t buffer = 0; buffer < job_.buffers.size(); ++buffer) {
      const JobBuffer& described = job_.buffers[buffer];
      if (described.role != BufferRole::output) continue;
      const auto add = [&](std::span<const std::byte> bytes) { add_output_to_digest(verdict_.digest, bytes, described.element); };
      if (described.gap != families::Gap::untouched && job_.digests_guards) {
        add(memory_.whole(buffer, 0));
      } else {
        for_each_kept(buffer, add);
      }
    }
  }

  // The bytes of an output: of one with gigabytes that nobody fills, the others alone.
  template <typename F>
  void for_each_kept(std::size_t buffer, F f) const {
    const std::span<const std::byte> bytes = results_.of<std::byte>(buffer);
    if (job_.buffers[buffer].gap != families::Gap::untouched) return f(bytes);
    for (const families::Range& range : job_.buffers[buffer].filled) f(bytes.subspan(range.at, range.length));
  }

  void keep_bits() {
    for (std::size_t buffer = 0; buffer < job_.buffers.size(); ++buffer) {
      const JobBuffer& described = job_.buffers[buffer];
      if (described.role != BufferRole::output) continue;
      std::vector<std::byte>& bits = execution_.bits.emplace_back(std::string(described.argument), described.element).bytes;
      for_each_kept(buffer, [&](std::span<const std::byte> bytes) { bits.insert(bits.end(), bytes.begin(), bytes.end()); });
    }
  }

  void keep_finished() {
    std::vector<std::size_t> buffers = job_.judged;
    if (!job_.later_stages.empty()) buffers = {job_.later_stages.back().output};
    for (const std::size_t buffer : buffers) {
      const std::span<const std::byte> bytes = results_.of<std::byte>(buffer);
      execution_.finished.bytes.insert(execution_.finished.bytes.end(), bytes.begin(), bytes.end());
    }
    execution_.finished.element_bytes = metal::size_of(job_.buffers[buffers.front()].element);
  }

  // `const` forbids a kernel to write its inputs, but a cast permits it.
  void check_inputs() {
    for (std::size_t buffer = 0; buffer < job_.buffers.size(); ++buffer) {
      const JobBuffer& described = job_.buffers[buffer];
      if (described.role == BufferRole::input && !memory_.is_unchanged(buffer))
        verdict_.faults.emplace_back(fault::InputWritten{std::string(described.argument)});
    }
  }

  // Only what a run without shadows writes for the verdict and the comparison of orders, and no gigabytes.
  [[nodiscard]] bool is_worth_keeping() const {
    constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    if (!execution_.kept.has_more_runs || execution_.simulator.policy == metal::Policy::shadow || execution_.judging.keep != nullptr ||
        execution_.keeps_bits)
      return false;
    return memory_.written_size() <= kMostBytes && std::ranges::none_of(verdict_.faults, [](const Fault& fault) {
             return std::holds_alternative<fault::InputWritten>(fault.details);
           });
  }

  void require_domain() const {
    const std::optional<std::string> text = job_.outside_of_domain ? job_.outside_of_domain() : std::nullopt;
    if (!text) return;
    const std::string& fixture = execution_.test_case.fixture;
    if (const auto stem = file_stem(fixture))
      throw fixtures::FileError(fixtures::file_message(execution_.shelf.find(*stem), "inputs", *text));
    throw std::domain_error(fmt::format("fixture {}: {}", fixture, *text));
  }

  Execution& execution_;
  const Job& job_;
  const JobMemory& memory_;
  Results results_;
  Verdict& verdict_;
};

}  // namespace

void judge_run(Execution& execution, const JobMemory& memory) { Judging(execution, memory).judge(); }

}  // namespace assay::harness

// The exact text of every kind of fault, and of several faults in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/findings/fault_text.h"
#include "tests/unit/every_fault.h"

namespace assay::tests::fault_words_test {
namespace {

using namespace harness;

using ::testing::HasSubstr;

const fault::Finding kFinding = {"x/variant.toml:12", "n == 3", "nan", "F.md#1"};
const fault::Finding kUnseen = {"y/variant.toml:3", "n == 4", "inf", ""};

fault::BrokenPromise idle(const char* part, std::uint64_t coordinate, std::optional<double> left) {
  fault::BrokenPromise broken{"idle workgroup",
                              {{"workgroup", 2U}, {"head", 1U}, {"kv_len", 33U}, {"part", part}, {"coordinate", coordinate}}};
  if (left) broken.values.emplace("left", *left);
  return broken;
}

// The maximum of a workgroup that saw only hidden keys, with the largest one that is allowed.
fault::BrokenPromise harmful(double left, double limit) {
  fault::BrokenPromise broken = idle("maximum", 0, left);
  broken.values.emplace("limit", limit);
  return broken;
}

fault::BrokenPromise stray(const char* part) { return {"stray slot", {{"part", part}, {"slot", 5U}, {"head", 0U}, {"wanted", 2U}}}; }

struct Saying {
  FaultDetails details;
  std::string words;
};

std::vector<Saying> sayings() {
  using namespace fault;
  return {
      {AboveBound{3}, "3 elements above their bound"},
      {AboveBound{1}, "1 element above its bound"},
      {NotWritten{3}, "3 never written, or written from unwritten memory"},
      {Nan{3}, "3 NaN"},
      {Infinite{3}, "3 infinite"},
      {GuardWritten{3}, "3 words written outside of the output"},
      {GuardWritten{1}, "1 word written outside of the output"},
      {Logic{1, 10, 3, 4096.5},
       "logic: 1 of 10 elements is wrong even without rounding; the worst is element 3, whose error is 4.1e+03 times its bound"},
      {Logic{2, 10, 3, 0.5},
       "logic: 2 of 10 elements are wrong even without rounding; the worst is element 3, whose error is 0.5 times its bound"},
      {Mistrusted{Distrust::nothing_to_compare, 0, 0, 0}, "there was nothing to compare"},
      {Mistrusted{Distrust::none_comparable, 7, 0, 0}, "none of 7 elements could be compared"},
      {Mistrusted{Distrust::constant_expectation, 7, 0, 0}, "all 7 expected values are the same, and the inputs were not constant"},
      {Mistrusted{Distrust::uninformative, 100, 11, 1e-3}, "11 of 100 elements have a bound above 0.001 of their magnitude"},
      {fault::Hazard{metal::HazardKind::invalid_access, "f", "wild", {"k.metal", 12}, false}, "k.metal:12: invalid access in f: wild"},
      {fault::Hazard{metal::HazardKind::invalid_access, "f", "k.metal:12: invalid access: wild", {"k.metal", 12}, true},
       "k.metal:12: invalid access in f: wild; every value of the output is within its bound"},
      {OrderDependence{"forward", "reverse", {{3, 0, 3, 1.5F, 1.25F}, {9, 1, 1, 2.0F, -0.1F}}, 38, 512, ""},
       "output depends on the order of simdgroups: forward and reverse differ at element 3 (row 0, coordinate 3: 1.5 and 1.25), element 9 "
       "(row 1, coordinate 1: 2 and -0.1), and at 38 of 512 elements in total; either a barrier is missing or float atomics add in a "
       "different order"},
      {OrderDependence{"forward", "random:3", {{3, 0, 3, 1.5F, 1.25F}}, 1, 512, "word of the partials"},
       "output depends on the order of simdgroups: forward and random:3 differ at word of the partials 3 (1.5 and 1.25), and at 1 of 512 "
       "words of the partials in total; either a barrier is missing or float atomics add in a different order"},
      {InputWritten{"Q"}, "the kernel wrote to its input Q"},
      {BrokenPromise{"threadgroup behind the last", {{"heads", 2U}}},
       "threadgroup 2 is beyond num_heads = 2 and must return, but it wrote past the end of the data"},
      {idle("sum", 0, 0.5), "workgroup 2 of head 1 saw no key (its M is below every score; kv_len 33) and must write S = 0, but wrote 0.5"},
      {idle("sum", 0, static_cast<double>(0.1F)),
       "workgroup 2 of head 1 saw no key (its M is below every score; kv_len 33) and must write S = 0, but wrote 0.1"},
      {idle("maximum", 0, 0.0), "workgroup 2 of head 1 saw no key (S = 0; kv_len 33) and must write M = -FLT_MAX/2, but wrote 0"},
      {harmful(500, 71.5),
       "workgroup 2 of head 1 gave no key a weight (S = 0; kv_len 33) and must write a finite M of at most 71.5, but wrote 500"},
      {idle("output", 7, {}), "workgroup 2 of head 1 must write O[7] even if it sees no key, but did not write it"},
      {stray("indices"), "the kernel wrote indices of slot 5 of head 0; it may write only slot 2"},
      {stray("norm"), "the kernel wrote a norm of slot 5 of head 0; it may write only slot 2"},
      {BrokenPromise{"old cache",
                     {{"byte", 9U}, {"head", 1U}, {"first", 0x5U}, {"first_before", 0xa5U}, {"second", 0xfaU}, {"second_before", 0x5aU}}},
       "byte 9 of head 1 depends on the previous contents of the cache: 0x05 if it was 0xa5, 0xfa if it was 0x5a"},
      {fault::StoredExpectation{"/a/b.h5", 3, 0, 1, 0, 0, {}},
       "compared with the expectation stored in /a/b.h5: 3 elements above their bound, 1 NaN"},
      {fault::StoredExpectation{"/a/b.h5", 0, 0, 0, 0, 0, Mistrusted{}},
       "compared with the expectation stored in /a/b.h5: there was nothing to compare"},
      {BrokenPromise{"wrong pad row",
                     {{"rows", "keys"}, {"batch", 0U}, {"head", 1U}, {"row", 36U}, {"coordinate", 3U}, {"found", 1U}, {"wanted", 0U}}},
       "pad: keys of batch 0, key/value head 1: row 36, coordinate 3 is 0x0001; expected 0x0000"},
      {BrokenPromise{"wrong pad row",
                     {{"rows", "values"}, {"batch", 1U}, {"head", 0U}, {"row", 0U}, {"coordinate", 0U}, {"wanted", 0x3f80U}}},
       "pad: values of batch 1, key/value head 0: row 0, coordinate 0 was never written; expected 0x3f80"},
      {BrokenPromise{"wrong pad mask", {{"batch", 1U}, {"head", 0U}, {"query", 2U}, {"column", 63U}, {"found", 0U}, {"wanted", 0xfbffU}}},
       "pad: mask of batch 1, head 0, query 2: column 63 is 0x0000; expected 0xfbff"},
      {BrokenPromise{"wrong tile class",
                     {{"batch", 0U}, {"head", 3U}, {"query_tile", 0U}, {"key_tile", 2U}, {"found", 0U}, {"wanted", 1U}}},
       "blk: batch 0, head 3, query tile 0, key tile 2 is 0; expected 1"},
      {BrokenPromise{"wrong merge", {}}, "the output is not the merge of the stored partials"},
      {WrongTable{"kCodebook", "the codebook of 4 bits", {"k.metal", 12}, {{3, -1.25, -1.5}}, 1, 16},
       "k.metal:12: kCodebook is the codebook of 4 bits except for 1 of 16 entries: [3] is -1.25 instead of -1.5"},
      {WrongTable{"kSigns", "the signs of 256 coordinates", {}, {{3, 1, 2}, {4, 1, 2}}, 5, 32},
       "kSigns is the signs of 256 coordinates except for 5 of 32 entries: [3] is 1 instead of 2, [4] is 1 instead of 2, ..."},
      {OutsideOfOracle{"partials hold inf at float 3"}, "partials hold inf at float 3"},
      {RefusedByLaunch{"head_dim = 300"}, "head_dim = 300"},
      {RefusedByEncoder{"no pipeline"}, "no pipeline"},
      {OutsideOfLimits{"x/variant.toml", 6, "nwg", {1, 2}, 4}, "x/variant.toml:6: [limits] nwg = [1, 2], but the case has 4"},
      {OutsideOfLimits{"x.toml", 6, "mask", {1, 2}, 0, {"causal", "window", "none"}},
       "x.toml:6: [limits] mask = [\"causal\", \"window\"], but the case has \"none\""},
      {OutsideOfLimits{"x.toml", 0, "mask", {0}, 1, {"none", "causal"}},
       "x.toml: [limits] leaves out mask, which then is only \"none\", but the case has \"causal\""},
      {OutsideOfLimits{"", 0, "nwg", {1}, 4}, "--limit nwg = [1], but the case has 4"},
      {NoFunction{"d512", "", "", {}}, "no function for d512"},
      {NoFunction{"d512", "a.metal", "f_d512", {}}, "a.metal has no function 'f_d512' for d512"},
      {NoFunction{"d512", "a.metal", "", {"f", "g"}}, "a.metal has no function for d512 (by name, f, g implements another entry)"},
      {Misfit{"nsg", "nsg = 2, but the kernel has none"}, "nsg = 2, but the kernel has none"},
      {UnusableFile{"a.h5: damaged"}, "a.h5: damaged"},
      {InternalFailure{"who knows"}, "the harness failed: who knows"},
      {Killed{SIGABRT, "heap damaged"}, "worker killed by signal 6 (Aborted): heap damaged"},
      {Killed{SIGKILL, ""}, "worker killed by signal 9 (Killed) that assay did not send; the system may have run out of memory"},
      {Exited{3, "bye"}, "worker exited with status 3 without sending a verdict: bye"},
      {OutOfMemory{""}, "worker ran out of memory"},
      {ClosedChannel{""}, "worker closed the channel for its verdicts but kept running"},
      {Vanished{""}, "worker ended; its exit status is unknown, because SIGCHLD is ignored"},
      {fault::MalformedVerdict{"the row length is 0", ""}, "worker sent a malformed verdict: the row length is 0"},
      {Timeout{0.3}, "no verdict within 0.3 s, the time limit of a case"},
      {MemoryLimit{std::uint64_t{3} << 29, std::uint64_t{1} << 30}, "its process used 1.50 GiB of memory; the limit of a case is 1.00 GiB"},
      {fault::KnownFinding{{kFinding, kUnseen}},
       "known finding of x/variant.toml:12 (when n == 3, shows nan; see F.md#1), y/variant.toml:3 (when n == 4, shows inf)"},
      {LikeKnownFinding{{kFinding}},
       "the failure matches a known finding (x/variant.toml:12 (F.md#1)), but its `when` does not include this case"},
      {LikeKnownFinding{{kFinding, kUnseen}},
       "the failure matches known findings (x/variant.toml:12 (F.md#1), y/variant.toml:3), but their `when` does not include this case"},
      {StaleFinding{kUnseen},
       "the known finding of y/variant.toml:3 (when n == 4, shows inf) no longer occurs: remove it or narrow its `when`"},
      {MissingFinding{kUnseen}, "the known finding of y/variant.toml:3 (when n == 4, shows inf) should occur here, but does not"},
      {BeyondFinding{kUnseen}, "the case fails in more ways than the known finding of y/variant.toml:3 (when n == 4, shows inf) declares"},
      {OtherBits{"nwg", 1, 4, 3, 512, 1, 7},
       "outputs with nwg = 1 and nwg = 4 differ in 3 of 512 elements, the first at row 1, coordinate 7"},
      {OtherBits{"nwg", 1, 4, 0, 0, 0, 0}, "the case with nwg = 4 does not pass"},
      {BrokenClaim{"x/variant.toml:3", "softcap", "apply a softcap"},
       "x/variant.toml:3: the claim 'softcap' is not true, the kernel does not apply a softcap"},
      {NotRequired{"apply a softcap"}, "the kernel does not apply a softcap (not required by the contract)"},
      {DeviceFault{"twice", "CUDA_ERROR_X: bad"}, "'twice' failed on the GPU: CUDA_ERROR_X: bad"},
      {Remark{metal::HazardKind::simdgroup_race, "f", "lane 1 reads", {"k.metal", 12}, 0},
       "a remark, which fails a case under --strict: k.metal:12: race within a simdgroup in f: lane 1 reads"},
      {Remark{metal::HazardKind::identical_writes, "f", "lane 1 writes", {"k.metal", 12}, 2},
       "a remark, which fails a case under --strict: k.metal:12: identical writes in f: lane 1 writes, and 2 further remarks"},
      {Told{"as it was"}, "as it was"},
  };
}

TEST(FaultWords, OfEveryKind) {
  std::map<std::string, int, std::less<>> said;
  for (const Saying& saying : sayings()) {
    const Fault fault = std::visit([](const auto& details) { return Fault(details); }, saying.details);
    EXPECT_EQ(text_of(fault.details), saying.words);
    ++said[std::string(name_of(fault))];
  }
  for (const Fault& fault : faults_of_every_kind())
    EXPECT_GT(said[std::string(name_of(fault))], 0) << "nothing is said of '" << name_of(fault) << "'";
}

TEST(FaultWords, SeveralAreOneLine) {
  const auto line = [](const std::vector<Fault>& faults) { return reason_of(faults); };
  EXPECT_EQ(line({}), "");
  EXPECT_EQ(line({fault::AboveBound{3}, fault::Nan{1}, fault::InputWritten{"Q"}}),
            "3 elements above their bound, 1 NaN; the kernel wrote to its input Q");
  EXPECT_EQ(line({fault::KnownFinding{{kUnseen}}, fault::Infinite{2}}),
            "known finding of y/variant.toml:3 (when n == 4, shows inf): 2 infinite");
  // The schedule is said once, of all that showed under it.
  std::vector<Fault> faults = {fault::OrderDependence{}, fault::InputWritten{"Q"}, fault::Nan{1}, fault::StaleFinding{kUnseen}};
  faults[1].schedule = faults[2].schedule = "reverse";
  EXPECT_THAT(line(faults),
              HasSubstr("in a different order; under schedule reverse: the kernel wrote to its input Q; 1 NaN; the known finding"));
}

TEST(FaultWords, NotesAreOneLine) {
  const fault::Logic logic{1, 10, 3, 0.5};
  EXPECT_EQ(text_of(std::vector<Note>()), "");
  EXPECT_EQ(text_of(std::vector<Note>{note::WorstElement{"norm of block 1"}, note::RightNevertheless{logic}}),
            "the worst element is the norm of block 1; logic: 1 of 10 elements is wrong even without rounding; the worst is element 3, "
            "whose error is 0.5 times its bound; nevertheless, every value is within its bound");
  EXPECT_THAT(text_of(std::vector<Note>{note::LostShadows{{{"a.metal", 3}, {"a.metal", 9}}, logic}}),
              testing::StartsWith("logic and rounding cannot be separated, because the kernel computes with the bits of numbers at "
                                  "a.metal:3, a.metal:9: logic: 1 of 10"));
  EXPECT_EQ(text_of(std::vector<Note>{note::Repeated{0, Status::crashed, {fault::Vanished{}}}}),
            "repeated, because the first time it was crashed (worker ended; its exit status is unknown, because SIGCHLD is ignored)");
  EXPECT_EQ(text_of(std::vector<Note>{note::Repeated{2, Status::failed, {fault::Nan{1}}}}),
            "repeated: in a process that had executed 2 other cases, it was failed (1 NaN); an earlier case may have corrupted memory");
  EXPECT_EQ(text_of(std::vector<Note>{note::Recorded{"a note"}}), "a note");
}

TEST(FaultWords, KindsHaveNamesOfTheirOwn) {
  std::map<std::string_view, int> names;
  for (const FaultKind kind : every_kind()) EXPECT_EQ(++names[to_string(kind)], 1) << to_string(kind);
  for (const families::Family& family : families::all_families()) {
    for (const families::Promise& promise : family.promises) EXPECT_EQ(names.count(promise.id), 0U) << promise.id;
  }
}

// Reports group by it: numbers, files and sentences of others are the particulars of one case.
TEST(FaultWords, SubjectsAreNoParticulars) {
  EXPECT_EQ(subject_of(fault::InputWritten{"Q"}), "Q");
  EXPECT_EQ(subject_of(fault::AboveBound{3}), subject_of(fault::AboveBound{4}));
  EXPECT_EQ(subject_of(fault::RefusedByLaunch{"a = 1"}), subject_of(fault::RefusedByLaunch{"a = 2"}));
  EXPECT_NE(subject_of(fault::Misfit{"nsg", ""}), subject_of(fault::Misfit{"codebook_bits", ""}));
  EXPECT_NE(subject_of(stray("norm")), subject_of(stray("indices")));
  EXPECT_NE(subject_of(idle("sum", 0, 0.5)), subject_of(idle("maximum", 0, 0.5)));
  EXPECT_EQ(subject_of(idle("sum", 0, 0.5)), subject_of(idle("sum", 0, {})));
}

// One value that is another makes another fault, whichever it is.
TEST(Fault, IsTheSameIfEveryValueIs) {
  for (const FaultKind kind : every_kind()) {
    const Fault whole = full_fault(kind);
    EXPECT_EQ(whole, full_fault(kind)) << to_string(kind);
    Fault empty;
    empty.details = details_of(kind);
    EXPECT_NE(whole, empty) << to_string(kind);
    std::size_t members = 0;
    const auto count = [&](const char*, const auto&) { ++members; };
    std::visit([&](const auto& details) { visit_members(count, details); }, whole.details);
    for (std::size_t changed = 0; changed < members; ++changed) {
      Fault other = whole;
      std::size_t at = 0;
      const auto reset = [&](const char*, auto& member) {
        if (at++ == changed) member = {};
      };
      std::visit([&](auto& details) { visit_members(reset, details); }, other.details);
      EXPECT_NE(other, whole) << to_string(kind) << ", member " << changed;
    }
  }
  Fault one = fault::Nan{1};
  one.schedule = "reverse";
  EXPECT_NE(one, Fault(fault::Nan{1}));
  EXPECT_NE(Fault(fault::Nan{1}), Fault(fault::Infinite{1}));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Fault(idle("sum", 0, kNan)), Fault(idle("sum", 0, kNan)));
  EXPECT_NE(Fault(idle("sum", 0, kNan)), Fault(idle("sum", 0, {})));
}

}  // namespace
}  // namespace assay::tests::fault_words_test

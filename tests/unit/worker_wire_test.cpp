// Verdicts as bytes: what goes in comes out, and what a damaged process may send instead is refused or is a verdict all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/fault_text.h"
#include "harness/process/verdict_wire.h"
#include "tests/unit/every_fault.h"

namespace assay::tests::worker_wire_test {
namespace {

using base::DamagedArchive;
using harness::decode_verdict;
using harness::encode_verdict;

using harness::Status;
using harness::Verdict;
using Bytes = std::vector<std::byte>;

// Parsed once: some tests decode a hundred thousand times.
const harness::Case& some_case() {
  static const harness::Case parsed = harness::parse_case("reduce_v1/d256/rows2/nwg4/gauss/s1", families::find_family("reduce"));
  return parsed;
}

// Every member differs from its default, so that one left behind is missed.
harness::Judgement full_judgement() {
  harness::Judgement judgement;
  judgement.compared = 1;
  judgement.above_bound = 2;
  judgement.not_written = 3;
  judgement.nans = 4;
  judgement.infs = 5;
  judgement.guard_violations = 6;
  judgement.uninformative = 7;
  judgement.distinct_expected = 8;
  judgement.max_ratio = std::numeric_limits<double>::infinity();
  judgement.max_ratio_index = 9;
  judgement.max_abs_error = 0.5;
  judgement.max_rel_error = 0.25;
  judgement.nmse = 0.125;
  judgement.cosine = -1;
  judgement.median_bound_ratio = 1e-9;
  judgement.worst = {{10, 11.5, 12.5, 13.5, 14.5, harness::ElementFault::infinite}, {15, 1, 2, 3, 4, harness::ElementFault::above_bound}};
  judgement.mistrusted = {harness::Distrust::uninformative, 16, 17, 0.5};
  return judgement;
}

Verdict full_verdict() {
  Verdict verdict;
  verdict.test_case = some_case();
  verdict.status = Status::hazard;
  verdict.faults = faults_of_every_kind();
  const harness::fault::Logic logic{51, 52, 53, 54.5};
  verdict.notes = {harness::note::WorstElement{"norm of block 1"}, harness::note::RightNevertheless{logic},
                   harness::note::LostShadows{{{"kernel.metal", 55}}, logic},
                   harness::note::Repeated{56, Status::crashed, faults_of_every_kind()}, harness::note::Recorded{"a note"}};
  verdict.schedules = "forward,reverse";
  verdict.is_internal = true;
  verdict.row_length = 256;
  verdict.judgement = full_judgement();
  verdict.split = harness::ErrorSplit{.elements = 31,
                                      .discrete = 32,
                                      .above_bound = 33,
                                      .max_rounding_ratio = 34.5,
                                      .max_logic_ratio = std::numeric_limits<double>::infinity(),
                                      .max_rounding_index = 35,
                                      .max_logic_index = 36,
                                      .worst = {{37, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5}}};
  verdict.lost_shadows = {{"kernel.metal", 38}};
  verdict.stages = {{"a stage", false, true, faults_of_every_kind(), full_judgement()}, {"another", true, false, {}, {}}};
  verdict.hazards = {
      {metal::HazardKind::invalid_access, "f", "message", {"kernel.metal", 12}, metal::SourceLocation{"other.metal", 13}, 14},
      {metal::HazardKind::dispatch_hazard, "g", "", {"kernel.metal", 1}, std::nullopt, 1}};
  verdict.remarks = {{metal::kLastHazardKind, "h", "a remark", {"kernel.metal", 3}, std::nullopt, 15, true, 5}};
  verdict.counters = {21, 22, 23, 24, 25};
  verdict.cost = {41, 42, 43, 44, 45, 46, 47, 48, 49};
  verdict.digest = 0xfedcba9876543210U;
  verdict.oracle_seconds = 0.75;
  verdict.simulator_seconds = 1.5;
  return verdict;
}

Verdict passed_verdict() {
  Verdict verdict;
  verdict.status = Status::passed;
  verdict.judgement.compared = 1;
  return verdict;
}

void expect_equal(const harness::Judgement& a, const harness::Judgement& b) {
  EXPECT_EQ(a.compared, b.compared);
  EXPECT_EQ(a.above_bound, b.above_bound);
  EXPECT_EQ(a.not_written, b.not_written);
  EXPECT_EQ(a.nans, b.nans);
  EXPECT_EQ(a.infs, b.infs);
  EXPECT_EQ(a.guard_violations, b.guard_violations);
  EXPECT_EQ(a.uninformative, b.uninformative);
  EXPECT_EQ(a.distinct_expected, b.distinct_expected);
  EXPECT_EQ(a.max_ratio, b.max_ratio);
  EXPECT_EQ(a.max_ratio_index, b.max_ratio_index);
  EXPECT_EQ(a.max_abs_error, b.max_abs_error);
  EXPECT_EQ(a.max_rel_error, b.max_rel_error);
  EXPECT_EQ(a.nmse, b.nmse);
  EXPECT_EQ(a.cosine, b.cosine);
  EXPECT_EQ(a.median_bound_ratio, b.median_bound_ratio);
  ASSERT_EQ(a.mistrusted.has_value(), b.mistrusted.has_value());
  if (a.mistrusted) {
    EXPECT_EQ(a.mistrusted->why, b.mistrusted->why);
    EXPECT_EQ(a.mistrusted->elements, b.mistrusted->elements);
    EXPECT_EQ(a.mistrusted->uninformative, b.mistrusted->uninformative);
    EXPECT_EQ(a.mistrusted->limit, b.mistrusted->limit);
  }
  ASSERT_EQ(a.worst.size(), b.worst.size());
  for (std::size_t i = 0; i < a.worst.size(); ++i) {
    EXPECT_EQ(a.worst[i].index, b.worst[i].index);
    EXPECT_EQ(a.worst[i].expected, b.worst[i].expected);
    EXPECT_EQ(a.worst[i].actual, b.worst[i].actual);
    EXPECT_EQ(a.worst[i].bound, b.worst[i].bound);
    EXPECT_EQ(a.worst[i].ratio, b.worst[i].ratio);
    EXPECT_EQ(a.worst[i].fault, b.worst[i].fault);
  }
}

TEST(VerdictWire, WhatGoesInComesOut) {
  const Verdict sent = full_verdict();
  const Verdict got = decode_verdict(encode_verdict(sent), some_case());
  EXPECT_EQ(got.test_case, sent.test_case);
  EXPECT_EQ(got.status, sent.status);
  EXPECT_EQ(got.faults, sent.faults);
  EXPECT_EQ(harness::text_of(got.notes), harness::text_of(sent.notes));
  EXPECT_EQ(got.schedules, sent.schedules);
  EXPECT_EQ(got.is_internal, sent.is_internal);
  EXPECT_EQ(got.row_length, sent.row_length);
  expect_equal(got.judgement, sent.judgement);
  ASSERT_TRUE(got.split);
  EXPECT_EQ(got.split->elements, 31U);
  EXPECT_EQ(got.split->discrete, 32U);
  EXPECT_EQ(got.split->above_bound, 33U);
  EXPECT_EQ(got.split->max_rounding_ratio, 34.5);
  EXPECT_EQ(got.split->max_logic_ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(got.split->max_rounding_index, 35U);
  EXPECT_EQ(got.split->max_logic_index, 36U);
  ASSERT_EQ(got.split->worst.size(), 1U);
  const harness::SplitElement& split = got.split->worst.front();
  EXPECT_EQ(split.index, 37U);
  EXPECT_EQ((std::vector<double>{split.actual, split.shadow, split.expected, split.bound, split.exact, split.exact_bound}),
            (std::vector<double>{1.5, 2.5, 3.5, 4.5, 5.5, 6.5}));
  EXPECT_EQ(got.lost_shadows, sent.lost_shadows);
  EXPECT_EQ(got.cost, sent.cost);
  ASSERT_EQ(got.stages.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got.stages[i].name, sent.stages[i].name);
    EXPECT_EQ(got.stages[i].is_judged, sent.stages[i].is_judged);
    EXPECT_EQ(got.stages[i].passed, sent.stages[i].passed);
    EXPECT_EQ(got.stages[i].faults, sent.stages[i].faults);
    expect_equal(got.stages[i].judgement, sent.stages[i].judgement);
  }
  ASSERT_EQ(got.hazards.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got.hazards[i].kind, sent.hazards[i].kind);
    EXPECT_EQ(got.hazards[i].function, sent.hazards[i].function);
    EXPECT_EQ(got.hazards[i].message, sent.hazards[i].message);
    EXPECT_EQ(got.hazards[i].first, sent.hazards[i].first);
    EXPECT_EQ(got.hazards[i].second, sent.hazards[i].second);
    EXPECT_EQ(got.hazards[i].count, sent.hazards[i].count);
  }
  ASSERT_EQ(got.remarks.size(), 1U);
  EXPECT_EQ(got.remarks[0].kind, sent.remarks[0].kind);
  EXPECT_EQ(got.remarks[0].message, sent.remarks[0].message);
  EXPECT_TRUE(got.remarks[0].lacks_line);
  EXPECT_EQ(got.remarks[0].written, 5U);
  EXPECT_EQ(got.counters.threadgroups, 21U);
  EXPECT_EQ(got.counters.meeting_points, 22U);
  EXPECT_EQ(got.counters.collectives, 23U);
  EXPECT_EQ(got.counters.divergent_collectives, 24U);
  EXPECT_EQ(got.counters.matrix_multiplies, 25U);
  EXPECT_EQ(got.digest, sent.digest);
  EXPECT_EQ(got.oracle_seconds, sent.oracle_seconds);
  EXPECT_EQ(got.simulator_seconds, sent.simulator_seconds);
}

TEST(VerdictWire, BytesBehindTheEndAreRefused) {
  Bytes bytes = encode_verdict(full_verdict());
  bytes.push_back(std::byte{0});
  EXPECT_THROW(static_cast<void>(decode_verdict(bytes, some_case())), DamagedArchive);
}

// Everything that a verdict may hold, with each fault in a verdict of its own: what is done at every place of a verdict, which is decoded
// each time, costs the square of its length.
std::vector<Bytes> verdicts_with_everything() {
  Verdict verdict = full_verdict();
  verdict.faults.clear();
  verdict.stages.front().faults.resize(1);
  std::vector<Bytes> all = {encode_verdict(verdict)};
  for (const harness::Fault& fault : faults_of_every_kind()) {
    Verdict failed = passed_verdict();
    failed.status = Status::failed;
    failed.faults = {fault};
    all.push_back(encode_verdict(failed));
  }
  return all;
}

TEST(VerdictWire, EveryTruncationIsRefused) {
  for (const Bytes& whole : verdicts_with_everything()) {
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_THROW(static_cast<void>(decode_verdict(std::span(whole).first(length), some_case())), DamagedArchive) << length;
  }
}

// A flipped bit gives a refusal or a verdict that is in order in itself: it can be encoded and says the same again. `step` 1: every bit.
void flip_bits(std::size_t step) {
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for (const Bytes& whole : verdicts_with_everything()) {
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += step) {
      Bytes bytes = whole;
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      try {
        const Verdict verdict = decode_verdict(bytes, some_case());
        EXPECT_NE(harness::to_string(verdict.status), "?");
        EXPECT_NE(verdict.row_length, 0U);
        EXPECT_EQ(encode_verdict(verdict), bytes) << "bit " << bit << " was not understood";
        ++accepted;
      } catch (const DamagedArchive&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(accepted, 0U);
}

// Wherever eight bytes may be a count, they say that a great deal follows. What would be allocated is never more than there is.
void lie_about_counts(std::size_t step) {
  for (const Bytes& whole : verdicts_with_everything()) {
    for (const std::uint64_t lie : {~std::uint64_t{0}, std::uint64_t{1} << 40, std::uint64_t{whole.size()}}) {
      for (std::size_t place = 0; place + sizeof(lie) <= whole.size(); place += step) {
        Bytes bytes = whole;
        std::memcpy(bytes.data() + place, &lie, sizeof(lie));
        try {
          const Verdict verdict = decode_verdict(bytes, some_case());
          EXPECT_LE(verdict.faults.size() + verdict.stages.size() + verdict.hazards.size() + verdict.judgement.worst.size(), whole.size());
        } catch (const DamagedArchive&) {
        }
      }
    }
  }
}

// Both steps have no factor in common with the sizes of fields, so that every kind of field is met at every one of its bits.
TEST(VerdictWire, AFlippedBitIsRefusedOrHarmless) { flip_bits(37); }
TEST(VerdictWire, ACountThatLiesCostsNoMemory) { lie_about_counts(11); }
TEST(VerdictWireEverywhere, EveryFlippedBitIsRefusedOrHarmless) { flip_bits(1); }
TEST(VerdictWireEverywhere, ACountThatLiesCostsNoMemory) { lie_about_counts(1); }

TEST(VerdictWire, APassIsHeldAgainstItsFigures) {
  EXPECT_EQ(decode_verdict(encode_verdict(passed_verdict()), some_case()).status, Status::passed);

  Verdict nothing_compared = passed_verdict();
  nothing_compared.judgement.compared = 0;
  Verdict above_bound = passed_verdict();
  above_bound.judgement.above_bound = 1;
  Verdict hazardous = passed_verdict();
  hazardous.hazards = full_verdict().hazards;
  for (const Verdict& wrong : {nothing_compared, above_bound, hazardous})
    EXPECT_THROW(static_cast<void>(decode_verdict(encode_verdict(wrong), some_case())), DamagedArchive);
}

TEST(VerdictWire, RowsOfNoElementsAreRefused) {
  Verdict verdict = full_verdict();
  verdict.row_length = 0;
  EXPECT_THROW(static_cast<void>(decode_verdict(encode_verdict(verdict), some_case())), DamagedArchive);
}

}  // namespace
}  // namespace assay::tests::worker_wire_test

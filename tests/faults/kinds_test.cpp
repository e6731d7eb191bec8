// Every kind of fault is found where it is: each with the least that must go wrong for it. Twins that stay quiet are in
// faulty_twins_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/registry.h"
#include "harness/execute/execute.h"
#include "harness/execute/gpu_process.h"
#include "harness/findings/beyond.h"
#include "harness/findings/fault_text.h"
#include "harness/findings/known_finding.h"
#include "harness/findings/remarks.h"
#include "harness/judge/judge.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/sqlite.h"
#include "harness/process/runner.h"
#include "metal/errors.h"
#include "tests/faults/twin_variant.h"
#include "tests/support/files.h"
#include "tests/support/mock_driver.h"

namespace assay::tests::kinds_test {
namespace {

using harness::Case;
using harness::ExecutionOptions;
using harness::Fault;
using harness::FaultKind;
using harness::Status;
using harness::Verdict;
using Faults = std::vector<Fault>;

// Those of the verdict, then those of its stages.
Faults all_of(const Verdict& verdict) {
  Faults faults = verdict.faults;
  for (const harness::StageVerdict& stage : verdict.stages) faults.insert(faults.end(), stage.faults.begin(), stage.faults.end());
  return faults;
}

// A piece of a variant's source in place of another.
struct Edit {
  std::string_view variant, name, from, to;
};

// A case of another variant runs beside the broken one, which it borrows.
Faults of_edit(const Edit& edit, std::string_view case_words, const ExecutionOptions& options = {}, std::string_view runs = {},
               bool remarks_fail = false) {
  const TwinVariant variant(edit.variant, Twin{edit.name, "", edit.from, edit.to, {}, {}});
  std::vector<kernels::Variant> catalogue = variant.catalogue();
  const auto found = std::ranges::find(catalogue, runs.empty() ? edit.variant : runs, &kernels::Variant::name);
  const Case test_case = harness::parse_case(found->name + "/" + std::string(case_words), harness::find_family(found->family));
  const harness::Workbench workbench(catalogue, std::span(&test_case, 1), {});
  Verdict verdict = execute_case(workbench.find(test_case.variant), test_case, options);
  if (remarks_fail) settle_remarks(verdict);
  return all_of(verdict);
}

// A right kernel under what else may go wrong.
constexpr std::string_view kRight = "fwht_v1/d256/h2/standalone/gauss/s1";

Faults of_right(
    const std::string& name, const ExecutionOptions& options = {},
    const std::function<void(kernels::Variant&)>& change = [](kernels::Variant&) {}) {
  std::vector<kernels::Variant> catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const auto variant = std::ranges::find(catalogue, std::string(harness::variant_of(name)), &kernels::Variant::name);
  const Case test_case = harness::parse_case(name, harness::find_family(variant->family));
  const Case prepared_for = harness::parse_case(std::string(kRight), harness::find_family("fwht"));
  change(*variant);
  const harness::Workbench workbench(catalogue, variant->family == "fwht" ? std::span(&prepared_for, 1) : std::span(&test_case, 1), {});
  harness::Verdict verdict = execute_case(workbench.find(test_case.variant), test_case, options);
  harness::settle_beyond(*variant, verdict);
  return all_of(verdict);
}

ExecutionOptions launching(std::function<void(metal::ComputeEncoder&, const harness::Encode&)> launch) {
  ExecutionOptions options;
  options.launch = std::move(launch);
  return options;
}

ExecutionOptions under(metal::Policy policy) {
  ExecutionOptions options;
  options.policy = policy;
  return options;
}

// In a process of its own.
Faults of_worker(const std::function<void()>& happen, harness::RunOptions options = {}) {
  struct Listener final : harness::RunListener {
    void started(const Case&) override {}
    void finished(const Verdict& verdict, const harness::Summary&) override { faults = verdict.faults; }
    Faults faults;
  } listener;
  const Case test_case = harness::parse_case(std::string(kRight), harness::find_family("fwht"));
  const std::atomic<bool> never = false;
  const harness::CaseFunction execute = [&](const Case& one) {
    happen();
    Verdict verdict;
    verdict.test_case = one;
    verdict.status = Status::passed;
    verdict.judgement.compared = 1;
    return verdict;
  };
  static_cast<void>(harness::run_cases(std::span(&test_case, 1), execute, options, never, listener));
  return listener.faults;
}

Faults of_finding(std::string_view when, std::string_view shows, bool fails, std::size_t infinite = 0) {
  kernels::Variant variant;
  variant.name = "fwht_v1";
  variant.family = "fwht";
  variant.description = "some/variant.toml";
  variant.known_findings = {{std::string(when), std::string(shows), "", 12}};
  Verdict verdict;
  verdict.test_case = harness::parse_case(std::string(kRight), harness::find_family("fwht"));
  verdict.status = fails ? Status::failed : Status::passed;
  verdict.judgement.compared = 1;
  verdict.judgement.nans = fails ? 1 : 0;
  verdict.judgement.infs = infinite;
  verdict.faults = harness::faults_of(verdict.judgement);
  settle_known_findings(harness::known_findings_of(variant), verdict);
  return verdict.faults;
}

// On a GPU whose kernels all fail.
Faults of_gpu() {
  harness::GpuProcess::replace_driver([]() -> std::unique_ptr<metal::cuda::Driver> {
    auto driver = std::make_unique<testing::NiceMock<MockDriver>>();
    driver->behave([](const auto&...) { return metal::cuda::Status::illegal_address; });
    return driver;
  });
  ExecutionOptions options;
  options.device.kind = metal::DeviceChoice::Kind::cuda;
  Faults faults = of_right(std::string(kRight), options);
  harness::GpuProcess::replace_driver(metal::cuda::load_driver);
  return faults;
}

Faults of_old_ledger() {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("assay_kinds_" + std::to_string(getpid()) + ".sqlite");
  {
    harness::Database(file, harness::Database::Mode::create).execute(read_file(kRoot / "tests/golden/ledger_v3.sql"));
  }
  Faults faults = harness::Ledger::open_existing(file).cases(1).at(0).faults;
  std::filesystem::remove(file);
  return faults;
}

constexpr std::string_view kStore = "        row[e] = x[e];";
const std::string kCapped = "tq4_v1/d512/h4x4/kv100c100/ring7/causal/nwg2/scale1/gauss/s3/beyond-softcap";
constexpr std::string_view kPartials = "d256/h1x1/kv33c33/ring0/nomask/nwg4/gauss/s21";
constexpr Edit kDoubled = {"fwht_v1", "kind_doubled", kStore, "        row[e] = 2.0f * x[e];"};
constexpr Edit kOneLate = {"tq4_v1", "kind_one_late", "dst4[row * D4 + i] =", "dst4[row * D4 + i + 1] ="};

void write_to_all(std::string_view bytes) {
  for (int file = 3; file < 64; ++file) [[maybe_unused]]
    const auto written = write(file, bytes.data(), bytes.size());
}

// By Promise::id.
const std::map<std::string_view, std::function<Faults()>>& what_breaks_promises() {
  static const std::map<std::string_view, std::function<Faults()>> table = {
      {"threadgroup behind the last",
       [] {
         return of_edit({"fwht_v1", "kind_behind", "head >= params.num_heads", "head > params.num_heads"}, "d256/h2/standalone/gauss/s1");
       }},
      {"idle workgroup", [] { return of_edit({"tq4_v1", "kind_maximum", "+ 1] = M;", "+ 1] = S == 0.0f ? 0.0f : M;"}, kPartials); }},
      {"stray slot",
       [] {
         return of_edit({"quantize4_v1", "kind_stray", "head * params.cache_capacity + slot", "head * (params.write_pos + 1) + slot"},
                        "d256/b4/g2/pos2c8/gauss/s6");
       }},
      {"old cache",
       [] {
         return of_edit({"quantize4_v1", "kind_old", "out[e / 2] = quantize(x[e])", "out[e / 2] = (out[e / 2] & 0xF0) | quantize(x[e])"},
                        "d512/b4/g2/pos0c4/gauss/s4");
       }},
      {"wrong pad row",
       [] {
         return of_edit({"bf16_prefill_v1", "kind_pad_row", "v_out[i] = live ? v_row[i] : 0;", "v_out[i] = v_row[i];"},
                        "b1/h1x1/q8/kv100r64/nomask/gauss/s3");
       }},
      {"wrong pad mask",
       [] {
         return of_edit({"bf16_prefill_v1", "kind_pad_mask", "m_row[first + i] : half(-65504.0h);", "m_row[first + i] : half(-1.0h);"},
                        "b1/h2x1/q64/kv100r0/zero1x1/gauss/s5");
       }},
      {"wrong tile class",
       [] {
         return of_edit({"bf16_prefill_v1", "kind_tile", "simd_max(highest) > kInvisible", "simd_max(highest) > 0.0h"},
                        "b1/h1x1/q8/kv128r0/zero1x1/gauss/s4");
       }},
      {"wrong merge",
       [] {
         return of_edit({"reduce_v1", "kind_merge", "const float inv = S == 0.0f ? 0.0f : 1.0f / S;",
                         "const float inv = S == 0.0f ? 0.0f : 2.0f / S;"},
                        kPartials, {}, "tq4_v1");
       }},
  };
  return table;
}

const std::map<FaultKind, std::function<Faults()>>& what_fires() {
  using enum FaultKind;
  static const std::map<FaultKind, std::function<Faults()>> table = {
      {broken_promise, what_breaks_promises().at("stray slot")},
      {above_bound, [] { return of_edit(kDoubled, "d256/h1/standalone/gauss/s1"); }},
      {nan,
       [] { return of_edit({"fwht_v1", "kind_nan", kStore, "        row[e] = as_type<float>(0x7fc00000u);"}, "d256/h1/undo/gauss/s1"); }},
      {infinite, [] { return of_edit({"fwht_v1", "kind_infinite", kStore, "        row[e] = INFINITY;"}, "d256/h1/undo/gauss/s1"); }},
      {not_written, [] { return of_edit(kOneLate, "d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s19"); }},
      {guard_written, [] { return of_edit(kOneLate, "d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s19"); }},
      {logic, [] { return of_edit(kDoubled, "d256/h1/standalone/gauss/s1", under(metal::Policy::shadow)); }},
      {mistrusted,
       [] {
         // Partials of which none is attended to: their merge cannot be judged.
         return of_edit({"tq4_v1", "kind_idle", "if (simd_max(mask) <= kMasked) {", "if (simd_max(mask) <= 1e30f) {"},
                        "d256/h1x1/kv33c33/ring0/nomask/nwg2/gauss/s1");
       }},
      {hazard,
       [] {
         constexpr std::string_view row = "device float * row = data + head * D + lane * E;";
         static const std::string writes = std::string(row) + " data[params.num_heads * D] = 42.0f;";
         return of_edit({"fwht_v1", "kind_hazard", row, writes}, "d256/h1/standalone/gauss/s1", under(metal::Policy::checked));
       }},
      {order_dependence,
       [] {
         return of_edit({"reduce_v1", "kind_order", "const float inv = S == 0.0f ? 0.0f : 1.0f / S;",
                         "threadgroup float shared[1]; if (sg == 0 && lane == 0) { shared[0] = S == 0.0f ? 0.0f : 1.0f / S; } const float "
                         "inv = shared[0];"},
                        "d256/rows2/nwg4/gauss/s1");
       }},
      {input_written,
       [] {
         return of_edit({"tq4_v1", "kind_input", "const float norm_scale = rsqrt(float(D));",
                         "const float norm_scale = rsqrt(float(D)); if (lane == 0) ((device float *) K_norms)[kv_head * cap] *= 0.5f;"},
                        "d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s19");
       }},
      {wrong_table,
       [] { return of_edit({"tq4_v1", "kind_table", "-1.2562312f", "-1.2562314f"}, "d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s19"); }},
      {stored_expectation, [] { return of_edit(kDoubled, "d256/h3/premult/h5-fwht_tiny/s27"); }},
      {outside_of_oracle, [] { return of_edit({"tq4_v1", "kind_outside", "+ 1] = M;", "+ 1] = INFINITY;"}, kPartials); }},
      {refused_by_launch, [] { return of_right("fwht_v1/d300/h2/standalone/gauss/s1"); }},
      {refused_by_encoder,
       [] {
         return of_right(std::string(kRight), launching([](metal::ComputeEncoder& encoder, const harness::Encode&) {
                           encoder.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});  // of no pipeline
                         }));
       }},
      {outside_of_limits,
       [] {
         return of_right(std::string(kRight), {}, [](kernels::Variant& variant) { variant.limits = {{"num_heads", {8, 16}, 3, false}}; });
       }},
      {no_function, [] { return of_right("fwht_v1/d512/h2/standalone/gauss/s1"); }},
      {misfit,
       [] {
         return of_right("tq4_v1/d512/h1x1/kv33c33/ring0/nomask/sfroot512/nwg1/gauss/s1", {},
                         [](kernels::Variant& variant) { variant.limits.clear(); });
       }},
      {unusable_file, [] { return of_right("fwht_v1/d256/h2/standalone/h5-fwht_tiny/s27"); }},
      {internal_failure,
       [] {
         return of_right(std::string(kRight),
                         launching([](metal::ComputeEncoder&, const harness::Encode&) { throw std::runtime_error("the harness itself"); }));
       }},
      {killed, [] { return of_worker([] { std::abort(); }); }},
      {exited, [] { return of_worker([] { _exit(3); }); }},
      {out_of_memory, [] { return of_worker([] { throw std::bad_alloc(); }); }},
      {closed_channel,
       [] {
         return of_worker([] {
           for (int file = 3; file < 64; ++file) close(file);
           while (true) pause();
         });
       }},
      {vanished,
       [] {
         const auto before = std::signal(SIGCHLD, SIG_IGN);
         Faults faults = of_worker([] { _exit(3); });
         std::signal(SIGCHLD, before);
         return faults;
       }},
      {malformed_verdict, [] { return of_worker([] { write_to_all(std::string(64, 'x')); }); }},
      {timeout,
       [] {
         harness::RunOptions options;
         options.timeout = std::chrono::milliseconds(200);
         return of_worker(
             [] {
               while (true) pause();
             },
             options);
       }},
      {memory_limit,
       [] {
         harness::RunOptions options;
         options.memory = 1;
         return of_worker(
             [] {
               while (true) pause();
             },
             options);
       }},
      {other_bits, [] { return of_right("bf16_vec_v2/b1/h2x1/q7/kv65r0/row1x2/nsg2/broad/s353/beyond-same_bits_for_every_nsg"); }},
      {not_required, [] { return of_right(kCapped); }},
      {broken_claim,
       [] {
         return of_right(kCapped, {}, [](kernels::Variant& variant) {
           variant.claims = {{.text = "softcap", .same_bits_as = {}, .omission = "softcap", .where = {}}};
         });
       }},
      {known_finding, [] { return of_finding("num_heads == 2", "nan", true); }},
      {like_known_finding, [] { return of_finding("num_heads == 3", "nan", true); }},
      {stale_finding, [] { return of_finding("num_heads == 2", "nan", false); }},
      {missing_finding, [] { return of_finding("num_heads == 2", "inf", true); }},
      {beyond_finding, [] { return of_finding("num_heads == 2", "nan", true, 1); }},
      {device_fault, of_gpu},
      {remark,
       [] {
         // Each lane reads what its neighbour wrote, and nothing orders them.
         return of_edit({"fwht_v1", "kind_remark", "const float scale = rsqrt(float(D));",
                         "threadgroup float shared[32]; shared[lane] = x[0]; x[0] = shared[lane ^ 1] == 0.5f ? x[0] : x[0] + 0.0f; "
                         "const float scale = rsqrt(float(D));"},
                        "d256/h1/standalone/gauss/s1", under(metal::Policy::checked), {}, true);
       }},
      {told, of_old_ledger},
  };
  return table;
}

class KindOfFault : public ::testing::TestWithParam<FaultKind> {};

TEST_P(KindOfFault, IsFoundWhereItIs) {
  const auto fires = what_fires().find(GetParam());
  ASSERT_NE(fires, what_fires().end()) << "nothing shows that '" << to_string(GetParam()) << "' is ever found";
  const Faults faults = fires->second();
  EXPECT_TRUE(has_kind(faults, GetParam())) << "only: " << harness::reason_of(faults);
}

class BreachOf : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BreachOf, IsFoundWhereItIs) {
  const auto fires = what_breaks_promises().find(GetParam());
  ASSERT_NE(fires, what_breaks_promises().end()) << "nothing shows that a breach of '" << GetParam() << "' is ever found";
  const Faults faults = fires->second();
  const auto is_breach = [](const harness::Fault& fault) { return harness::name_of(fault) == GetParam(); };
  EXPECT_TRUE(std::ranges::any_of(faults, is_breach)) << "only: " << harness::reason_of(faults);
}

std::set<std::string_view> every_promise() {
  std::set<std::string_view> promises;
  for (const families::Family& family : families::all_families()) {
    for (const families::Promise& promise : family.promises) promises.insert(promise.id);
  }
  return promises;
}

INSTANTIATE_TEST_SUITE_P(All, BreachOf, ::testing::ValuesIn(every_promise()), [](const auto& info) {
  std::string name(info.param);
  std::ranges::replace(name, ' ', '_');
  return name;
});

std::vector<FaultKind> every_kind() {
  std::vector<FaultKind> kinds;
  for (std::size_t i = 0; i < harness::kFaultKinds; ++i) kinds.push_back(static_cast<FaultKind>(i));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, KindOfFault, ::testing::ValuesIn(every_kind()), [](const auto& info) {
  std::string name(to_string(info.param));
  std::ranges::replace(name, ' ', '_');
  return name;
});

// What is in order has none.
TEST(KindsOfFaults, OfARightKernelThereAreNone) {
  EXPECT_EQ(of_right(std::string(kRight)), Faults());
  EXPECT_EQ(of_worker([] {}), Faults());
  EXPECT_EQ(of_finding("num_heads == 3", "nan", false), Faults());
}

}  // namespace
}  // namespace assay::tests::kinds_test

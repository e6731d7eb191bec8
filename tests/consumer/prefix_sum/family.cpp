// The descriptor of the family: contract, axes, inputs, launch, job, least cost, and its part of triage.
#include "prefix_sum/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "families/described_launch.h"
#include "families/shared/levels.h"
#include "families/shared/mistake_table.h"
#include "families/shared/probes.h"
#include "families/shared/refusal.h"
#include "fixtures/counter.h"
#include "prefix_sum/oracle.h"

namespace prefix_sum {
namespace {

using namespace assay::families;
namespace fixtures = assay::fixtures;
namespace kernels = assay::kernels;
namespace metal = assay::metal;

// What every kernel of the family has: its function, arguments, and the fields of its struct.
constexpr std::array kEntries = {kernels::EntryContract{"rows", "prefix_sum_rows"}};
constexpr std::array kArguments = {
    kernels::ArgumentContract{"src", 0, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"dst", 1, kernels::ArgumentRole::output, metal::ScalarType::float32},
    kernels::ArgumentContract{"shape", 2, kernels::ArgumentRole::parameters, metal::ScalarType::other},
};
constexpr std::array kFields = {kernels::FieldContract{"rows", metal::ScalarType::uint32},
                                kernels::FieldContract{"length", metal::ScalarType::uint32}};
constexpr kernels::FamilyContract kContract{"prefix_sum", kEntries, kArguments, kFields, false};

// What the covering design combines.
constexpr std::array<std::int64_t, 4> kRows = {1, 2, 5, 33};
constexpr std::array<std::int64_t, 10> kLengths = {1, 2, 31, 33, 255, 256, 257, 512, 1000, 4096};
constexpr std::uint32_t kThreads = 256;

// ---- inputs

fixtures::TensorSpec layout_of(const Case& test_case) {
  return {"inputs/src", fixtures::Element::float32, {test_case.size("rows"), test_case.size("length")}};
}

std::vector<float> generated(const Case& test_case, std::string_view fixture) {
  std::vector<float> src(test_case.size("rows") * test_case.size("length"), 1.0F);  // uniform: every sum is a whole number
  const fixtures::Counter random(test_case.seed, fixtures::Stream::data);
  for (std::size_t i = 0; fixture != "uniform" && i < src.size(); ++i) {
    // cancel: neighbours cancel, so that the sums stay small.
    const bool repeats = fixture == "cancel" && i % test_case.size("length") % 2 == 1;
    src[i] = repeats ? -src[i - 1] : static_cast<float>(random.normal(i));
  }
  return src;
}

std::vector<float> inputs_of(const Case& test_case, const Source& source) {
  return source.is_file() ? source.tensors[0].values<float>() : generated(test_case, source.generator->name);
}

FileRules files() {
  return {.inputs = [](const Case& test_case) { return std::vector{layout_of(test_case)}; },
          .output_shape = [](const Case& test_case) { return layout_of(test_case).shape; },
          .generate =
              [](const Case& test_case, const fixtures::Fixture& fixture) {
                return std::vector{fixtures::make_tensor<float>(layout_of(test_case), generated(test_case, fixture.name))};
              },
          .expect = [](const Case& test_case,
                       const Source& source) { return prefix_sums(inputs_of(test_case, source), test_case.size("length")); }};
}

// ---- launch and job

// Names are those of the axes; arguments and fields of the same names get their values.
constexpr std::string_view kLaunch = R"(
[[dispatch]]
function = "rows"
grid     = "rows"
threads  = 256
)";

const kernels::LaunchDescription& launch() {
  static const kernels::LaunchDescription launch = kernels::parse_launch_of_family(kLaunch, "prefix_sum/family.cpp");
  return launch;
}

void validate(const Case& test_case) {
  require_positive("rows", static_cast<std::uint64_t>(test_case.at("rows")));
  require_positive("length", static_cast<std::uint64_t>(test_case.at("length")));
}

Job job(const JobRequest& request) {
  const auto src = std::make_shared<const std::vector<float>>(inputs_of(request.test_case, request.source));
  const std::size_t length = request.test_case.size("length");
  Job job{.inputs = src, .row_length = length};
  job.add(input_buffer("src", std::as_bytes(std::span(*src))));
  const std::size_t output = job.add(output_buffer("dst", src->size() * sizeof(float)));
  job.passes = {launch_pass(request, job)};
  job.judged = {output};
  job.constant_is_expected = length == 1 && std::ranges::all_of(*src, [&](float value) { return value == src->front(); });
  job.expect = [src, length] { return prefix_sums(*src, length); };
  return job;
}

// Every element is read and written once, and each but the first of a row costs an addition.
Minimum least_cost(const Case& test_case, const Source&) {
  const std::uint64_t elements = test_case.size("rows") * test_case.size("length");
  return minimum::of(minimum::kFloat * elements, minimum::kFloat * elements, elements - test_case.size("rows"));
}

// ---- triage: the definition in double, with a switch per known mistake

struct Change {
  bool loses_carry = false;
  bool is_exclusive = false;
};

class PrefixSums final : public Model {
 public:
  PrefixSums(std::vector<float> src, std::size_t length) : src_(std::move(src)), length_(length) {}

  [[nodiscard]] std::vector<double> evaluate(const Change& change) const {
    std::vector<double> result;
    double sum = 0.0;
    for (std::size_t i = 0; i < src_.size(); ++i) {
      const std::size_t at = i % length_;
      if (at == 0 || (change.loses_carry && at % kThreads == 0)) sum = 0.0;
      const double before = sum;
      sum += static_cast<double>(src_[i]);
      result.push_back(change.is_exclusive ? before : sum);
    }
    return result;
  }

 private:
  std::vector<float> src_;
  std::size_t length_;
};

std::vector<Mistake> mistakes() {
  MistakeTable<PrefixSums, Change> table;
  table.add(mistake::kChunk, "the blocks of 256 elements before an element's own are not added", &Change::loses_carry, true);
  table.add(mistake::kNewest, "an element is not part of its own sum", &Change::is_exclusive, true);
  return table.take();
}

std::vector<Case> probes(const Case& test_case) {
  Probes probes(test_case, {{"rows", 1}});
  probes.add({{"length", 3}}, "gauss");
  probes.add({{"length", 257}}, "uniform");
  return probes.take();
}

Place place(const Case& test_case, std::uint64_t byte) {
  const std::uint64_t length = test_case.size("length");
  return {fmt::format("element {} of row {}", byte / 4 % length, byte / 4 / length), std::nullopt};
}

}  // namespace

Family family() {
  return {.contract = kContract,
          .description = "sums of the elements of a row up to each",
          .axes = {{.name = "rows", .minimum = 0, .maximum = 4096, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
                   {.name = "length", .minimum = 0, .maximum = 1 << 14, .initial = 1, .weight = Weight::factor, .tried = Tried::counts}},
          .words = {{{{"rows{rows}", {}}}}, {{{"n{length}", {}}}}},
          .factors = {factor_of("rows", 0, kRows), factor_of("length", 1, kLengths)},
          .realise =
              [](std::span<const int> levels, std::span<std::int64_t> values) {
                set(values[0], kRows, levels[0]);
                set(values[1], kLengths, levels[1]);
                return true;
              },
          .draw =
              [](Draw& draw, std::span<std::int64_t> values) {
                values[0] = draw.between(1, 40);
                values[1] = draw.between(1, 2000);
              },
          .work = no_work,
          .has_fixture = [](const fixtures::Fixture& it) { return it.name == "gauss" || it.name == "uniform" || it.name == "cancel"; },
          .launch = &launch(),
          .expression_names = names_of_axes,
          .validate = validate,
          .simdgroups = [](const Case&) { return std::int64_t{kThreads / 32}; },
          .files = files(),
          .job = job,
          .minimum = least_cost,
          .triage = {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
                       return std::make_shared<PrefixSums>(inputs_of(test_case, source), test_case.size("length"));
                     },
                     .mistakes = mistakes,
                     .probes = probes,
                     .steps = {steps_of("rows", {1, 2}), steps_of("length", {1, 2, 3, 256, 257})},
                     .followed = "src",
                     .place = place,
                     .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"rows", test_case.size("rows")}}; }}};
}

}  // namespace prefix_sum

// A family as a user would add it: `toy` computes dst = 3 src, a row per threadgroup. The smallest complete descriptor.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include "families/described_launch.h"
#include "families/family.h"
#include "families/shared/levels.h"
#include "families/shared/mistake_table.h"
#include "families/shared/probes.h"
#include "families/shared/refusal.h"
#include "fixtures/counter.h"

namespace assay::families {
namespace {

constexpr std::uint32_t kRowLength = 256;
constexpr std::array<std::int64_t, 4> kRows = {1, 2, 5, 33};

constexpr std::array kEntries = {kernels::EntryContract{"rows", "toy_triple"}};
constexpr std::array kArguments = {
    kernels::ArgumentContract{"src", 0, kernels::ArgumentRole::input, metal::ScalarType::float32},
    kernels::ArgumentContract{"dst", 1, kernels::ArgumentRole::output, metal::ScalarType::float32},
    kernels::ArgumentContract{"params", 2, kernels::ArgumentRole::parameters, metal::ScalarType::other},
};
constexpr std::array kFields = {kernels::FieldContract{"count", metal::ScalarType::uint32}};
constexpr kernels::FamilyContract kContract{"toy", kEntries, kArguments, kFields, false};

fixtures::TensorSpec layout_of(const Case& it) { return {"inputs/src", fixtures::Element::float32, {it.size("rows"), kRowLength}}; }

// For the fixtures gauss and uniform.
std::vector<float> generated(const Case& test_case, std::string_view fixture) {
  std::vector<float> src(test_case.size("rows") * kRowLength, 1.0F);
  const fixtures::Counter random(test_case.seed, fixtures::Stream::data);
  for (std::size_t i = 0; fixture == "gauss" && i < src.size(); ++i) src[i] = static_cast<float>(random.normal(i));
  return src;
}

std::vector<float> inputs_of(const Case& test_case, const Source& source) {
  return source.is_file() ? source.tensors[0].values<float>() : generated(test_case, source.generator->name);
}

// One product, rounded once: half a unit in the last place, or of the smallest subnormal.
oracles::Expected expected_of(const std::vector<float>& src) {
  oracles::Expected expected;
  for (const float value : src) {
    const double exact = 3.0 * static_cast<double>(value);
    expected.value.push_back(exact);
    expected.bound.push_back(std::abs(exact) * 0x1p-24 + 0x1p-150);
    expected.magnitude.push_back(std::abs(exact));
  }
  return expected;
}

void validate_toy(const Case& test_case) { require_positive("rows", static_cast<std::uint32_t>(test_case.at("rows"))); }

constexpr std::string_view kLaunch =
    "[let]\ncount = 'rows * 256'\n"
    "[[dispatch]]\nfunction = 'rows'\ngrid = 'rows'\nthreads = 256\n";

Job toy_job(const JobRequest& request) {
  const auto src = std::make_shared<const std::vector<float>>(inputs_of(request.test_case, request.source));
  Job job{.inputs = src, .row_length = kRowLength};
  job.add(input_buffer("src", std::as_bytes(std::span(*src))));
  const std::size_t output = job.add(output_buffer("dst", src->size() * sizeof(float)));
  job.passes = {launch_pass(request, job)};
  job.judged = {output};
  job.constant_is_expected = std::ranges::all_of(*src, [&](float value) { return value == src->front(); });  // fixture `uniform`
  job.expect = [src] { return expected_of(*src); };
  return job;
}

struct ToyChange {
  double factor = 3.0;
};

class ToyModel final : public Model {
 public:
  explicit ToyModel(std::vector<float> src) : src_(std::move(src)) {}
  [[nodiscard]] std::vector<double> evaluate(const ToyChange& change) const {
    std::vector<double> result(src_.begin(), src_.end());
    for (double& value : result) value *= change.factor;
    return result;
  }

 private:
  std::vector<float> src_;
};

std::vector<Mistake> toy_mistakes() {
  MistakeTable<ToyModel, ToyChange> table;
  table.add(mistake::kScale, "rows are doubled, not tripled", [](ToyChange& change) { change.factor = 2.0; });
  return table.take();
}

}  // namespace

Family toy_family() {
  static const kernels::LaunchDescription launch = kernels::parse_launch_of_family(kLaunch, "toy/family.cpp");
  return {.contract = kContract,
          .description = "three times its input",
          .axes = {{.name = "rows", .minimum = 0, .maximum = 1024, .initial = 1, .weight = Weight::factor, .tried = Tried::counts}},
          .words = {{{{"rows{rows}", {}}}}},
          .factors = {factor_of("rows", 0, kRows)},
          .realise =
              [](std::span<const int> levels, std::span<std::int64_t> values) {
                set(values[0], kRows, levels[0]);
                return true;
              },
          .draw = [](Draw& draw, std::span<std::int64_t> values) { values[0] = draw.between(1, 64); },
          .work = no_work,
          .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.name == "gauss" || fixture.name == "uniform"; },
          .launch = &launch,
          .expression_names = names_of_axes,
          .validate = validate_toy,
          .simdgroups = [](const Case&) { return std::int64_t{kRowLength / 32}; },
          .files = {.inputs = [](const Case& test_case) { return std::vector{layout_of(test_case)}; },
                    .output_shape = [](const Case& test_case) { return layout_of(test_case).shape; },
                    .generate =
                        [](const Case& test_case, const fixtures::Fixture& fixture) {
                          return std::vector{fixtures::make_tensor<float>(layout_of(test_case), generated(test_case, fixture.name))};
                        },
                    .expect = [](const Case& test_case, const Source& source) { return expected_of(inputs_of(test_case, source)); }},
          .job = toy_job,
          .minimum =
              [](const Case& test_case, const Source&) {
                const std::uint64_t elements = test_case.size("rows") * kRowLength;
                return minimum::of(minimum::kFloat * elements, minimum::kFloat * elements, elements);
              },
          .triage = {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
                       return std::make_shared<ToyModel>(inputs_of(test_case, source));
                     },
                     .mistakes = toy_mistakes,
                     .probes =
                         [](const Case& test_case) {
                           Probes probes(test_case, {{"rows", 1}});
                           probes.add({{"rows", 2}}, "uniform");
                           return probes.take();
                         },
                     .steps = {steps_of("rows", {1, 2})},
                     .followed = "src",
                     .place = [](const Case&, std::uint64_t byte) { return Place{fmt::format("element {}", byte / 4), std::nullopt}; },
                     .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"rows", test_case.size("rows")}}; }}};
}

}  // namespace assay::families

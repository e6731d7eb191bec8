// Family `custom`: a job that only its variant.toml describes. Each variant has axes, tensors, bounds and a reference of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "families/custom/contract.h"
#include "families/custom/custom_family.h"
#include "families/custom/custom_reference.h"
#include "families/custom/custom_sketch.h"
#include "families/custom/omissions.h"
#include "families/described_launch.h"
#include "families/minimum.h"
#include "families/mistakes.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace {

using Shared = std::shared_ptr<const CustomVariant>;  // null: the family without a variant

constexpr std::size_t kGateStrength = 3;

class NoModel final : public Model {};

const CustomVariant& variant_in(const Shared& shared) {
  if (!shared) throw std::invalid_argument("family custom has no cases without a variant.toml (docs/CUSTOM.md)");
  return *shared;
}

bool is_possible(const CustomVariant& of, std::span<const std::int64_t> values) {
  if (std::ranges::find(values, kOpen) != values.end()) return true;
  const CustomNames names(of.description(), values);
  try {
    if (of.description().valid && !of.description().valid->condition(names)) return false;
    const auto& file = of.description().reference.file;
    std::error_code ignored;
    return !file || std::filesystem::is_regular_file(of.folder / file->evaluate(names), ignored);
  } catch (const kernels::ExpressionError& error) {
    throw kernels::VariantError(error.what());
  }
}

std::int64_t simdgroups_of(const CustomVariant& of, const Case& test_case) {
  try {
    return (DescribedLaunch(test_case, of.variant).largest_threadgroup() + 31) / 32;
  } catch (const kernels::ExpressionError&) {
  } catch (const std::invalid_argument&) {
  }
  return 1;
}

Minimum minimum_of(const CustomCase& own) {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  for (const CustomLayout& layout : own.layouts()) (layout.tensor->is_output ? written : read) += layout.count * layout.width();
  return minimum::of(read, written, 0);
}

// One row per combination of the outer axes, if the outputs have the same.
std::vector<RowPart> row_parts_of(const CustomCase& own) {
  const std::vector<const CustomLayout*> outputs = own.outputs();
  const CustomLayout& first = *outputs.front();
  if (outputs.size() > 1) return {};
  std::vector<RowPart> parts;
  for (std::size_t i = 0; i + 1 < first.shape.size(); ++i) {
    // The name of an axis that is an expression would not be one.
    const auto name = first.tensor->shape[i].sole_name();
    parts.push_back({name ? std::string_view(*name) : std::string_view("rows"), first.shape[i]});
  }
  return parts;
}

std::vector<Case> smallest_cases(const CustomVariant& of, const Case& test_case) {
  std::vector<Case> cases;
  const auto add = [&](const std::vector<std::int64_t>& values) {
    Case next = test_case;
    next.values = values;
    next.fixture = of.description().fixtures.front();
    next.seed = 1;
    if (is_possible(of, values)) cases.push_back(std::move(next));
  };
  // Each axis alone at the values next to that of the case.
  for (std::size_t i = 0; i < test_case.values.size(); ++i) {
    const std::vector<std::int64_t>& list = of.description().axes[i].values;
    const auto own = std::ranges::find(list, test_case.values[i]);
    std::vector<std::int64_t> values = test_case.values;
    if (own != list.begin() && own != list.end()) {
      values[i] = *std::prev(own);
      add(values);
    }
    if (own != list.end() && std::next(own) != list.end()) {
      values[i] = *std::next(own);
      add(values);
    }
  }
  return cases;
}

std::vector<Axis> axes_of(const Shared& shared) {
  std::vector<Axis> axes;
  if (!shared) return axes;
  for (const kernels::CustomAxis& axis : shared->description().axes) {
    axes.push_back({.name = axis.name,
                    .minimum = axis.values.front(),
                    .maximum = axis.values.back(),
                    .initial = axis.values.front(),
                    .values = axis.values,
                    .weight = Weight::factor,
                    .simplest = axis.values.front()});
  }
  return axes;
}

std::vector<Word> words_of(const Shared& shared) {
  std::vector<Word> words;
  if (shared)
    for (const std::string& word : shared->words) words.push_back({{{word, {}}}});
  return words;
}

std::vector<Factor> factors_of(const Shared& shared) {
  std::vector<Factor> factors;
  if (!shared) return factors;
  const std::vector<kernels::CustomAxis>& axes = shared->description().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) factors.push_back(factor_of(axes[i].name, i, axes[i].values));
  return factors;
}

bool has_fixture(const Shared& shared, const fixtures::Fixture& fixture) {
  if (shared) return std::ranges::find(shared->description().fixtures, fixture.name) != shared->description().fixtures.end();
  constexpr std::array<std::string_view, 6> all = {"gauss", "heavy", "zero", "cancel", "tiny", "recorded"};
  return std::ranges::find(all, fixture.name) != all.end();
}

[[noreturn]] void refuse_files() {
  throw std::invalid_argument(
      "family custom has no fixture files; [reference] file names recorded inputs and expectations (docs/CUSTOM.md)");
}

Family family_of_variant(const kernels::Variant& variant);

Family family_of_custom(const Shared& shared) {
  return {
      .contract = kCustomContract,
      .description = "any kernel, with axes, tensors, bounds and a reference from its variant.toml",
      .axes = axes_of(shared),
      .words = words_of(shared),
      .factors = factors_of(shared),
      .gate_strength = kGateStrength,
      .realise =
          [shared](std::span<const int> levels, std::span<std::int64_t> values) {
            for (std::size_t i = 0; i < levels.size(); ++i) set(values[i], shared->description().axes[i].values, levels[i]);
            return !shared || is_possible(*shared, values);
          },
      .draw =
          [shared](Draw& draw, std::span<std::int64_t> values) {
            for (std::size_t i = 0; i < values.size(); ++i) {
              const std::vector<std::int64_t>& list = shared->description().axes[i].values;
              values[i] = list[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(list.size()) - 1))];
            }
          },
      .work = no_work,
      .has_fixture = [shared](const fixtures::Fixture& fixture) { return has_fixture(shared, fixture); },
      .launch = nullptr,
      .expression_names = [shared](const Case& test_case, const kernels::Variant&) -> std::shared_ptr<const kernels::Names> {
        return CustomCase(variant_in(shared), test_case).names();
      },
      .of_variant = [](const kernels::Variant& variant) { return family_of_variant(variant); },
      .ask_ahead =
          [shared](std::span<const Case> cases) {
            if (shared) ask_reference_ahead(*shared, cases);
          },
      .sketch = sketch_custom,
      .validate = [shared](const Case& test_case) { static_cast<void>(CustomCase(variant_in(shared), test_case)); },
      .simdgroups = [shared](const Case& test_case) { return simdgroups_of(variant_in(shared), test_case); },
      .files = {.inputs = [](const Case&) -> std::vector<fixtures::TensorSpec> { refuse_files(); },
                .output_shape = [](const Case&) -> std::vector<std::uint64_t> { refuse_files(); },
                .generate = [](const Case&, const fixtures::Fixture&) -> std::vector<fixtures::Tensor> { refuse_files(); },
                .expect = [](const Case&, const Source&) -> oracles::Expected { refuse_files(); }},
      .job = [shared](const JobRequest& request) { return custom_job(variant_in(shared), request); },
      .minimum = [shared](const Case& test_case, const Source&) { return minimum_of(CustomCase(variant_in(shared), test_case)); },
      .triage = {.model = [](const Case&, const Source&) -> std::shared_ptr<const Model> { return std::make_shared<NoModel>(); },
                 .mistakes = [] { return std::vector<Mistake>(); },
                 .probes = [shared](const Case& test_case) { return smallest_cases(variant_in(shared), test_case); },
                 .steps = {},
                 .followed = {},
                 .place = [](const Case&, std::uint64_t byte) { return Place{fmt::format("byte {}", byte), std::nullopt}; },
                 .row_parts = [shared](const Case& test_case) { return row_parts_of(CustomCase(variant_in(shared), test_case)); }},
      .omissions = custom_omissions(),
  };
}

Family family_of_variant(const kernels::Variant& variant) {
  if (!variant.custom)
    throw kernels::VariantError(fmt::format(
        "{}: family custom needs a variant.toml, with [axes], [tensors] and [reference] (docs/CUSTOM.md)", variant.source.string()));
  return family_of_custom(std::make_shared<const CustomVariant>(variant));
}

}  // namespace

Family custom_family() { return family_of_custom(nullptr); }

}  // namespace assay::families

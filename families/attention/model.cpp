// What triage, files and costs need to know about family `attention`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "families/attention/contract.h"
#include "families/attention/features.h"
#include "families/attention/inputs.h"
#include "families/attention/job.h"
#include "families/attention/landmarks.h"
#include "families/attention/mistaken.h"
#include "families/shared/probes.h"

namespace assay::families::attention {

const kernels::Variant& plain_variant() {
  static const kernels::Variant variant = [] {
    kernels::Variant plain;
    plain.family = kAttentionContract.name;
    plain.contract = &kAttentionContract;
    return plain;
  }();
  return variant;
}

namespace {

// "block 3, head 0, key 5, dim 12", by the strides of k.
Place place_in_keys(const Case& test_case, std::uint64_t byte) {
  const kernels::NamedTensor tensor = Layouts(shape_of(test_case)).at("k").tensor;
  auto element = static_cast<std::int64_t>(byte) / tensor.element_bytes - tensor.offset;
  if (element < 0) return {fmt::format("byte {} of the buffer of k", byte), std::nullopt};
  std::vector<kernels::NamedTensor::Axis> axes = tensor.axes;
  std::ranges::sort(axes, std::ranges::greater(), &kernels::NamedTensor::Axis::stride);
  std::string text;
  for (const auto& axis : axes) {
    if (axis.stride == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.name, element / axis.stride);
    element %= axis.stride;
  }
  return {text, std::nullopt};
}

// What kernels support differs, so many of these are skipped.
std::vector<Case> probes_near(const Case& test_case) {
  std::vector<Case> cases;
  const auto add = [&](const Settings& settings, std::string_view fixture) {
    Case next = test_case;
    put(next, settings);
    next.fixture = fixture;
    if (next.at("offset") == 2) put(next, {{"offset", 0}});
    cases.push_back(std::move(next));
  };
  const Settings single = {{"b", 1}, {"h", 1}, {"g", 1}, {"lq", 1}};
  const auto with = [&](Settings settings) {
    for (const auto& [axis, value] : single) {
      if (std::ranges::find(settings, axis, &Settings::value_type::first) == settings.end()) settings.emplace_back(axis, value);
    }
    return settings;
  };
  add(with({{"lk", 1}}), "gauss");
  add(with({{"lk", 33}}), "gauss");
  add(with({{"lk", 64}}), "uniform");
  add(with({{"lk", 257}}), "gauss");
  add(with({{"lk", 70}, {"h", 4}, {"g", 2}}), "gauss");
  add(with({{"lk", 40}, {"h", 2}, {"g", 2}, {"b", 2}}), "gauss");
  add(with({{"lk", 130}}), "drift");
  add(with({{"lk", 64}}), "all_negative");
  add({{"mask", 0}, {"window", 0}, {"mask_planes", 0}, {"softcap", 0}, {"sinks", 0}}, "gauss");
  add({{"softcap", 0}}, test_case.fixture);
  add({{"sinks", 0}}, test_case.fixture);
  add({{"blocks", 1}, {"nsg", 1}}, test_case.fixture);
  add({{"gaps", 0}, {"cache", test_case.at("cache") == 1 ? 0 : test_case.at("cache")}, {"room", 0}}, test_case.fixture);
  add({{"lq", 8}, {"lk", 40}, {"h", 2}, {"g", 1}}, "gauss");
  return cases;
}

}  // namespace

// Rows of keys that some query sees, and rows of queries that see a key: no kernel can do without them.
Minimum minimum_of(const Case& test_case, const Source& source) {
  const Shape shape = shape_of(test_case);
  // Which keys a stored mask hides depends on its data.
  std::optional<Inputs> inputs;
  if (shape.mask >= Mask::boolean) inputs = make_inputs(shape, source, plain_variant());
  const oracles::BiasRow bias = inputs ? inputs->bias(shape) : oracles::BiasRow();
  std::vector<bool> is_read(shape.kv_batches * shape.kv_heads * shape.keys);
  std::vector<double> row(shape.keys);
  std::size_t pairs = 0, queries = 0;
  for (std::size_t b = 0; b < shape.batches; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      const std::size_t first = (shape.kv_batch(b) * shape.kv_heads + h / (shape.heads / shape.kv_heads)) * shape.keys;
      for (std::size_t i = 0; i < shape.queries; ++i) {
        std::ranges::fill(row, 0.0);
        if (bias) bias(b, h, i, std::span(row).first(shape.kv_len[b]));
        const std::size_t before = pairs;
        for (std::size_t j = 0; j < shape.kv_len[b]; ++j) {
          if (!std::isfinite(row[j]) || !shape.sees(b, i, j)) continue;
          ++pairs;
          is_read[first + j] = true;
        }
        queries += pairs != before ? 1 : 0;
      }
    }
  }
  const auto bytes = [](Storage type, std::size_t numbers) {
    const ElementSize element = element_size(type);
    return static_cast<std::uint64_t>(numbers / element.coordinates * element.bytes);
  };
  // Paged batches may share the rows of their first page.
  const bool shares = shape.cache == Cache::paged;
  auto keys = static_cast<std::size_t>(std::ranges::count(is_read, true));
  if (shares) keys -= std::min(keys, (shape.batches - 1) * shape.kv_heads * shape.page);
  const std::size_t outputs = shape.batches * shape.heads * shape.queries * shape.dv;
  return minimum::of(bytes(shape.q, queries * shape.dk) + bytes(shape.k, keys * shape.dk) + bytes(shape.v, keys * shape.dv),
                     bytes(shape.out, outputs), pairs * (2 * shape.dk + 2 * shape.dv + 3));
}

FileRules files() {
  return {.inputs = [](const Case& test_case) { return file_tensors(shape_of(test_case)); },
          .output_shape =
              [](const Case& test_case) {
                const Shape shape = shape_of(test_case);
                return std::vector<std::uint64_t>{shape.batches, shape.heads, shape.queries, shape.dv};
              },
          .generate =
              [](const Case& test_case, const fixtures::Fixture& fixture) {
                const Shape shape = shape_of(test_case);
                const Inputs inputs = make_inputs(shape, {.generator = &fixture, .file = {}, .tensors = {}}, plain_variant());
                std::vector<fixtures::Tensor> tensors;
                for (const fixtures::TensorSpec& spec : file_tensors(shape)) {
                  const auto& values = spec.path == "inputs/q"       ? inputs.q
                                       : spec.path == "inputs/k"     ? inputs.k
                                       : spec.path == "inputs/v"     ? inputs.v
                                       : spec.path == "inputs/sinks" ? inputs.sinks
                                                                     : inputs.mask;
                  tensors.push_back(fixtures::make_tensor<float>(spec, values));
                }
                return tensors;
              },
          .expect =
              [](const Case& test_case, const Source& source) {
                const Shape shape = shape_of(test_case);
                const Inputs inputs = make_inputs(shape, source, plain_variant());
                return oracles::any_attention(oracle_shape(shape, plain_variant()), inputs.tensors(shape),
                                              accuracy_of(test_case, plain_variant()))
                    .output;
              }};
}

TriageRules triage(oracles::LogBase lse) {
  return {.model = [lse](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            return std::make_shared<MistakenAttention>(test_case, source, lse);
          },
          .mistakes = attention_mistakes,
          .landmarks = landmarks_of,
          .features = features(),
          .probes = probes_near,
          .steps = {steps_of("lq", {1, 2}), steps_of("lk", {1, 2, 32, 33, 64, 65}), steps_of("b", {1}), steps_of("h", {1, 2, 4})},
          .followed = "k",
          .place = place_in_keys,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> {
            return {{"batches", test_case.size("b")}, {"heads", test_case.size("h")}, {"queries", test_case.size("lq")}};
          }};
}

}  // namespace assay::families::attention

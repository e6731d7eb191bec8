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
#include "families/attention/inputs.h"
#include "families/attention/job.h"
#include "families/attention/landmarks.h"
#include "families/shared/mistake_table.h"
#include "families/shared/probes.h"

namespace assay::families::attention {
namespace {

// A variant without a description, for what does not depend on one.
const kernels::Variant& plain_variant() {
  static const kernels::Variant variant = [] {
    kernels::Variant plain;
    plain.family = kAttentionContract.name;
    plain.contract = &kAttentionContract;
    return plain;
  }();
  return variant;
}

// A mistake, as a change of the case that the oracle computes.
struct Change {
  double scale = 1.0;    // factor on the scale
  double softcap = 1.0;  // factor on softcap; 0: ignored
  bool ignores_mask = false;
  bool ignores_sinks = false;
  std::int64_t offset = 0;         // added to the causal offset
  std::int64_t window = 0;         // added to the window
  std::int64_t keys = 0;           // added to the number of keys
  bool interleaves_heads = false;  // query head h reads key/value head h mod G
  bool shares_mask = false;        // all heads and batches use the first plane
  bool first_slope = false;        // all heads use the first slope
};

class AttentionModel final : public Model {
 public:
  AttentionModel(const Case& test_case, const Source& source)
      : shape_(shape_of(test_case)), inputs_(make_inputs(shape_, source, plain_variant())) {}

  [[nodiscard]] std::vector<double> evaluate(const Change& change) const {
    Shape shape = shape_;
    Inputs inputs = inputs_;
    if (change.ignores_mask) {
      shape.mask = Mask::none;
      inputs.mask.clear();
    }
    if (change.ignores_sinks) inputs.sinks.clear();
    if (change.first_slope) std::ranges::fill(inputs.slopes, inputs.slopes.front());
    if (change.shares_mask) shape.mask_per_batch = shape.mask_per_head = false;
    shape.offset += change.offset;
    shape.window = static_cast<std::size_t>(std::max<std::int64_t>(0, static_cast<std::int64_t>(shape.window) + change.window));
    if (change.interleaves_heads) interleave(shape, inputs);
    oracles::AnyAttentionShape oracle = oracle_shape(shape, plain_variant());
    oracle.scale *= change.scale;
    oracle.softcap *= change.softcap;
    for (std::size_t& length : oracle.kv_len)
      length = static_cast<std::size_t>(
          std::clamp<std::int64_t>(static_cast<std::int64_t>(length) + change.keys, 0, static_cast<std::int64_t>(shape.keys)));
    return oracles::any_attention(oracle, inputs.tensors(shape)).output.value;
  }

 private:
  // Every query head gets a key/value head of its own: the one that a wrong mapping gives it.
  static void interleave(Shape& shape, Inputs& inputs) {
    const auto move = [&](std::vector<float>& rows, std::size_t width) {
      const std::size_t head = shape.keys * width;
      std::vector<float> moved;
      moved.reserve(rows.size() / shape.kv_heads * shape.heads);
      for (std::size_t b = 0; b < shape.kv_batches; ++b) {
        for (std::size_t h = 0; h < shape.heads; ++h) {
          const auto from = rows.begin() + static_cast<std::ptrdiff_t>((b * shape.kv_heads + h % shape.kv_heads) * head);
          moved.insert(moved.end(), from, from + static_cast<std::ptrdiff_t>(head));
        }
      }
      rows = std::move(moved);
    };
    move(inputs.k, shape.dk);
    move(inputs.v, shape.dv);
    shape.kv_heads = shape.heads;
  }

  Shape shape_;
  Inputs inputs_;
};

std::vector<Mistake> mistakes() {
  MistakeTable<AttentionModel, Change> table;
  table.add(mistake::kMask, "the mask is ignored", &Change::ignores_mask, true);
  table.add(mistake::kMask, "the sinks are ignored", &Change::ignores_sinks, true);
  table.add(mistake::kMask, "the soft cap is ignored", &Change::softcap, 0.0);
  table.add(mistake::kMask, "every head and batch uses the first mask", &Change::shares_mask, true);
  table.add(mistake::kMask, "every head uses the first slope of ALiBi", &Change::first_slope, true);
  table.add(mistake::kWindow, "the causal offset is one too small", &Change::offset, -1);
  table.add(mistake::kWindow, "the causal offset is one too large", &Change::offset, 1);
  table.add(mistake::kWindow, "the window is one too short", &Change::window, -1);
  table.add(mistake::kWindow, "the window is one too long", &Change::window, 1);
  table.add(mistake::kNewest, "the last key is lost", &Change::keys, -1);
  table.add(mistake::kHead, "query head h reads the keys and values of another head", &Change::interleaves_heads, true, 1);
  table.add_factor(
      mistake::kScale, "scores are multiplied by {}", usual_factors, [](Change& change, double factor) { change.scale = factor; }, 1);
  return table.take();
}

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

TriageRules triage() {
  return {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            return std::make_shared<AttentionModel>(test_case, source);
          },
          .mistakes = mistakes,
          .landmarks = landmarks_of,
          .probes = [](const Case&) { return std::vector<Case>(); },
          .steps = {steps_of("lq", {1, 2}), steps_of("lk", {1, 2, 32, 33, 64, 65}), steps_of("b", {1}), steps_of("h", {1, 2, 4})},
          .followed = "k",
          .place = place_in_keys,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> {
            return {{"batches", test_case.size("b")}, {"heads", test_case.size("h")}, {"queries", test_case.size("lq")}};
          }};
}

}  // namespace assay::families::attention

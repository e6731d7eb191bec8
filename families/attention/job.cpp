// The job of family `attention`: tensors in their layouts, the launch that the variant describes, and the expectation.
#include "families/attention/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "families/attention/contract.h"
#include "families/attention/inputs.h"
#include "families/attention/names.h"
#include "families/described_launch.h"
#include "metal/guarded_memory.h"

namespace assay::families::attention {
namespace {

oracles::OutputFormat format_of(Storage type) {
  if (type == Storage::half) return oracles::half_format();
  return type == Storage::bfloat ? oracles::bfloat_format() : oracles::float_format();
}

oracles::OutputFormat format_named(std::string_view name) {
  if (name == "half") return oracles::half_format();
  return name == "bf16" ? oracles::bfloat_format() : oracles::float_format();
}

// Everything that a job refers to.
struct Data {
  Shape shape;
  Layouts layouts{shape};
  Inputs inputs;
  oracles::AnyAttentionShape oracle;
  oracles::AnyAttentionAccuracy accuracy;
  bool has_lse = false;

  Data(const Shape& of, const JobRequest& request)
      : shape(of),
        inputs(make_inputs(shape, request.source, request.variant)),
        oracle(oracle_shape(shape, request.variant)),
        accuracy(accuracy_of(request.test_case, request.variant, request.profile)),
        has_lse(oracle.lse != oracles::LogBase::none) {}

  // The expectation of all judged elements: those of the output, and the logarithms behind them.
  [[nodiscard]] oracles::Expected expect(const oracles::AnyAttentionAccuracy& by) const {
    oracles::AnyExpected all = oracles::any_attention(oracle, inputs.tensors(shape), by);
    oracles::Expected expected = std::move(all.output);
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(expected.value, all.lse.value);
    append(expected.bound, all.lse.bound);
    append(expected.magnitude, all.lse.magnitude);
    return expected;
  }
};

float poison_aware(std::uint16_t bits, Storage type) {
  if (bits == (metal::kPoisonWord & 0xffffU)) return std::bit_cast<float>(metal::kPoisonWord);
  return static_cast<float>(type == Storage::half ? oracles::half_value(bits) : oracles::bfloat_value(bits));
}

// The elements of the output in the order of the oracle, and the logarithms.
Reading read(const Data& data, const Results& results, std::size_t out, std::size_t lse) {
  const Shape& shape = data.shape;
  const Placed& placed = data.layouts.at("out");
  const std::span<const std::byte> bytes = results.at(out).bytes;
  Reading reading;
  reading.output.reserve(shape.batches * shape.heads * shape.queries * shape.dv);
  for (std::size_t b = 0; b < shape.batches; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t i = 0; i < shape.queries; ++i) {
        const std::byte* row = bytes.data() + placed.byte_of({b, h, i, 0});
        for (std::size_t d = 0; d < shape.dv; ++d) {
          if (shape.out == Storage::float32) {
            float value = 0;
            std::memcpy(&value, row + 4 * d, sizeof value);
            reading.output.push_back(value);
          } else {
            std::uint16_t bits = 0;
            std::memcpy(&bits, row + 2 * d, sizeof bits);
            reading.output.push_back(poison_aware(bits, shape.out));
          }
        }
      }
    }
  }
  if (data.has_lse) {
    const std::span<const float> logs = results.of(lse);
    reading.output.insert(reading.output.end(), logs.begin(), logs.end());
  }
  return reading;
}

// The shadows of the output in the order of the oracle.
std::vector<double> in_order(const Data& data, std::vector<double> shadows, const std::vector<double>& logs) {
  const Shape& shape = data.shape;
  const Placed& placed = data.layouts.at("out");
  const std::size_t width = element_size(shape.out).bytes;
  std::vector<double> ordered;
  for (std::size_t b = 0; b < shape.batches; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t i = 0; i < shape.queries; ++i) {
        const std::size_t first = placed.byte_of({b, h, i, 0}) / width;
        for (std::size_t d = 0; d < shape.dv; ++d) ordered.push_back(shadows[first + d]);
      }
    }
  }
  ordered.insert(ordered.end(), logs.begin(), logs.end());
  return ordered;
}

// "lse of batch 0, head 3, query 1"; empty for an element of the output.
std::string describe(const Shape& shape, std::size_t element) {
  const std::size_t outputs = shape.batches * shape.heads * shape.queries * shape.dv;
  if (element < outputs) {
    const std::size_t row = element / shape.dv;
    return fmt::format("batch {}, head {}, query {}, coordinate {}", row / shape.queries / shape.heads, row / shape.queries % shape.heads,
                       row % shape.queries, element % shape.dv);
  }
  const std::size_t row = element - outputs;
  return fmt::format("logarithm of the sum of batch {}, head {}, query {}", row / shape.queries / shape.heads,
                     row / shape.queries % shape.heads, row % shape.queries);
}

metal::ScalarType scalar_of(Storage type) {
  if (type == Storage::half) return metal::ScalarType::float16;
  return type == Storage::bfloat ? metal::ScalarType::bfloat16 : metal::ScalarType::float32;
}

}  // namespace

oracles::AnyAttentionAccuracy accuracy_of(const Case& test_case, const kernels::Variant& variant,
                                          const oracles::ArithmeticProfile& profile) {
  oracles::AnyAttentionAccuracy accuracy;
  accuracy.profile = profile;
  const auto declared = [&](std::string_view key) { return format_named(variant.accuracy.format(key)); };
  accuracy.keys = declared("keys");
  accuracy.values = declared("values");
  accuracy.query = declared("scaled_query");
  accuracy.dot = declared("dot_product");
  accuracy.scores = declared("scores");
  accuracy.weights = declared("weights");
  accuracy.statistics = declared("statistics");
  accuracy.accumulator = format_named(variant.accuracy.accumulator);
  if (variant.accuracy.accumulator_keys) accuracy.accumulator_keys = *variant.accuracy.accumulator_keys;
  if (variant.accuracy.dot_depth) accuracy.dot_depth = *variant.accuracy.dot_depth;
  for (const std::string& store : variant.accuracy.stores) accuracy.stores.push_back(format_named(store));
  const Shape shape = shape_of(test_case);
  accuracy.output = format_of(shape.out);
  // The distance, its product with the slope and another one rounded; and the slope, a power whose exponent is at most the number of heads.
  if (shape.has_slopes()) accuracy.bias_error = 3.0 + profile.pow_error + profile.pow_error_per_unit * static_cast<double>(shape.heads);
  return accuracy;
}

// Whether mask and window hide every key from every query. `bias` is that of the inputs, empty without a mask.
bool hides_everything(const Shape& shape, const oracles::BiasRow& bias) {
  std::vector<double> added(shape.keys);
  for (std::size_t b = 0; b < shape.batches; ++b) {
    for (std::size_t row = 0; row < shape.heads * shape.queries; ++row) {
      if (bias) bias(b, row / shape.queries, row % shape.queries, added);
      const auto seen = std::span(added).first(shape.kv_len[b]);
      if (std::ranges::any_of(seen, [](double value) { return std::isfinite(value); })) return false;
    }
  }
  return true;
}

Job job(const JobRequest& request) {
  const auto data = std::make_shared<const Data>(shape_of(request.test_case), request);
  const auto launch = std::make_shared<const DescribedLaunch>(request.test_case, request.variant);
  const Shape& shape = data->shape;
  Job job{.inputs = data, .row_length = shape.dv};

  std::map<std::string_view, std::size_t> numbers;  // of buffers
  for (const auto& [name, memory] : data->inputs.memory) numbers.emplace(name, job.add(memory.buffer(name)));
  JobBuffer stored = output_buffer("out", data->layouts.bytes("out"));
  stored.element = scalar_of(shape.out);
  const std::size_t out = numbers["out"] = job.add(std::move(stored));
  JobBuffer logs = output_buffer("lse", data->layouts.bytes("lse"));
  if (!data->has_lse) logs.role = BufferRole::scratch;
  const std::size_t lse = numbers["lse"] = job.add(std::move(logs));
  for (const DescribedLaunch::Scratch& scratch : launch->scratch())
    numbers.emplace(scratch.name, job.add({.argument = scratch.name, .role = BufferRole::scratch, .size = scratch.bytes}));

  job.passes = {{[data, launch, numbers, find = finder_of(request)](metal::ComputeEncoder& encoder, Views views) {
    kernels::NamedViews named;
    for (const auto& [name, number] : numbers) named.emplace(name, views[number]);
    for (const auto& [name, placed] : data->layouts.all()) {
      metal::BufferView view = views[numbers.at(placed.buffer)];
      view.offset += static_cast<std::size_t>(placed.tensor.offset * placed.tensor.element_bytes);
      named.insert_or_assign(name, view);
    }
    launch->encode(encoder, find, named);
  }}};
  job.judged = {out};
  if (data->has_lse) job.judged.push_back(lse);
  job.read = [data, out, lse](const Results& results) { return read(*data, results, out, lse); };
  job.read_shadows = [data, out, lse](const std::function<std::vector<double>(std::size_t)>& shadows) {
    return in_order(*data, shadows(out), data->has_lse ? shadows(lse) : std::vector<double>());
  };
  if (data->has_lse) job.describe = [data](std::size_t element) { return describe(data->shape, element); };
  job.expect = [data] { return data->expect(data->accuracy); };
  job.expect_exact = [data] { return data->expect(without_conversions(data->accuracy)); };
  job.expectation_may_be_kept = true;
  const double unit = oracles::weakest_unit(data->accuracy);
  if (unit > oracles::kFloatUnit) job.informative_ratio = 16.0 * unit;
  job.constant_is_expected = request.test_case.fixture == "zero" || hides_everything(shape, data->inputs.bias(shape));
  return job;
}

}  // namespace assay::families::attention

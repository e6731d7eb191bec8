// The job of a case of family `custom`: buffers with gaps, the described dispatches, and outputs of any type.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "families/custom/custom_family.h"
#include "families/custom/custom_reference.h"
#include "families/described_launch.h"
#include "fixtures/hdf5_file.h"
#include "oracles/arithmetic.h"
#include "oracles/partials.h"

namespace assay::families {
namespace {

using metal::ScalarType;

// Owns what the job refers to.
struct CustomJob {
  CustomJob(const CustomVariant& of, const Case& test_case, const kernels::Variant& variant)
      : own(of, test_case), launch(test_case, variant), inputs(own.inputs()) {}

  CustomCase own;
  DescribedLaunch launch;
  std::vector<std::vector<double>> inputs;
  std::vector<std::vector<std::byte>> bytes;  // of inputs, in the order of their elements
  std::vector<std::size_t> outputs;           // numbers of buffers
  std::shared_ptr<const oracles::Expected> expected;
};

// The pieces of an input in ascending order; neighbours are joined.
std::vector<Piece> pieces_of(const CustomLayout& layout, std::span<const std::byte> bytes) {
  if (layout.places.empty()) return {{0, bytes}};
  const std::size_t width = layout.width();
  std::vector<Piece> pieces;
  for (std::uint64_t element = 0; element < layout.count; ++element) {
    const std::size_t at = layout.place(element) * width;
    if (!pieces.empty() && pieces.back().at + pieces.back().bytes.size() == at) {
      pieces.back().bytes = {pieces.back().bytes.data(), pieces.back().bytes.size() + width};
    } else {
      pieces.push_back({at, bytes.subspan(element * width, width)});
    }
  }
  std::ranges::sort(pieces, {}, &Piece::at);
  return pieces;
}

// The distance of a number from the next one of the type.
double ulp_of(const oracles::OutputFormat& format, double value) {
  if (value == 0) return format.smallest_subnormal;
  return std::max(format.smallest_subnormal, std::ldexp(1.0, std::ilogb(value) - format.significant_bits + 1));
}

// A bound above this part of the magnitude proves little.
double informative_part(const CustomLayout& output) {
  const ScalarType type = output.tensor->type;
  return type == ScalarType::float32 ? 1e-3 : type == ScalarType::float16 ? 0x1p-5 : type == ScalarType::bfloat16 ? 0x1p-3 : 1.0;
}
// The smallest of all outputs. Their magnitudes are scaled to it.
double informative_ratio(const CustomCase& own) {
  double smallest = 1.0;
  for (const CustomLayout* output : own.outputs()) smallest = std::min(smallest, informative_part(*output));
  return smallest;
}

// The values, bounds and magnitudes of one output.
void add_expected(const CustomLayout& layout, const kernels::CustomBound& bound, const std::vector<double>& value,
                  const std::vector<double>& given, oracles::Expected& expected) {
  using Of = kernels::CustomBound::Of;
  const oracles::OutputFormat* format = format_of(layout.tensor->type);
  const std::size_t length = layout.row_length();
  for (std::size_t row = 0; row < value.size(); row += length) {
    double largest = 0;
    double squares = 0;
    for (std::size_t i = row; i < row + length; ++i) {
      largest = std::max(largest, std::abs(value[i]));
      squares += value[i] * value[i];
    }
    for (std::size_t i = row; i < row + length; ++i) {
      const double own = std::abs(value[i]);
      // A square root may be below the only number that it was made of.
      const double scope = bound.of == Of::row_norm ? std::max(largest, std::sqrt(squares)) : bound.of == Of::row_max ? largest : own;
      expected.value.push_back(value[i]);
      if (bound.is_of_reference) {
        expected.bound.push_back(given[i]);
        expected.magnitude.push_back(largest);
        continue;
      }
      expected.bound.push_back((format == nullptr ? 0.0 : bound.ulps * ulp_of(*format, scope)) + bound.absolute + bound.relative * own);
      expected.magnitude.push_back(scope);
    }
  }
}

oracles::Expected expected_of(const CustomCase& own) {
  const ReferenceAnswer answer = std::move(ask_reference({&own, 1}).front());
  oracles::Expected expected;
  const double ratio = informative_ratio(own);
  const std::vector<const CustomLayout*> outputs = own.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::size_t first = expected.size();
    add_expected(*outputs[o], own.variant().description().bounds[o], answer.expected[o], answer.bound[o], expected);
    for (std::size_t i = first; i < expected.size(); ++i) expected.magnitude[i] *= informative_part(*outputs[o]) / ratio;
  }
  return expected;
}

// Whether the kernel wrote element i of a buffer.
bool is_written(const BufferResult& result, std::size_t width, std::size_t i) {
  if (width == 1) return result.written<std::uint8_t>(i);
  return width == 2 ? result.written<std::uint16_t>(i) : result.written<std::uint32_t>(i);
}

Reading reading_of(const CustomJob& job, const Results& results) {
  Reading reading;
  const double unwritten = oracles::widen_nan(metal::kPoisonWord);
  const std::vector<const CustomLayout*> outputs = job.own.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const CustomLayout& layout = *outputs[o];
    const BufferResult& result = results.at(job.outputs[o]);
    const ScalarType type = layout.tensor->type;
    for (std::uint64_t element = 0; element < layout.count; ++element) {
      const std::size_t place = layout.place(element);
      const double value = load(type, result.bytes.subspan(place * layout.width(), layout.width()));
      // The poison is also a number of an integer type, which may be the right one.
      const bool may_be_meant = format_of(type) == nullptr && value == job.expected->value[reading.judged.size()];
      const bool is_number = is_written(result, layout.width(), place) || may_be_meant;
      reading.judged.push_back(is_number ? value : unwritten);
      reading.output.push_back(is_number ? static_cast<float>(value) : std::bit_cast<float>(metal::kPoisonWord));
    }
  }
  return reading;
}

std::vector<double> shadows_of(const CustomJob& job, const std::function<std::vector<double>(std::size_t)>& shadows) {
  std::vector<double> values;
  const std::vector<const CustomLayout*> outputs = job.own.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const CustomLayout& layout = *outputs[o];
    if (format_of(layout.tensor->type) == nullptr) {
      values.insert(values.end(), layout.count, 0.0);  // integers have no shadows
      continue;
    }
    const std::vector<double> of_buffer = shadows(job.outputs[o]);
    for (std::uint64_t element = 0; element < layout.count; ++element) values.push_back(of_buffer.at(layout.place(element)));
  }
  return values;
}

// The output of a judged element, and the element's number in it.
std::pair<const CustomLayout*, std::size_t> output_of(const CustomCase& own, std::size_t element) {
  for (const CustomLayout* output : own.outputs()) {
    if (element < output->count) return {output, element};
    element -= output->count;
  }
  throw std::logic_error("no output has this element");
}

// "one at y[3, 17]"
std::string description_of(const CustomCase& own, std::size_t element) {
  auto [output, rest] = output_of(own, element);
  std::vector<std::size_t> indices;
  for (std::size_t i = output->shape.size(); i-- > 0;) {
    indices.insert(indices.begin(), rest % output->shape[i]);
    rest /= output->shape[i];
  }
  return fmt::format("one at {}[{}]", output->tensor->name, fmt::join(indices, ", "));
}

}  // namespace

Job custom_job(const CustomVariant& of, const JobRequest& request) {
  const auto state = std::make_shared<CustomJob>(of, request.test_case, request.variant);
  Job job{.inputs = state, .row_length = custom_row_length(state->own)};
  std::vector<std::pair<std::string, std::size_t>> names;
  state->bytes.resize(state->inputs.size());
  for (std::size_t i = 0; i < state->inputs.size(); ++i) {
    const CustomLayout& layout = state->own.layouts()[i];
    const kernels::CustomTensor& tensor = *layout.tensor;
    const std::size_t width = layout.width();
    if (tensor.is_output) {
      JobBuffer buffer = output_buffer(tensor.name, layout.extent * width);
      buffer.element = tensor.type;
      state->outputs.push_back(job.add(std::move(buffer)));
      names.emplace_back(tensor.name, state->outputs.back());
      continue;
    }
    std::vector<std::byte>& bytes = state->bytes[i];
    bytes.resize(layout.count * width);
    for (std::size_t element = 0; element < layout.count; ++element)
      store(tensor.type, state->inputs[i][element], std::span(bytes).subspan(element * width, width));
    names.emplace_back(
        tensor.name,
        job.add({.argument = tensor.name, .size = layout.extent * width, .contents = pieces_of(layout, bytes), .gap = Gap::forbidden}));
  }
  for (const DescribedLaunch::Scratch& scratch : state->launch.scratch())
    names.emplace_back(scratch.name,
                       job.add({.argument = scratch.name, .role = BufferRole::scratch, .size = scratch.bytes, .has_guards = true}));
  job.passes = {{[state, names, find = finder_of(request)](metal::ComputeEncoder& encoder, Views views) {
    kernels::NamedViews buffers;
    for (const auto& [name, number] : names) buffers.emplace(name, views[number]);
    state->launch.encode(encoder, find, buffers);
  }}};
  job.judged = state->outputs;
  job.expect = [state] {
    state->expected = std::make_shared<const oracles::Expected>(expected_of(state->own));
    return *state->expected;
  };
  job.read = [state](const Results& results) { return reading_of(*state, results); };
  job.read_shadows = [state](const auto& shadows) { return shadows_of(*state, shadows); };
  const std::vector<const CustomLayout*> outputs = state->own.outputs();
  if (std::ranges::any_of(outputs, [](const CustomLayout* output) { return format_of(output->tensor->type) == nullptr; })) {
    job.is_discrete = [state](std::size_t element) { return format_of(output_of(state->own, element).first->tensor->type) == nullptr; };
  }
  job.describe = [state](std::size_t element) { return description_of(state->own, element); };
  job.informative_ratio = informative_ratio(state->own);
  job.constant_is_expected = request.test_case.fixture == "zero";
  return job;
}

}  // namespace assay::families

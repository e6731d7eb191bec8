// Layouts and inputs of a case whose variant describes its tensors.
#include "families/custom/custom_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/digest.h"
#include "base/mix.h"
#include "base/text.h"
#include "fixtures/counter.h"
#include "fixtures/hdf5_file.h"
#include "oracles/arithmetic.h"

namespace assay::families {
namespace {

using metal::ScalarType;

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // of a tensor and of its buffer

std::int64_t whole(const kernels::Expression& expression, const kernels::Names& names, const kernels::CustomTensor& tensor,
                   std::string_view what, std::int64_t least) {
  const std::int64_t value = expression.integer(names);
  if (value >= least && value <= kMostElements) return value;
  throw std::invalid_argument(fmt::format("{}: {} of tensor {} is '{}', which is {}; accepted: {} .. 2^28", tensor.where, what, tensor.name,
                                          expression.source(), value, least));
}

kernels::NamedTensor named_tensor(const kernels::CustomTensor& tensor, const kernels::Names& names) {
  kernels::NamedTensor named;
  named.element_bytes = static_cast<std::int64_t>(metal::size_of(tensor.type));
  if (tensor.offset) named.offset = whole(*tensor.offset, names, tensor, "the offset", 0);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto name = tensor.shape[i].sole_name();
    named.axes.push_back({std::string(name.value_or("")), whole(tensor.shape[i], names, tensor, "an axis", 1), 0});
  }
  std::int64_t stride = 1;
  for (std::size_t i = named.axes.size(); i-- > 0;) {
    named.axes[i].stride = tensor.strides.empty() ? stride : whole(tensor.strides[i], names, tensor, "a stride", 1);
    if (__builtin_mul_overflow(stride, named.axes[i].extent, &stride) || stride > kMostElements)
      throw std::invalid_argument(fmt::format("{}: tensor {} has more than 2^28 elements", tensor.where, tensor.name));
  }
  return named;
}

// Two elements share a place unless each axis steps over all that lies within it.
void require_apart(const kernels::CustomTensor& tensor, const kernels::NamedTensor& named) {
  std::vector<kernels::NamedTensor::Axis> axes = named.axes;
  std::erase_if(axes, [](const auto& axis) { return axis.extent == 1; });
  std::ranges::sort(axes, {}, &kernels::NamedTensor::Axis::stride);
  std::int64_t span = 1;
  for (const auto& axis : axes) {
    if (axis.stride < span)
      throw std::invalid_argument(fmt::format("{}: the strides of tensor {} give two elements the same place", tensor.where, tensor.name));
    span += (axis.extent - 1) * axis.stride;
    if (span > kMostElements)
      throw std::invalid_argument(fmt::format("{}: tensor {} reaches over more than 2^28 elements", tensor.where, tensor.name));
  }
}

CustomLayout layout_of(const kernels::CustomTensor& tensor, const kernels::NamedTensor& named) {
  require_apart(tensor, named);
  CustomLayout layout;
  layout.tensor = &tensor;
  layout.count = 1;
  std::uint64_t last = static_cast<std::uint64_t>(named.offset);
  for (const auto& axis : named.axes) {
    layout.shape.push_back(static_cast<std::uint64_t>(axis.extent));
    layout.count *= layout.shape.back();
    last += static_cast<std::uint64_t>((axis.extent - 1) * axis.stride);
  }
  layout.extent = last + 1;
  if (layout.extent == layout.count && tensor.strides.empty()) return layout;
  layout.places.reserve(layout.count);
  for (std::uint64_t element = 0; element < layout.count; ++element) {
    std::uint64_t rest = element;
    auto place = static_cast<std::uint64_t>(named.offset);
    for (std::size_t i = named.axes.size(); i-- > 0;) {
      place += rest % layout.shape[i] * static_cast<std::uint64_t>(named.axes[i].stride);
      rest /= layout.shape[i];
    }
    layout.places.push_back(place);
  }
  return layout;
}

std::string case_name(const CustomVariant& of, const Case& test_case) {
  std::string name = test_case.variant;
  for (std::size_t i = 0; i < test_case.values.size(); ++i)
    name += fmt::format("/{}{}", of.description().axes[i].name, test_case.values[i]);
  return fmt::format("{}/{}/s{}", name, test_case.fixture, test_case.seed);
}

template <typename T>
void store_as(double value, std::span<std::byte> to) {
  const T stored = static_cast<T>(value);
  std::memcpy(to.data(), &stored, sizeof stored);
}
template <typename T>
double load_as(std::span<const std::byte> from) {
  T stored;
  std::memcpy(&stored, from.data(), sizeof stored);
  return static_cast<double>(stored);
}

template <typename T>
bool is_one_of(double value) {
  return value == std::trunc(value) && value >= static_cast<double>(std::numeric_limits<T>::min()) &&
         value <= static_cast<double>(std::numeric_limits<T>::max());
}

}  // namespace

CustomVariant::CustomVariant(const kernels::Variant& of) : variant(of), folder(of.custom->folder) {
  for (const kernels::CustomAxis& axis : description().axes) words.push_back(fmt::format("{0}{{{0}}}", axis.name));
}

CustomNames::CustomNames(const kernels::CustomDescription& description, std::span<const std::int64_t> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values_.emplace(description.axes[i].name, values[i]);
}

std::optional<kernels::Value> CustomNames::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(kernels::Value(found->second));
}

const kernels::NamedTensor* CustomNames::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string> CustomNames::all() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

CustomCase::CustomCase(const CustomVariant& of, const Case& test_case)
    : of_(&of), values_(test_case.values), fixture_(test_case.fixture), seed_(test_case.seed), name_(case_name(of, test_case)) {
  const kernels::CustomDescription& description = of.description();
  const auto names = std::make_shared<CustomNames>(description, values_);
  try {
    if (description.valid && !description.valid->condition(*names))
      throw std::invalid_argument(fmt::format("'valid' excludes this case: {}", description.valid->source()));
    for (const kernels::CustomTensor& tensor : description.tensors) {
      kernels::NamedTensor named = named_tensor(tensor, *names);
      layouts_.push_back(layout_of(tensor, named));
      names->add(tensor.name, std::move(named));
    }
  } catch (const kernels::ExpressionError& error) {
    throw std::invalid_argument(error.what());
  }
  names_ = names;
}

std::vector<const CustomLayout*> CustomCase::outputs() const {
  std::vector<const CustomLayout*> outputs;
  for (const CustomLayout& layout : layouts_) {
    if (layout.tensor->is_output) outputs.push_back(&layout);
  }
  return outputs;
}

std::filesystem::path CustomCase::recorded() const { return of_->folder / of_->description().reference.file->evaluate(*names_); }

std::vector<std::vector<double>> CustomCase::inputs() const {
  std::vector<std::vector<double>> inputs(layouts_.size());
  if (of_->description().reference.kind != kernels::CustomReference::Kind::file) {
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      if (!layouts_[i].tensor->is_output) inputs[i] = generated(layouts_[i]);
    }
    return inputs;
  }
  const std::filesystem::path file = recorded();
  if (!base::is_inside(of_->folder, file))
    throw fixtures::FileError(fixtures::file_message(file, "", "is not a file of the variant's folder"));
  std::vector<fixtures::TensorSpec> wanted;
  for (const CustomLayout& layout : layouts_) {
    if (!layout.tensor->is_output) wanted.push_back({"inputs/" + layout.tensor->name, fixtures::Element::float64, layout.shape});
  }
  std::vector<fixtures::Tensor> read = fixtures::read_tensors(file, wanted);
  auto next = read.begin();
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const kernels::CustomTensor& tensor = *layouts_[i].tensor;
    if (tensor.is_output) continue;
    inputs[i] = (next++)->values<double>();
    for (const double value : inputs[i]) {
      const bool fits = can_hold(tensor.type, value) && (format_of(tensor.type) == nullptr || rounded_to(tensor.type, value) == value);
      if (!fits)
        throw fixtures::FileError(
            fixtures::file_message(file, "inputs/" + tensor.name, fmt::format("has {}, which is no {}", value, tensor.type_name)));
    }
  }
  return inputs;
}

std::vector<double> CustomCase::generated(const CustomLayout& layout) const {
  using Kind = kernels::Fill::Kind;
  const kernels::Fill& fill = layout.tensor->fill;
  // A stream of its own for each tensor, the same for every variant.
  const fixtures::Counter random(base::mix(seed_ ^ base::digest_of(layout.tensor->name)), fixtures::Stream::data);
  std::vector<double> values(layout.count);
  const bool is_random = fill.kind == Kind::gauss || fill.kind == Kind::uniform;
  constexpr double kLargest = 1000;
  for (std::uint64_t i = 0; i < layout.count; ++i) {
    if (fill.kind == Kind::gauss) values[i] = random.normal(i);
    if (fill.kind == Kind::uniform) values[i] = 2 * random.uniform(i) - 1;
    if (is_random && fixture_ == "heavy") values[i] = std::clamp(random.student(i), -kLargest, kLargest);
    if (fill.kind == Kind::one) values[i] = 1;
    if (fill.kind == Kind::integers)
      values[i] = static_cast<double>(fill.least +
                                      static_cast<std::int64_t>(random.below(i, static_cast<std::uint64_t>(fill.most - fill.least) + 1)));
  }
  if (!is_random) return values;
  const std::uint64_t rows = layout.count / layout.row_length();
  constexpr std::uint64_t kEvery = 3;
  for (std::uint64_t i = 0; i < layout.count; ++i) {
    double& value = values[i];
    if (fixture_ == "zero" && (rows > 1 ? i / layout.row_length() : i) % kEvery == 1) value = 0;
    if (fixture_ == "cancel" && i % layout.row_length() % 2 == 1) value = -values[i - 1];
    if (fixture_ == "tiny") value *= 0x1p-10;
  }
  for (double& value : values) value = rounded_to(layout.tensor->type, value * fill.scale);
  return values;
}

const oracles::OutputFormat* format_of(ScalarType type) {
  if (type == ScalarType::float16) return &oracles::half_format();
  if (type == ScalarType::bfloat16) return &oracles::bfloat_format();
  return type == ScalarType::float32 ? &oracles::float_format() : nullptr;
}

double rounded_to(ScalarType type, double value) {
  if (type == ScalarType::float16) return oracles::round_to_half(value);
  if (type == ScalarType::bfloat16) return oracles::round_to_bfloat(static_cast<float>(value));
  return static_cast<double>(static_cast<float>(value));
}

void store(ScalarType type, double value, std::span<std::byte> to) {
  switch (type) {
    case ScalarType::float16:
      return store_as<_Float16>(value, to);
    case ScalarType::bfloat16: {
      const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U);
      std::memcpy(to.data(), &bits, sizeof bits);
      return;
    }
    case ScalarType::float32:
      return store_as<float>(value, to);
    case ScalarType::int8:
      return store_as<std::int8_t>(value, to);
    case ScalarType::uint8:
      return store_as<std::uint8_t>(value, to);
    case ScalarType::int16:
      return store_as<std::int16_t>(value, to);
    case ScalarType::uint16:
      return store_as<std::uint16_t>(value, to);
    case ScalarType::uint32:
      return store_as<std::uint32_t>(value, to);
    default:
      return store_as<std::int32_t>(value, to);
  }
}

double load(ScalarType type, std::span<const std::byte> from) {
  switch (type) {
    case ScalarType::float16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from.data(), sizeof bits);
      return oracles::half_value(bits);
    }
    case ScalarType::bfloat16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from.data(), sizeof bits);
      return oracles::bfloat_value(bits);
    }
    case ScalarType::float32:
      return load_as<float>(from);
    case ScalarType::int8:
      return load_as<std::int8_t>(from);
    case ScalarType::uint8:
      return load_as<std::uint8_t>(from);
    case ScalarType::int16:
      return load_as<std::int16_t>(from);
    case ScalarType::uint16:
      return load_as<std::uint16_t>(from);
    case ScalarType::uint32:
      return load_as<std::uint32_t>(from);
    default:
      return load_as<std::int32_t>(from);
  }
}

bool can_hold(ScalarType type, double value) {
  switch (type) {
    case ScalarType::float16:
      return std::abs(value) <= 65504.0;
    case ScalarType::bfloat16:
      return std::abs(value) <= oracles::bfloat_value(0x7f7f);
    case ScalarType::float32:
      return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
    case ScalarType::int8:
      return is_one_of<std::int8_t>(value);
    case ScalarType::uint8:
      return is_one_of<std::uint8_t>(value);
    case ScalarType::int16:
      return is_one_of<std::int16_t>(value);
    case ScalarType::uint16:
      return is_one_of<std::uint16_t>(value);
    case ScalarType::uint32:
      return is_one_of<std::uint32_t>(value);
    default:
      return is_one_of<std::int32_t>(value);
  }
}

}  // namespace assay::families

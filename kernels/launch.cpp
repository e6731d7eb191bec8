// Evaluates a launch that is described as data, and encodes it.
#include "kernels/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>

#include "base/text.h"
#include "kernels/binding.h"
#include "metal/errors.h"

namespace assay::kernels {
namespace {

using metal::ScalarType;

bool is_floating(ScalarType type) { return type == ScalarType::float32 || type == ScalarType::float16 || type == ScalarType::bfloat16; }

// An integer may become a float, and a condition a number.
metal::FieldValue field_value_of(const Value& value, ScalarType type, const Expression& expression) {
  if (const bool* truth = std::get_if<bool>(&value)) return metal::FieldValue::of(std::int64_t{*truth ? 1 : 0});
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return is_floating(type) ? metal::FieldValue::of(static_cast<double>(*integer)) : metal::FieldValue::of(*integer);
  if (const auto* floating = std::get_if<double>(&value)) return metal::FieldValue::of(*floating);
  throw ExpressionError(
      fmt::format("{}: '{}' is the text {}, but a number is needed", expression.where(), expression.source(), to_string(value)));
}

metal::FunctionConstant constant_of(const Value& value, const Expression& expression) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  throw ExpressionError(fmt::format("{}: '{}' is {}, but a function constant of a family is a boolean or an integer", expression.where(),
                                    expression.source(), to_string(value)));
}

std::int64_t positive(const Expression& expression, const Names& names, std::string_view what) {
  const std::int64_t value = expression.integer(names);
  if (value >= 1 && value <= std::numeric_limits<std::uint32_t>::max()) return value;
  throw ExpressionError(
      fmt::format("{}: {} is '{}', which is {}; accepted: 1 .. 2^32 - 1", expression.where(), what, expression.source(), value));
}

metal::Size3 size_of(const std::vector<Expression>& expressions, const Names& names, std::string_view what) {
  std::array<std::uint32_t, 3> sizes = {1, 1, 1};
  for (std::size_t i = 0; i < expressions.size(); ++i) sizes[i] = static_cast<std::uint32_t>(positive(expressions[i], names, what));
  return {sizes[0], sizes[1], sizes[2]};
}

std::size_t bytes_of(const Expression& expression, const Names& names, std::string_view what) {
  const std::int64_t value = expression.integer(names);
  if (value >= 0 && value <= std::int64_t{1} << 40) return static_cast<std::size_t>(value);
  throw ExpressionError(
      fmt::format("{}: {} is '{}', which is {} bytes; accepted: 0 .. 2^40", expression.where(), what, expression.source(), value));
}

// Encodes the arguments of one dispatch.
class Arguments {
 public:
  Arguments(const PlannedDispatch& dispatch, const BoundKernel& kernel, const Names& names, const NamedViews& buffers)
      : description_(*dispatch.description), kernel_(kernel), layout_(kernel.entry().layout), names_(names), buffers_(buffers) {}

  void encode(metal::ComputeEncoder& encoder) const {
    for (const metal::BoundArgument& argument : layout_.arguments) {
      if (argument.space == metal::AddressSpace::threadgroup) continue;
      const std::string_view of_contract = kernel_.contract_name(argument);
      auto described = description_.arguments.find(argument.name);
      if (described == description_.arguments.end()) described = description_.arguments.find(of_contract);
      if (described == description_.arguments.end()) {
        encode_unnamed(encoder, argument, of_contract.empty() ? argument.name : of_contract);
      } else if (!described->second.fields.empty()) {
        encode_struct(encoder, argument, described->second);
      } else {
        encode_elements(encoder, argument, described->second.elements);
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw metal::AbiMismatch(
        fmt::format("{}:{}: function '{}', launched by {}: {}", layout_.file, layout_.line, layout_.function, description_.where, message));
  }

  // An argument that the description leaves out.
  void encode_unnamed(metal::ComputeEncoder& encoder, const metal::BoundArgument& argument, std::string_view name) const {
    if (const auto view = buffers_.find(name); view != buffers_.end()) return encoder.set_buffer(argument.index, view->second);
    if (argument.layout) return encode_struct(encoder, argument, {});
    if (const auto value = value_named(name)) return set_values(encoder, argument, {Expression::of_value(*value)});
    fail(
        fmt::format("argument '{0}' ({1} {2}{3}, buffer {4}) gets nothing; add {0} = \"...\" to [dispatch.arguments]. Buffers: {5}; "
                    "numbers: {6}",
                    argument.name, metal::to_string(argument.space), argument.type_name, argument.is_reference ? "&" : "*", argument.index,
                    fmt::join(buffer_names(), ", "), fmt::join(names_.all(), ", ")));
  }

  void encode_elements(metal::ComputeEncoder& encoder, const metal::BoundArgument& argument,
                       const std::vector<Expression>& elements) const {
    if (elements.size() == 1) {
      if (const auto name = elements.front().chosen_name(names_)) {
        if (const auto view = buffers_.find(*name); view != buffers_.end()) return encoder.set_buffer(argument.index, view->second);
      }
    }
    set_values(encoder, argument, elements);
  }

  // A helper of another variant has [fields] of its own.
  [[nodiscard]] std::optional<Value> value_named(std::string_view name) const {
    if (auto value = names_.value(name)) return value;
    const auto field = kernel_.entry().fields.find(name);
    return field == kernel_.entry().fields.end() ? std::nullopt : std::optional(value_of(field->second));
  }

  // Numbers behind a `constant` reference or pointer.
  void set_values(metal::ComputeEncoder& encoder, const metal::BoundArgument& argument, const std::vector<Expression>& elements) const {
    if (!argument.is_const || argument.element == ScalarType::other) {
      fail(fmt::format("argument '{}' is {} {}{}, so it needs a buffer, but '{}' is none; there are {}", argument.name,
                       metal::to_string(argument.space), argument.type_name, argument.is_reference ? "&" : "*", elements.front().source(),
                       fmt::join(buffer_names(), ", ")));
    }
    const std::size_t size = metal::size_of(argument.element);
    if (elements.size() > argument.element_count && argument.is_reference)
      fail(fmt::format("argument '{}' is {}&, one value, but {} values are given", argument.name, argument.type_name, elements.size()));
    if (elements.size() > 1 && elements.size() % argument.element_count != 0)
      fail(fmt::format("argument '{}' is {}, which has {} components, but {} values are given", argument.name, argument.type_name,
                       argument.element_count, elements.size()));
    // A vector of three takes the room of four.
    const std::size_t vectors = std::max<std::size_t>(1, elements.size() / argument.element_count);
    std::vector<std::byte> bytes(std::max(argument.size, size) * vectors);
    for (std::size_t i = 0; i < std::max(elements.size(), argument.element_count); ++i) {
      const std::size_t at = i / argument.element_count * argument.size + i % argument.element_count * size;
      pack(layout_.function, argument.name, argument.type_name, argument.element, elements.size() == 1 ? elements[0] : elements[i],
           std::span(bytes).subspan(at, size));
    }
    encoder.set_bytes(argument.index, bytes);
  }

  void encode_struct(metal::ComputeEncoder& encoder, const metal::BoundArgument& argument, const ArgumentDescription& described) const {
    if (!argument.layout) fail(fmt::format("argument '{}' is {}, not a struct, so it has no fields", argument.name, argument.type_name));
    const metal::StructLayout& layout = *argument.layout;
    for (const auto& [name, value] : described.fields) {
      const metal::StructField* field = layout.find(name);
      if (field == nullptr)
        fail(fmt::format("struct {} has no field '{}'; it has {}", layout.name, name, fmt::join(field_names(layout), ", ")));
      if (field->type == ScalarType::other)
        fail(fmt::format("field '{}' of struct {} is {}, a struct; set its fields: {}", name, layout.name, field->type_name,
                         fmt::join(field_names(layout), ", ")));
    }
    std::vector<std::byte> bytes(layout.size);
    for (const metal::StructField& field : layout.fields) {
      if (field.type == ScalarType::other) {
        require_parts(layout, field);
        continue;
      }
      const auto given = described.fields.find(field.name);
      std::vector<Expression> elements;
      if (given != described.fields.end()) {
        elements = given->second;
      } else if (const auto value = value_named(field.name)) {
        elements = {Expression::of_value(*value)};
      } else {
        fail(fmt::format(
            "field '{0}' ({1}) of struct {2} gets nothing; set it in [dispatch.arguments], {3} = {{ {0} = \"...\" }}. Numbers: {4}",
            field.name, field.type_name, layout.name, argument.name, fmt::join(names_.all(), ", ")));
      }
      if (elements.size() != 1 && elements.size() != field.count)
        fail(fmt::format("field '{}' of struct {} has {} elements, but {} values are given", field.name, layout.name, field.count,
                         elements.size()));
      const std::size_t size = metal::size_of(field.type);
      for (std::size_t i = 0; i < field.count; ++i) {
        pack(argument.name, field.name, field.type_name, field.type, elements.size() == 1 ? elements[0] : elements[i],
             std::span(bytes).subspan(field.offset + i * size, size));
      }
    }
    encoder.set_bytes(argument.index, bytes);
  }

  // A struct within the struct has its own fields listed too; an array of structs only those of its first element.
  void require_parts(const metal::StructLayout& layout, const metal::StructField& field) const {
    const auto is_listed = [&](const metal::StructField& part) { return part.name.starts_with(field.name + "."); };
    if (std::ranges::any_of(layout.fields, is_listed)) return;
    fail(fmt::format("field '{}' of struct {} is {}, which no launch can set: use numbers, arrays of them or structs, or a buffer",
                     field.name, layout.name, field.type_name));
  }

  // `name` may be that of a field in a struct within the struct, "strides.row".
  void pack(const std::string& of, const std::string& name, const std::string& type_name, ScalarType type, const Expression& expression,
            std::span<std::byte> to) const {
    const std::size_t dot = name.rfind('.');
    const std::string last = name.substr(dot == std::string::npos ? 0 : dot + 1);
    metal::StructLayout one;
    one.name = dot == std::string::npos ? of : fmt::format("{}.{}", of, name.substr(0, dot));
    one.size = to.size();
    one.fields.push_back({last, type_name, type, 1, 0, to.size()});
    const metal::FieldValue value = field_value_of(expression.evaluate(names_), type, expression);
    try {
      std::ranges::copy(metal::pack_struct(one, {{last, value}}, {}), to.begin());
    } catch (const metal::AbiMismatch& mismatch) {
      fail(fmt::format("'{}': {}", expression.source(), mismatch.what()));
    }
  }

  [[nodiscard]] std::vector<std::string_view> buffer_names() const {
    std::vector<std::string_view> names;
    for (const auto& [name, view] : buffers_) names.push_back(name);
    return names;
  }
  static std::vector<std::string_view> field_names(const metal::StructLayout& layout) {
    std::vector<std::string_view> names;
    for (const metal::StructField& field : layout.fields) names.push_back(field.name);
    return names;
  }

  const DispatchDescription& description_;
  const BoundKernel& kernel_;
  const metal::ArgumentLayout& layout_;
  const Names& names_;
  const NamedViews& buffers_;
};

}  // namespace

Value value_of(const metal::FieldValue& value) {
  if (value.kind == metal::FieldValue::Kind::floating) return std::bit_cast<double>(value.bits);
  return std::bit_cast<std::int64_t>(value.bits);
}

LaunchNames::LaunchNames(const LaunchDescription& launch, const FieldValues& fields, const Names& of_case)
    : fields_(fields), of_case_(of_case) {
  for (const LetDescription& let : launch.lets) {
    const auto field = fields.find(let.name);
    lets_.insert_or_assign(let.name, field == fields.end() ? let.value.evaluate(*this) : value_of(field->second));
  }
}

std::optional<Value> LaunchNames::value(std::string_view name) const {
  if (const auto let = lets_.find(name); let != lets_.end()) return let->second;
  if (auto of_case = of_case_.value(name)) return of_case;
  const auto field = fields_.find(name);
  return field == fields_.end() ? std::nullopt : std::optional(value_of(field->second));
}

std::vector<std::string> LaunchNames::all() const {
  std::vector<std::string> names = of_case_.all();
  for (const auto& [name, value] : lets_) names.push_back(name);
  for (const auto& [name, value] : fields_) names.push_back(name);
  return names;
}

std::vector<PlannedDispatch> plan_launch(const LaunchDescription& launch, const Names& names) {
  std::vector<PlannedDispatch> planned;
  for (const DispatchDescription& description : launch.dispatches) {
    if (description.when && !description.when->condition(names)) continue;
    PlannedDispatch& dispatch = planned.emplace_back();
    dispatch.description = &description;
    dispatch.is_of_family = launch.is_of_family;
    dispatch.function.entry = description.function.evaluate(names);
    for (const auto& [name, expression] : description.constants) {
      const Value value = expression.evaluate(names);
      if (launch.is_of_family) {
        dispatch.function.constants.emplace(base::number_of<std::uint32_t>(name).value(), constant_of(value, expression));
      } else {
        dispatch.function.named.emplace(name, field_value_of(value, ScalarType::other, expression));
      }
    }
    dispatch.grid = size_of(description.grid, names, "an element of grid");
    dispatch.threads = size_of(description.threads, names, "an element of threads");
    for (const auto& [index, expression] : description.memory)
      dispatch.memory.emplace_back(index, (bytes_of(expression, names, "threadgroup memory") + 15) / 16 * 16);
  }
  if (planned.empty()) throw std::invalid_argument("every [[dispatch]] is left out by its 'when'");
  return planned;
}

std::string text_of(const LaunchDescription& launch) {
  std::string text;
  const auto add = [&](std::string_view key, std::span<const Expression> expressions) {
    text += fmt::format("{} =", key);
    for (const Expression& expression : expressions) text += fmt::format(" '{}'", expression.source());
    text += "\n";
  };
  for (const LetDescription& let : launch.lets) add("let " + let.name, {&let.value, 1});
  for (const ScratchDescription& scratch : launch.scratch) add("scratch " + scratch.name, {&scratch.bytes, 1});
  for (const DispatchDescription& dispatch : launch.dispatches) {
    text += fmt::format("dispatch {} {} {} {}\n", dispatch.family, dispatch.function.source(), dispatch.concurrent,
                        dispatch.grid_counts_threads);
    if (dispatch.when) add("when", {&*dispatch.when, 1});
    add("grid", dispatch.grid);
    add("threads", dispatch.threads);
    for (const auto& [index, bytes] : dispatch.memory) add(fmt::format("memory {}", index), {&bytes, 1});
    for (const auto& [name, value] : dispatch.constants) add("constant " + name, {&value, 1});
    for (const auto& [name, argument] : dispatch.arguments) {
      add("argument " + name, argument.elements);
      for (const auto& [field, elements] : argument.fields) add("field " + field, elements);
    }
  }
  return text;
}

std::set<std::string> names_in(const LaunchDescription& launch) {
  std::set<std::string> names;
  const auto add = [&](const Expression& expression) {
    for (std::string& name : expression.names()) names.insert(std::move(name));
  };
  for (const LetDescription& let : launch.lets) {
    names.insert(let.name);
    add(let.value);
  }
  for (const ScratchDescription& scratch : launch.scratch) add(scratch.bytes);
  for (const DispatchDescription& dispatch : launch.dispatches) {
    if (dispatch.when) add(*dispatch.when);
    std::ranges::for_each(dispatch.grid, add);
    std::ranges::for_each(dispatch.threads, add);
    for (const auto& [index, bytes] : dispatch.memory) add(bytes);
    for (const auto& [name, value] : dispatch.constants) add(value);
    for (const auto& [name, argument] : dispatch.arguments) {
      std::ranges::for_each(argument.elements, add);
      for (const auto& [field, elements] : argument.fields) std::ranges::for_each(elements, add);
    }
  }
  return names;
}

std::vector<std::size_t> scratch_sizes(const LaunchDescription& launch, const Names& names) {
  std::vector<std::size_t> sizes;
  for (const ScratchDescription& scratch : launch.scratch)
    sizes.push_back(bytes_of(scratch.bytes, names, fmt::format("the size of scratch buffer {}", scratch.name)));
  return sizes;
}

void encode_dispatch(metal::ComputeEncoder& encoder, const PlannedDispatch& dispatch, const BoundKernel& kernel, const Names& names,
                     const NamedViews& buffers) {
  encoder.set_pipeline(kernel.entry().pipeline);
  Arguments(dispatch, kernel, names, buffers).encode(encoder);
  if (dispatch.is_of_family) {
    kernel.set_threadgroup_memory(encoder, dispatch.memory.empty() ? 0 : dispatch.memory.front().second);
  } else {
    for (const auto& [index, bytes] : dispatch.memory) {
      // A host may set a length that this pipeline does not use, such as one that only other constants need.
      const metal::BoundArgument* argument = kernel.entry().layout.find(metal::AddressSpace::threadgroup, index);
      if (argument != nullptr) encoder.set_threadgroup_memory_length(index, bytes);
    }
  }
  if (dispatch.description->grid_counts_threads) {
    encoder.dispatch_threads(dispatch.grid, dispatch.threads);
  } else {
    encoder.dispatch_threadgroups(dispatch.grid, dispatch.threads);
  }
}

}  // namespace assay::kernels

// Parses and checks launch traces in JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "reports/dispatch.h"
#include "reports/strict_json.h"

namespace assay::reports {
namespace {

using harness::TraceBinding;
using harness::TraceDispatch;
using harness::TraceError;
using Input = nlohmann::json;

constexpr int kDeepestTrace = 8;          // a trace nests six deep
constexpr std::size_t kMostFields = 512;  // fields per binding
constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLargestElement = 65536;  // bytes; an element may be a struct

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  harness::Trace read(std::string_view text) {
    const Input root = parse(text);
    require_keys(root, "", {"format", "version", "case", "host", "tensors", "commands"});
    if (string_at(root, "", "format") != "assay-dispatch") fail("format", "must be \"assay-dispatch\"");
    const std::uint64_t version = number_at(root, "", "version", kAnyNumber);
    if (version != kTraceVersion && version != kTensorsVersion)
      fail("version", fmt::format("is {}; this assay reads {} and {}", version, kTraceVersion, kTensorsVersion));
    has_tensors_ = version == kTensorsVersion;
    harness::Trace trace;
    if (root.contains("case")) trace.case_name = string_at(root, "", "case");
    read_tensors(root, trace);
    read_commands(root, trace);
    return trace;
  }

 private:
  void read_tensors(const Input& root, harness::Trace& trace) {
    if (root.contains("tensors")) require_version("tensors");
    each(root, "", "tensors", harness::kMostTraceTensors, [&](const Input& entry, const std::string& at) {
      harness::TraceTensor one = tensor(entry, at);
      if (!tensors_.insert(one.name).second) fail(at, fmt::format("a tensor '{}' is already listed", one.name));
      trace.tensors.push_back(std::move(one));
    });
  }

  void read_commands(const Input& root, harness::Trace& trace) const {
    const Input& commands = array_at(root, "", "commands", harness::kMostTraceCommands);
    bool after_barrier = false;
    std::string barrier;  // the latest one
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const std::string place = fmt::format("commands[{}]", i);
      if (!commands[i].is_object()) fail(place, fmt::format("must be an object, not {}", commands[i].type_name()));
      const std::string command = string_at(commands[i], place, "command");
      if (command == "barrier") {
        require_keys(commands[i], place, {"command"});
        if (trace.dispatches.empty() || after_barrier) trace.spare_barriers.push_back(place);
        after_barrier = !trace.dispatches.empty();
        barrier = place;
      } else if (command == "dispatch") {
        trace.dispatches.push_back(dispatch(commands[i], place));
        trace.dispatches.back().after_barrier = after_barrier;
        after_barrier = false;
      } else {
        fail(place + ".command", fmt::format("is '{}'; accepted: dispatch, barrier", command));
      }
    }
    if (trace.dispatches.empty()) fail("commands", "has no dispatch");
    if (after_barrier) trace.spare_barriers.push_back(barrier);
  }

  void require_version(const std::string& place) const {
    if (!has_tensors_) fail(place, fmt::format("needs \"version\": {}", kTensorsVersion));
  }

  [[noreturn]] void fail(const std::string& place, std::string_view what) const {
    throw TraceError(place.empty() ? fmt::format("{}: {}", file_, what) : fmt::format("{}: {}: {}", file_, place, what));
  }

  static std::string below(const std::string& place, std::string_view key) {
    return place.empty() ? std::string(key) : fmt::format("{}.{}", place, key);
  }

  [[nodiscard]] Input parse(std::string_view text) const {
    return parse_strict_json(text, kDeepestTrace, [this](const std::string& what) { fail("", what); });
  }

  void require_keys(const Input& object, const std::string& place, const std::vector<std::string_view>& known) const {
    if (!object.is_object()) fail(place, fmt::format("must be an object with {}, not {}", fmt::join(known, ", "), object.type_name()));
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) == known.end())
        fail(below(place, key), fmt::format("unknown key; accepted: {}", fmt::join(known, ", ")));
    }
  }

  [[nodiscard]] const Input& member(const Input& object, const std::string& place, std::string_view key) const {
    const auto found = object.find(key);
    if (found == object.end()) {
      // These members describe the trace itself; the rest is the launch.
      const std::string wanted = place.empty() && key == "format" ? "; a trace has \"assay-dispatch\" here"
                                 : place.empty() && key == "version"
                                     ? fmt::format("; this assay reads {} and {}", kTraceVersion, kTensorsVersion)
                                     : std::string();
      fail(below(place, key), "is missing" + wanted);
    }
    return *found;
  }

  [[nodiscard]] std::string string_at(const Input& object, const std::string& place, std::string_view key) const {
    const Input& value = member(object, place, key);
    if (!value.is_string()) fail(below(place, key), fmt::format("must be a string, not {}", value.type_name()));
    return value.get<std::string>();
  }

  [[nodiscard]] std::uint64_t number(const Input& value, const std::string& place, std::uint64_t most) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
      fail(place, fmt::format("must be an integer from 0 to {}, not {}", most, value.is_structured() ? value.type_name() : value.dump()));
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] std::uint64_t number_at(const Input& object, const std::string& place, std::string_view key, std::uint64_t most) const {
    return number(member(object, place, key), below(place, key), most);
  }
  [[nodiscard]] std::uint32_t index_at(const Input& object, const std::string& place, std::uint32_t most) const {
    return static_cast<std::uint32_t>(number_at(object, place, "index", most));
  }

  [[nodiscard]] const Input& array_at(const Input& object, const std::string& place, std::string_view key, std::size_t most) const {
    const Input& value = member(object, place, key);
    if (!value.is_array()) fail(below(place, key), fmt::format("must be a list, not {}", value.type_name()));
    if (value.size() > most) fail(below(place, key), fmt::format("has {} entries; the limit is {}", value.size(), most));
    return value;
  }

  // Calls `read(entry, place)` for each entry of an optional list.
  template <typename Read>
  void each(const Input& object, const std::string& place, std::string_view key, std::size_t most, const Read& read) const {
    if (!object.contains(key)) return;
    const Input& list = array_at(object, place, key, most);
    for (std::size_t i = 0; i < list.size(); ++i) read(list[i], fmt::format("{}[{}]", below(place, key), i));
  }

  [[nodiscard]] metal::Size3 size_at(const Input& object, const std::string& place, std::string_view key) const {
    const Input& list = array_at(object, place, key, 3);
    if (list.size() != 3) fail(below(place, key), fmt::format("must be three integers, x y z, not {}", list.size()));
    const auto component = [&](std::size_t i) {
      return static_cast<std::uint32_t>(
          number(list[i], fmt::format("{}[{}]", below(place, key), i), std::numeric_limits<std::uint32_t>::max()));
    };
    return {component(0), component(1), component(2)};
  }

  [[nodiscard]] harness::TraceConstant constant(const Input& object, const std::string& place) const {
    require_keys(object, place, {"index", "type", "value"});
    harness::TraceConstant constant;
    if (object.contains("type")) {
      constant.type = string_at(object, place, "type");
      // MTLDataType capitalises these names.
      std::ranges::transform(constant.type, constant.type.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    const Input& value = member(object, place, "value");
    if (!value.is_array()) {
      const auto scalar = constant_scalar(value, below(place, "value"), "a number, true or false, or for a vector a list of them");
      constant.value = metal::constant_of_components(std::span(&scalar, 1));
      return constant;
    }
    if (value.size() < 2 || value.size() > 4)
      fail(below(place, "value"), fmt::format("has {} components; a vector has 2 to 4", value.size()));
    metal::ConstantVector vector;
    for (std::size_t i = 0; i < value.size(); ++i)
      vector.components.push_back(constant_scalar(value[i], fmt::format("{}[{}]", below(place, "value"), i), "a number, true or false"));
    constant.value = std::move(vector);
    return constant;
  }

  [[nodiscard]] metal::ConstantScalar constant_scalar(const Input& value, const std::string& place, std::string_view accepted) const {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_float()) return value.get<double>();
    if (value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX))
      return value.get<std::int64_t>();
    fail(place, fmt::format("must be {}, not {}", accepted, value.type_name()));
  }

  [[nodiscard]] std::vector<std::byte> bytes_at(const Input& object, const std::string& place) const {
    const std::string hex = string_at(object, place, "bytes");
    if (hex.size() % 2 != 0 || hex.size() / 2 > harness::kMostTraceBytes)
      fail(below(place, "bytes"),
           fmt::format("has {} digits; it must have two per byte, for at most {} bytes", hex.size(), harness::kMostTraceBytes));
    const auto digit = [&](std::size_t at) {
      const char c = hex[at];
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      if (c >= 'A' && c <= 'F') return c - 'A' + 10;
      fail(below(place, "bytes"), fmt::format("character {} is not a hexadecimal digit", at));
    };
    std::vector<std::byte> bytes;
    for (std::size_t at = 0; at < hex.size(); at += 2) bytes.push_back(static_cast<std::byte>(16 * digit(at) + digit(at + 1)));
    return bytes;
  }

  // Nothing for null, which stands for a number that JSON does not have.
  void add_field(const Input& object, const std::string& place, TraceBinding& binding) const {
    require_keys(object, place, {"name", "offset", "type", "value"});
    harness::TraceField field;
    field.name = string_at(object, place, "name");
    const Input& value = member(object, place, "value");
    if (value.is_null()) return;
    if (value.is_boolean()) {
      field.value = value.get<bool>();
    } else if (value.is_number_unsigned()) {
      field.value = value.get<std::uint64_t>();
    } else if (value.is_number_integer()) {
      field.value = value.get<std::int64_t>();
    } else if (value.is_number_float()) {
      field.value = value.get<double>();
    } else {
      fail(below(place, "value"), fmt::format("must be a number, true, false or null, not {}", value.type_name()));
    }
    binding.fields.push_back(std::move(field));
  }

  // Sizes and strides of the axes in bytes; the length is that from the first to the last element. Strides are in elements in the file.
  void read_axes(const Input& object, const std::string& place, harness::TraceTensor& tensor) const {
    if (!object.contains("element")) fail(below(place, "shape"), "needs 'element', the bytes of an element, which is missing");
    const Input& shape = array_at(object, place, "shape", harness::kMostTensorAxes);
    const Input* strides = object.contains("strides") ? &array_at(object, place, "strides", harness::kMostTensorAxes) : nullptr;
    if (strides != nullptr && strides->size() != shape.size())
      fail(below(place, "strides"), fmt::format("has {} entries, 'shape' has {}", strides->size(), shape.size()));
    std::uint64_t span = tensor.element;
    std::uint64_t dense = tensor.element;  // bytes of the axes behind this one
    bool is_empty = false;
    bool is_too_large = false;
    tensor.axes.resize(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
      harness::TraceTensor::Axis& axis = tensor.axes[i];
      axis.size = number(shape[i], fmt::format("{}[{}]", below(place, "shape"), i), kAnyNumber);
      axis.stride = dense;
      if (strides != nullptr) {
        const std::uint64_t stride = number((*strides)[i], fmt::format("{}[{}]", below(place, "strides"), i), kAnyNumber);
        is_too_large |= __builtin_mul_overflow(stride, tensor.element, &axis.stride);
      }
      is_empty |= axis.size == 0;
      std::uint64_t reach = 0;
      is_too_large |= __builtin_mul_overflow(axis.size == 0 ? 0 : axis.size - 1, axis.stride, &reach);
      is_too_large |= __builtin_add_overflow(span, reach, &span);
      is_too_large |= __builtin_mul_overflow(dense, std::max<std::uint64_t>(axis.size, 1), &dense);
    }
    if (is_too_large) fail(place, "has more bytes than 64 bits can count");
    if (is_empty) span = 0;
    if (object.contains("length") && tensor.length < span)
      fail(below(place, "length"), fmt::format("is {}, but the shape reaches over {} bytes", tensor.length, span));
    if (!object.contains("length")) tensor.length = span;
  }

  [[nodiscard]] harness::TraceTensor tensor(const Input& object, const std::string& place) const {
    require_keys(object, place, {"name", "buffer", "start", "length", "element", "shape", "strides"});
    harness::TraceTensor tensor;
    tensor.name = string_at(object, place, "name");
    tensor.buffer = string_at(object, place, "buffer");
    tensor.start = number_at(object, place, "start", kAnyNumber);
    if (object.contains("length")) tensor.length = number_at(object, place, "length", kAnyNumber);
    if (object.contains("element")) {
      tensor.element = number_at(object, place, "element", kLargestElement);
      if (tensor.element == 0) fail(below(place, "element"), "must be at least 1");
    }
    if (object.contains("shape")) {
      read_axes(object, place, tensor);
    } else if (object.contains("strides")) {
      fail(below(place, "strides"), "needs 'shape', which is missing");
    } else if (!object.contains("length")) {
      fail(place, "has neither 'length' nor 'shape'");
    }
    if (tensor.start + tensor.length < tensor.start) fail(place, "ends behind the last byte that 64 bits can count");
    return tensor;
  }

  [[nodiscard]] TraceBinding binding(const Input& object, const std::string& place) const {
    require_keys(object, place, {"index", "argument", "buffer", "length", "offset", "tensor", "bytes", "struct", "fields"});
    TraceBinding binding;
    for (const char* name : {"argument", "struct"}) {
      if (object.contains(name)) static_cast<void>(string_at(object, place, name));
    }
    if (object.contains("argument")) binding.argument = string_at(object, place, "argument");
    if (object.contains("buffer")) {
      binding.buffer = harness::TraceBuffer{string_at(object, place, "buffer"), number_at(object, place, "length", kAnyNumber),
                                            object.contains("offset") ? number_at(object, place, "offset", kAnyNumber) : 0};
    } else {
      if (!object.contains("bytes")) fail(place, "has neither 'buffer' nor 'bytes'");
      for (const char* name : {"length", "offset", "tensor"}) {
        if (object.contains(name)) fail(below(place, name), "needs a 'buffer', which is missing");
      }
    }
    if (object.contains("tensor")) {
      require_version(below(place, "tensor"));
      binding.tensor = string_at(object, place, "tensor");
      if (!tensors_.contains(binding.tensor)) fail(below(place, "tensor"), fmt::format("'{}' is not listed in 'tensors'", binding.tensor));
    }
    if (object.contains("bytes")) binding.bytes = bytes_at(object, place);
    if (object.contains("fields") && !binding.bytes) fail(below(place, "fields"), "needs 'bytes', which is missing");
    each(object, place, "fields", kMostFields, [&](const Input& entry, const std::string& at) { add_field(entry, at, binding); });
    return binding;
  }

  [[nodiscard]] TraceDispatch dispatch(const Input& object, const std::string& place) const {
    require_keys(
        object, place,
        {"command", "function", "constants", "bindings", "threadgroup_memory", "threadgroups", "threads", "threads_per_threadgroup"});
    TraceDispatch dispatch;
    dispatch.place = fmt::format("{}: {}", file_, place);
    dispatch.function = string_at(object, place, "function");
    each(object, place, "constants", 65536, [&](const Input& entry, const std::string& at) {
      harness::TraceConstant value = constant(entry, at);
      if (!dispatch.constants.emplace(index_at(entry, at, 65535), std::move(value)).second) fail(at, "the index occurs twice");
    });
    each(object, place, "bindings", harness::kLastTraceIndex + 1, [&](const Input& entry, const std::string& at) {
      TraceBinding value = binding(entry, at);
      if (!dispatch.bindings.emplace(index_at(entry, at, harness::kLastTraceIndex), std::move(value)).second)
        fail(at, "the index occurs twice");
    });
    each(object, place, "threadgroup_memory", harness::kLastTraceIndex + 1, [&](const Input& entry, const std::string& at) {
      require_keys(entry, at, {"index", "length"});
      const std::uint64_t length = number_at(entry, at, "length", std::numeric_limits<std::uint64_t>::max());
      if (!dispatch.threadgroup_memory.emplace(index_at(entry, at, harness::kLastTraceIndex), length).second)
        fail(at, "the index occurs twice");
    });
    dispatch.counts_threads = object.contains("threads");
    if (dispatch.counts_threads && object.contains("threadgroups")) fail(place, "has both 'threadgroups' and 'threads'");
    dispatch.grid = size_at(object, place, dispatch.counts_threads ? "threads" : "threadgroups");
    dispatch.threads_per_threadgroup = size_at(object, place, "threads_per_threadgroup");
    return dispatch;
  }

  std::string file_;
  bool has_tensors_ = false;
  std::set<std::string> tensors_;  // their names
};

}  // namespace

harness::Trace parse_trace(std::string_view json, const std::string& file) { return Reader(file).read(json); }

}  // namespace assay::reports

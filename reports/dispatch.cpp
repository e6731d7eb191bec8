// Launch traces as text and JSON.
#include "reports/dispatch.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "reports/json_text.h"

namespace assay::reports {
namespace {

using harness::ContractDispatch;
using harness::TraceBinding;
using harness::TraceDispatch;
using harness::TraceField;
using Json = nlohmann::ordered_json;

std::string text_of(const metal::Size3& size) { return fmt::format("{} x {} x {}", size.x, size.y, size.z); }

Json json_of(const metal::Size3& size) { return {size.x, size.y, size.z}; }

Json json_of(const harness::TraceNumber& value) {
  if (const double* floating = std::get_if<double>(&value)) {
    if (!std::isfinite(*floating)) return nullptr;  // JSON has no such number; the bytes contain it
    // The shortest text of the float, not of the double that it is converted to.
    return Json::parse(harness::to_string(value));
  }
  return std::visit([](auto number) { return Json(number); }, value);
}

// A number, or the list of components of a vector.
Json json_of(const metal::FunctionConstant& value) {
  Json list = Json::array();
  for (const metal::ConstantScalar& component : metal::components_of(value))
    list.push_back(std::visit([](auto number) { return Json(number); }, component));
  return std::holds_alternative<metal::ConstantVector>(value) ? list : list.front();
}

Json json_of(const std::uint32_t index, const TraceBinding& binding, const metal::BoundArgument& argument) {
  Json json = {{"index", index}, {"argument", binding.argument}};
  if (binding.buffer) {
    json["buffer"] = binding.buffer->name;
    json["length"] = binding.buffer->length;
    json["offset"] = binding.buffer->offset;
    return json;
  }
  if (argument.layout) json["struct"] = argument.layout->name;
  std::string hex;
  for (const std::byte byte : *binding.bytes) hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  json["bytes"] = hex;
  json["fields"] = json_list(binding.fields, [](const TraceField& field) -> Json {
    return {{"name", field.name}, {"offset", field.offset}, {"type", field.type}, {"value", json_of(field.value)}};
  });
  return json;
}

Json json_of(const ContractDispatch& dispatch) {
  const TraceDispatch& trace = dispatch.trace;
  Json json = {{"command", "dispatch"}, {"function", trace.function}};
  json["constants"] = Json::array();
  for (const auto& [index, constant] : trace.constants) {
    Json value = json_of(constant.value);
    json["constants"].push_back({{"index", index}, {"type", constant.type}, {"value", std::move(value)}});
  }
  json["bindings"] = Json::array();
  for (const auto& [index, binding] : trace.bindings)
    json["bindings"].push_back(json_of(index, binding, *dispatch.layout.find(metal::AddressSpace::device, index)));
  json["threadgroup_memory"] = Json::array();
  for (const auto& [index, length] : trace.threadgroup_memory) json["threadgroup_memory"].push_back({{"index", index}, {"length", length}});
  json[trace.counts_threads ? "threads" : "threadgroups"] = json_of(trace.grid);
  json["threads_per_threadgroup"] = json_of(trace.threads_per_threadgroup);
  return json;
}

// A name in a trace may contain anything, for example a line that looks like the outcome.
std::string in_one_line(std::string sentence) {
  for (std::size_t at = 0; (at = sentence.find('\n', at)) != std::string::npos;) sentence.replace(at, 1, "\\n");
  return sentence;
}

std::string bindings_text(const ContractDispatch& dispatch) {
  std::string text;
  for (const auto& [index, binding] : dispatch.trace.bindings) {
    const metal::BoundArgument& argument = *dispatch.layout.find(metal::AddressSpace::device, index);
    if (binding.buffer) {
      text += binding.buffer->length == 0
                  ? fmt::format("  buffer {:<2} {:<12} any buffer: it is not read or written\n", index, binding.argument)
                  : fmt::format("  buffer {:<2} {:<12} {}, {} bytes or more\n", index, binding.argument, binding.buffer->name,
                                binding.buffer->length);
      continue;
    }
    text += fmt::format("  buffer {:<2} {:<12} {}{} bytes\n", index, binding.argument,
                        argument.layout ? fmt::format("struct {}, ", argument.layout->name) : std::string(), binding.bytes->size());
    for (const TraceField& field : binding.fields)
      text += fmt::format("    {:>4}  {:<6} {:<18} {}\n", field.offset, field.type, field.name, harness::to_string(field.value));
  }
  return text;
}

}  // namespace

std::string dispatch_text(const std::string& case_name, std::span<const ContractDispatch> dispatches) {
  std::string text = fmt::format("{}: {} dispatch{}\n", case_name, dispatches.size(), dispatches.size() == 1 ? "" : "es");
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const TraceDispatch& trace = dispatches[i].trace;
    if (trace.after_barrier) text += "memory barrier\n";
    text += fmt::format("dispatch {} '{}' ({}:{})\n", i, trace.function, dispatches[i].layout.file, dispatches[i].layout.line);
    for (const auto& [index, constant] : trace.constants) {
      text += fmt::format("  function constant {} ({}) = {}\n", index, constant.type, metal::to_string(constant.value));
    }
    text += bindings_text(dispatches[i]);
    for (const auto& [index, length] : trace.threadgroup_memory)
      text += fmt::format("  threadgroup memory {}: {} bytes or more\n", index, length);
    text += fmt::format("  grid {} {} of {} threads\n", text_of(trace.grid),
                        trace.counts_threads ? "threads in threadgroups" : "threadgroups", text_of(trace.threads_per_threadgroup));
  }
  return text;
}

std::string dispatch_json(const std::string& case_name, std::span<const ContractDispatch> dispatches) {
  Json json = {{"format", "assay-dispatch"}, {"version", kTraceVersion}, {"case", case_name}};
  json["commands"] = Json::array();
  for (const ContractDispatch& dispatch : dispatches) {
    if (dispatch.trace.after_barrier) json["commands"].push_back({{"command", "barrier"}});
    json["commands"].push_back(json_of(dispatch));
  }
  return json_text(json);
}

std::string check_text(const std::string& case_name, const harness::TraceCheck& check, bool strict) {
  std::string text;
  for (const std::string& difference : check.differences) text += fmt::format("differs: {}\n", in_one_line(difference));
  const std::string_view mark = strict ? "strict" : "allowed";
  for (const std::string& remark : check.remarks) text += fmt::format("{}: {}\n", mark, in_one_line(remark));
  if (strict) {
    for (const std::string& tolerated : check.tolerated) text += fmt::format("{}: {}\n", mark, in_one_line(tolerated));
  }
  const auto counted = [](std::size_t count, std::string_view what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); };
  const std::size_t lenient = check.remarks.size() + check.tolerated.size();
  text += case_name + ": ";
  if (check.agrees(strict)) return text + "the trace agrees with the contract\n";
  if (!check.differences.empty()) text += counted(check.differences.size(), "difference") + " from the contract";
  if (!strict || lenient == 0) return text + "\n";
  return text + fmt::format("{}{} that only a check without --strict allows\n", check.differences.empty() ? "" : ", and ",
                            counted(lenient, "thing"));
}

}  // namespace assay::reports

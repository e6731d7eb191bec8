// Rewrites messages of clang in the words and places of the user's source.
#include "metal/compile/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/run_time_file.h"
#include "metal/source_files.h"

namespace assay::metal::compile {
namespace {

struct Place {
  std::string file;
  std::string line;
};

struct Message {
  std::string file;
  std::string line;
  std::string severity;  // "error", "note", ...
  std::string text;
  std::vector<Place> includes = {};  // the chain of `#include`s that leads to `file`, the innermost last
};

// `<file>:<line>: <severity>: <text>`
std::optional<Message> parse_message(std::string_view line) {
  for (const std::string_view severity : {": error: ", ": fatal error: ", ": note: ", ": warning: "}) {
    const auto at = line.find(severity);
    if (at == std::string_view::npos) continue;
    const auto place = line.substr(0, at);
    const auto colon = place.rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto number = place.substr(colon + 1);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) continue;
    return Message{std::string(place.substr(0, colon)), std::string(number), std::string(severity.substr(2, severity.size() - 4)),
                   std::string(line.substr(at + severity.size()))};
  }
  return std::nullopt;
}

// `In file included from <file>:<line>:`
std::optional<Place> parse_include(std::string_view line) {
  constexpr std::string_view start = "In file included from ";
  if (!line.starts_with(start) || !line.ends_with(':')) return std::nullopt;
  line.remove_prefix(start.size());
  line.remove_suffix(1);
  const auto colon = line.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return Place{std::string(line.substr(0, colon)), std::string(line.substr(colon + 1))};
}

std::string in_metal_words(std::string text) {
  const std::pair<std::string_view, std::string_view> words[] = {{"__attribute__((opencl_global_device)) ", "device "},
                                                                 {"__global_device ", "device "},
                                                                 {"const __global ", "constant "},
                                                                 {"__global const ", "constant "},
                                                                 {"__global ", "constant "},
                                                                 {"__local ", "threadgroup "},
                                                                 {"*__private", "*"},
                                                                 {"&__private", "&"},
                                                                 {"__private ", "thread "},
                                                                 {"__constant ", "constant "},
                                                                 {"C++ for OpenCL", "Metal"},
                                                                 {"OpenCL", "Metal"},
                                                                 {"__generic ", ""},
                                                                 {"assay_name_", ""},
                                                                 {"__bf16", "bfloat"},
                                                                 {"__assay::", ""}};
  for (const auto& [from, to] : words) {
    replace_all(text, from, to);
  }
  return text;
}

// Parts of Metal that are not supported here, by the names of their types and headers.
struct Omitted {
  std::string_view start;
  bool is_whole;  // false: `name` is only a prefix
  std::string_view what;
};

constexpr std::array<Omitted, 23> kOmitted = {{{"texture1d", false, "textures"},
                                               {"texture2d", false, "textures"},
                                               {"texture3d", false, "textures"},
                                               {"texturecube", false, "textures"},
                                               {"texture_buffer", true, "textures"},
                                               {"depth2d", false, "textures"},
                                               {"depthcube", false, "textures"},
                                               {"sampler", true, "samplers"},
                                               {"compare_func", true, "samplers"},
                                               {"raytracing", true, "ray tracing"},
                                               {"intersector", true, "ray tracing"},
                                               {"intersection_", false, "ray tracing"},
                                               {"acceleration_structure", true, "ray tracing"},
                                               {"instance_acceleration_structure", true, "ray tracing"},
                                               {"primitive_acceleration_structure", true, "ray tracing"},
                                               {"visible_function_table", true, "function tables"},
                                               {"imageblock", false, "imageblocks"},
                                               {"render_command", true, "indirect command buffers"},
                                               {"compute_command", true, "indirect command buffers"},
                                               {"command_buffer", true, "indirect command buffers"},
                                               {"tensor", true, "tensors"},
                                               {"cooperative_tensor", true, "tensors"},
                                               {"dextents", true, "tensors"}}};

// For example "textures", if a name belongs to that part.
std::optional<std::string_view> omitted_part(std::string_view name) {
  const auto found = std::ranges::find_if(
      kOmitted, [&](const Omitted& omitted) { return omitted.is_whole ? name == omitted.start : name.starts_with(omitted.start); });
  return found == kOmitted.end() ? std::nullopt : std::optional(found->what);
}

constexpr std::string_view kOutOfScope = "out of scope of this simulator";

// Headers of unsupported parts that a file cannot do without do not exist here, so that __has_include reports their absence.
std::optional<std::string> missing_header(std::string_view text) {
  constexpr std::string_view end = "' file not found";
  if (!text.starts_with('\'') || !text.ends_with(end)) return std::nullopt;
  const std::string_view name = text.substr(1, text.size() - 1 - end.size());
  const bool is_primitive = name.starts_with("MetalPerformancePrimitives/") || name.starts_with("MPP");
  if (name != "metal_tensor" && name != "metal_cooperative_tensor" && !is_primitive) return std::nullopt;
  return fmt::format("<{}> is not supported: {} are {}", name, is_primitive ? "Metal Performance Primitives" : "tensors", kOutOfScope);
}

// Adds what clang cannot know: that a name belongs to Metal, or to a part that is not supported.
std::string with_reason(std::string text) {
  // Our file system's answer (pass/reach.cpp).
  if (text.starts_with("cannot open file '")) replace_all(text, ": Operation not supported", ": it is not a regular file");
  for (const std::string_view start :
       {"unknown type name '", "no template named '", "use of undeclared identifier '", "no type named '", "no member named '"}) {
    if (!text.starts_with(start)) continue;
    const std::string_view name = std::string_view(text).substr(start.size(), text.find('\'', start.size()) - start.size());
    if (const auto part = omitted_part(name)) return fmt::format("{}: {} are {}", text, *part, kOutOfScope);
  }
  return text;
}

bool is_ours(const std::string& file) { return file.starts_with(shader_directory().string()); }

std::string source_line(const Message& message) {
  const auto lines = source_lines(message.file);
  const auto number = std::strtoul(message.line.c_str(), nullptr, 10);
  return number == 0 || number > lines.size() ? std::string() : fmt::format("{:>6} | {}\n", message.line, lines[number - 1]);
}

// Splits the text into messages, each with the includes that clang prints before it. Clang prints them only where they change.
std::vector<Message> parse_messages(std::string_view messages, std::string& rest) {
  std::vector<Message> all;
  std::vector<Place> includes;
  for (std::size_t start = 0; start < messages.size();) {
    const auto end = std::min(messages.find('\n', start), messages.size());
    const auto line = messages.substr(start, end - start);
    start = end + 1;
    if (auto place = parse_include(line)) {
      includes.push_back(std::move(*place));
    } else if (auto message = parse_message(line)) {
      const bool is_same_file = !all.empty() && all.back().file == message->file;
      message->includes = includes.empty() && is_same_file ? all.back().includes : std::exchange(includes, {});
      all.push_back(std::move(*message));
    } else if (line.find("generated.") == std::string_view::npos) {
      rest += std::string(line) + "\n";
    }
  }
  return all;
}

// Moves an error in one of our headers to the line of the user's source that caused it: the one that a note names, or that
// includes the header.
void move_to_user(Message& message, std::span<const Message> notes) {
  for (const Message& note : notes) {
    if (note.severity != "note") break;
    if (is_ours(note.file)) continue;
    message.file = note.file;
    message.line = note.line;
    return;
  }
  while (!message.includes.empty() && is_ours(message.file)) {
    message.file = message.includes.back().file;
    message.line = message.includes.back().line;
    message.includes.pop_back();
  }
}

}  // namespace

std::filesystem::path shader_directory() { return base::run_time_file("share/assay/shader"); }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from == to) return;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

std::string explain_errors(std::string_view messages) {
  std::string rest;
  const std::vector<Message> all = parse_messages(messages, rest);
  std::string result;
  for (std::size_t index = 0; index < all.size(); ++index) {
    Message message = all[index];
    const bool is_error = message.severity.ends_with("error");
    const bool is_of_header = message.text.ends_with("file not found") || is_ours(message.file);
    if (is_error && is_ours(message.file)) move_to_user(message, std::span(all).subspan(index + 1));
    if (!is_error && is_ours(message.file)) continue;
    const auto header = missing_header(message.text);
    const std::string text = header ? *header : with_reason(in_metal_words(message.text));
    result += fmt::format("{}:{}: {}: {}\n{}", message.file, message.line, message.severity, text, source_line(message));
    if (!is_error || !is_of_header) continue;
    for (auto place = message.includes.rbegin(); place != message.includes.rend(); ++place) {
      if (!is_ours(place->file)) result += fmt::format("{}:{}: note: included from here\n", place->file, place->line);
    }
  }
  if (result.empty()) result = rest;
  while (result.ends_with('\n')) result.pop_back();
  return result;
}

}  // namespace assay::metal::compile

// Reads the arguments of entry points: their roles, and the indices at which the host binds them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "metal/errors.h"
#include "metal/limits.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

constexpr std::array<std::pair<std::string_view, abi::Builtin>, 20> kBuiltinNames = {{
    {"thread_position_in_grid", abi::kThreadPositionInGrid},
    {"thread_position_in_threadgroup", abi::kThreadPositionInThreadgroup},
    {"threadgroup_position_in_grid", abi::kThreadgroupPositionInGrid},
    {"threadgroups_per_grid", abi::kThreadgroupsPerGrid},
    {"threads_per_threadgroup", abi::kThreadsPerThreadgroup},
    {"dispatch_threads_per_threadgroup", abi::kDispatchThreadsPerThreadgroup},
    {"threads_per_grid", abi::kThreadsPerGrid},
    {"thread_index_in_threadgroup", abi::kThreadIndexInThreadgroup},
    {"thread_index_in_simdgroup", abi::kThreadIndexInSimdgroup},
    {"simdgroup_index_in_threadgroup", abi::kSimdgroupIndexInThreadgroup},
    {"simdgroups_per_threadgroup", abi::kSimdgroupsPerThreadgroup},
    {"dispatch_simdgroups_per_threadgroup", abi::kDispatchSimdgroupsPerThreadgroup},
    {"threads_per_simdgroup", abi::kThreadsPerSimdgroup},
    {"thread_execution_width", abi::kThreadsPerSimdgroup},
    {"thread_index_in_quadgroup", abi::kThreadIndexInQuadgroup},
    {"quadgroup_index_in_threadgroup", abi::kQuadgroupIndexInThreadgroup},
    {"quadgroups_per_threadgroup", abi::kQuadgroupsPerThreadgroup},
    {"dispatch_quadgroups_per_threadgroup", abi::kDispatchQuadgroupsPerThreadgroup},
    {"grid_origin", abi::kGridOrigin},
    {"grid_size", abi::kGridSize},
}};

std::optional<abi::Builtin> builtin_named(std::string_view name) {
  const auto* found = std::find_if(kBuiltinNames.begin(), kBuiltinNames.end(), [&](const auto& entry) { return entry.first == name; });
  return found == kBuiltinNames.end() ? std::nullopt : std::optional(found->second);
}

// The name in messages of a type that is not supported as an argument; empty for a supported type.
std::string_view unsupported_kind(const Token& token) {
  static constexpr auto kTypes =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"sampler", "sampler"},
                                                                    {"tensor", "tensor"},
                                                                    {"cooperative_tensor", "tensor"},
                                                                    {"acceleration_structure", "acceleration_structure"},
                                                                    {"primitive_acceleration_structure", "acceleration_structure"},
                                                                    {"instance_acceleration_structure", "acceleration_structure"},
                                                                    {"visible_function_table", "visible_function_table"},
                                                                    {"intersection_function_table", "intersection_function_table"},
                                                                    {"imageblock", "imageblock"}});
  if (token.kind != TokenKind::identifier) return {};
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.first == token.text; });
  if (found != kTypes.end()) return found->second;
  // texture2d, depth2d_ms_array and similar: the word is followed by a dimension.
  for (const std::string_view kind : {"texture", "depth"}) {
    const auto rest = token.text.starts_with(kind) ? token.text.substr(kind.size()) : std::string_view();
    for (const std::string_view dimension : {"1d", "2d", "3d", "cube", "_buffer"}) {
      if (rest == dimension || rest.starts_with(std::string(dimension) + "_")) return kind;
    }
  }
  return {};
}

bool is_compiler_attribute_name(std::string_view name) {
  return name.starts_with("clang::") || name.starts_with("gnu::") || name == "maybe_unused";
}

constexpr std::uint32_t kUnassigned = ~0u;

}  // namespace

std::vector<Parameter> Translator::parameters(std::size_t first, std::size_t last, Signature signature) {
  std::vector<Parameter> result;
  std::size_t start = first;
  for (std::size_t index = first; index <= last; ++index) {
    if (index < last && tokens_[index].is("<") && index > first && tokens_[index - 1].kind == TokenKind::identifier) {
      if (const auto close = tokens_.closing_angle(index); close && *close < last) index = *close;
    } else if (index < last && (opens(tokens_[index]))) {
      index = tokens_.closing(index);
    } else if (index == last || tokens_[index].is(",")) {
      if (index > start && !(index == start + 1 && tokens_[start].is("void"))) result.push_back(parameter(start, index, signature));
      if (result.size() > kMostParameters) tokens_.fail(start, fmt::format("a kernel with more than {} arguments", kMostParameters));
      start = index + 1;
    }
  }
  const bool is_open = std::any_of(result.begin(), result.end(), [](const Parameter& p) { return !p.dependent_index.empty(); });
  if (signature == Signature::of_kernel && !is_open) assign_indices(result, first);
  return result;
}

Parameter Translator::parameter(std::size_t first, std::size_t last, Signature signature) {
  Parameter result;
  result.index = kUnassigned;
  result.line = tokens_[first].line;
  bool pointer = false;
  bool threadgroup = false;
  bool has_space = false;
  std::size_t array = last;  // the first bracket of `T x[]`, which is a pointer
  std::vector<const AttributeList*> lists;
  for (std::size_t index = first; index < last; ++index) {
    const Token& token = tokens_[index];
    if (const auto attribute = attribute_end_.find(index); attribute != attribute_end_.end()) {
      lists.push_back(&*std::lower_bound(attributes_.begin(), attributes_.end(), index,
                                         [](const AttributeList& l, std::size_t at) { return l.first < at; }));
      index = attribute->second;
    } else if (token.is("<") && index > first && tokens_[index - 1].kind == TokenKind::identifier) {
      if (const auto close = tokens_.closing_angle(index)) index = *close;
    } else if (token.is("[")) {
      if (!pointer) array = index;
      pointer = true;
      index = tokens_.closing(index);
    } else if (token.is("=")) {
      break;
    } else if (token.is("device") || token.is("constant")) {
      result.space = token.is("device") ? AddressSpace::device : AddressSpace::constant;
      has_space = true;
    } else if (token.is("threadgroup")) {
      threadgroup = true;
    } else if (token.is("*") || token.is("&")) {
      pointer = true;
      result.is_reference = token.is("&");
    }
  }
  const std::size_t name = parameter_name(first, last);
  if (name != last) result.name = tokens_[name].text;
  result.type = parameter_type(first, last, name, array);
  const std::string label = result.name.empty() ? result.type : result.name;
  require_supported_kind(first, last, name, label);
  // The kernel's own attributes count, not those that an instantiation repeats.
  if (signature == Signature::of_instantiation) return result;
  apply_attributes(result, lists, first, label);
  if (result.role == Role::builtin) return result;
  if (threadgroup) {
    result.role = Role::threadgroup;
  } else if (!has_space || !pointer) {
    tokens_.fail(
        first, fmt::format("argument '{}' is neither a device, constant or threadgroup pointer or reference nor has an attribute", label));
  }
  return result;
}

std::string Translator::parameter_type(std::size_t first, std::size_t last, std::size_t name, std::size_t array) const {
  std::string type;
  for (std::size_t index = first; index < last; ++index) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (index != name) {
      if (!type.empty()) type += ' ';
      if (index != array) {
        type += tokens_[index].text;
        continue;
      }
      index = tokens_.closing(index);
      const bool of_arrays = tokens_[index + 1].is("[") && !attribute_end_.contains(index + 1);
      type += of_arrays ? "(*)" : "*";
    }
  }
  return type;
}

void Translator::require_supported_kind(std::size_t first, std::size_t last, std::size_t name, std::string_view label) const {
  for (std::size_t index = first; index < last; ++index) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (const auto kind = unsupported_kind(tokens_[index]); index != name && !kind.empty()) {
      tokens_.fail(first, fmt::format("argument '{}': {} arguments are not supported", label, kind));
    }
  }
}

void Translator::apply_attributes(Parameter& parameter, std::span<const AttributeList* const> lists, std::size_t first,
                                  std::string_view label) {
  // The identifiers in a template's head are its parameters and their types. Only the compiler knows the values of these parameters.
  const auto names_template_word = [&](const Attribute& attribute) {
    for (std::size_t index = attribute.first_argument; index < attribute.last_argument; ++index) {
      if (tokens_[index].kind == TokenKind::identifier && template_words_.contains(tokens_[index].text)) return true;
    }
    return false;
  };
  for (const auto* list : lists) {
    for (const auto& attribute : list->attributes) {
      if (attribute.name == "buffer" || attribute.name == "threadgroup") {
        if (names_template_word(attribute)) {
          parameter.dependent_index = tokens_.text(attribute.first_argument, attribute.last_argument);
          continue;
        }
        const auto index = constants_.value(attribute.first_argument, attribute.last_argument, qualified(""));
        const auto written = fmt::format("[[{}({})]]", attribute.name, tokens_.brief(attribute.first_argument, attribute.last_argument));
        parameter.index = checked_index(first, label, written, index);
      } else if (attribute.name == "function_constant") {
        parameter.condition = tokens_.text(attribute.first_argument, attribute.last_argument);
      } else if (const auto builtin = builtin_named(attribute.name)) {
        parameter.role = Role::builtin;
        parameter.builtin = *builtin;
      } else if (!is_compiler_attribute_name(attribute.name)) {
        tokens_.fail(first, fmt::format("argument '{}': [[{}]] is not supported", label, attribute.name));
      }
    }
  }
}

std::uint32_t Translator::checked_index(std::size_t place, std::string_view label, std::string_view written,
                                        std::optional<std::int64_t> index) const {
  if (!index) tokens_.fail(place, fmt::format("argument '{}': the index {} is not known: {}", label, written, kAcceptedConstants));
  if (*index < 0 || *index > kMaxBufferIndex)
    tokens_.fail(place, fmt::format("argument '{}': {} is not an index from 0 to {}", label, written, kMaxBufferIndex));
  return static_cast<std::uint32_t>(*index);
}

// The token that names a parameter, or `last` if the parameter has only a type. The name is the last identifier that follows another
// identifier of the type.
std::size_t Translator::parameter_name(std::size_t first, std::size_t last) const {
  static constexpr std::array<std::string_view, 8> kQualifiers = {"const",  "volatile", "restrict", "__restrict",
                                                                  "device", "constant", "thread",   "threadgroup"};
  static constexpr std::array<std::string_view, 11> kTypeWords = {"unsigned", "signed", "char", "short",  "int", "long",
                                                                  "float",    "half",   "bool", "bfloat", "void"};
  const auto is_one_of = [this](std::size_t index, const auto& words) {
    return std::find(words.begin(), words.end(), tokens_[index].text) != words.end();
  };
  std::size_t words = 0;
  std::size_t name = last;
  for (std::size_t index = first; index < last; ++index) {
    if (const auto attribute = attribute_end_.find(index); attribute != attribute_end_.end()) {
      index = attribute->second;
    } else if (tokens_[index].is("<") && index > first && tokens_[index - 1].kind == TokenKind::identifier) {
      if (const auto close = tokens_.closing_angle(index)) index = *close;
    } else if (tokens_[index].is("[")) {
      index = tokens_.closing(index);
    } else if (tokens_[index].is("=")) {
      break;
    } else if (tokens_[index].kind == TokenKind::identifier && !is_one_of(index, kQualifiers)) {
      const bool nested = index > first && tokens_[index - 1].is("::");
      const bool continues = index + 1 < last && (tokens_[index + 1].is("::") || tokens_[index + 1].is("<") || tokens_[index + 1].is("*") ||
                                                  tokens_[index + 1].is("&"));
      if (words > 0 && !nested && !continues && !is_one_of(index, kTypeWords)) name = index;
      ++words;
    }
  }
  return name;
}

// As in Metal, an argument without an index gets the next free one.
void Translator::assign_indices(std::vector<Parameter>& parameters, std::size_t first) const {
  if (constants_.is_asking()) return;  // unanswered indices are 0 and would collide
  for (const auto role : {Role::buffer, Role::threadgroup}) {
    std::map<std::uint32_t, const Parameter*> taken;
    for (const auto& parameter : parameters) {
      if (parameter.role != role || parameter.index == kUnassigned) continue;
      const auto [other, is_free] = taken.emplace(parameter.index, &parameter);
      // Two arguments with conditions may share an index, because only one of them may exist at a time.
      if (is_free || (!parameter.condition.empty() && !other->second->condition.empty())) continue;
      tokens_.fail(first, fmt::format("arguments '{}' and '{}' have the same index [[{}({})]]", other->second->name, parameter.name,
                                      role == Role::buffer ? "buffer" : "threadgroup", parameter.index));
    }
    std::uint32_t next = 0;
    for (auto& parameter : parameters) {
      if (parameter.role != role || parameter.index != kUnassigned) continue;
      while (taken.contains(next)) ++next;
      parameter.index = next++;
    }
  }
}

}  // namespace assay::metal::translate

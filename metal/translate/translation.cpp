// Translates a file, and renders it for one kernel with its constants.
#include "metal/translate/translation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

std::string translated(std::string_view text) {
  auto stream = tokenize(std::string(text), "");
  std::string result;
  for (const auto& token : stream.tokens) {
    if (!result.empty() && !token.leading.empty()) result += ' ';
    if (token.is("device")) {
      result += "__attribute__((opencl_global_device))";
    } else if (token.is("constant")) {
      result += "__global const";
    } else if (token.is("thread")) {
      result += "__private";
    } else if (token.is("threadgroup")) {
      result += "__local";
    } else if (token.is("restrict")) {
      result += "__restrict";
    } else {
      result += token.text;
    }
  }
  return result;
}

namespace {

std::string argument(const Parameter& parameter, bool typed) {
  std::string value;
  switch (parameter.role) {
    case Role::builtin:
      return fmt::format("__assay::builtin<{}>({})", translated(parameter.type), static_cast<unsigned>(parameter.builtin));
    case Role::threadgroup:
      value = "threadgroup_argument";
      break;
    case Role::buffer:
      value = parameter.space == AddressSpace::device ? "device_buffer" : "constant_buffer";
      break;
  }
  value = fmt::format("__assay::{}<{}, ({})>()", value, parameter.index,
                      parameter.condition.empty() ? "true" : translated(parameter.condition));
  return typed ? fmt::format("static_cast<{}>({})", translated(parameter.type), value) : value;
}

std::string entry_point(const Kernel& kernel) {
  std::string arguments;
  for (const auto& parameter : kernel.parameters) {
    if (!arguments.empty()) arguments += ", ";
    arguments += argument(parameter, kernel.typed_arguments);
  }
  return fmt::format(" extern \"C\" void __assay_entry(__generic void*) {{ {}({}); }}", translated(kernel.callee), arguments);
}

std::string literal(const ConstantScalar& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}l", *integer);
  return fmt::format("{:a}", std::get<double>(value));
}

std::string declaration(const FunctionConstantUse& constant, const std::map<std::uint32_t, FunctionConstant>& values) {
  const auto value = values.find(constant.index);
  if (value == values.end()) {
    return fmt::format(" extern __global const {} {} __asm__(\"__assay_unset_function_constant.{}.{}\");", constant.type, constant.name,
                       constant.index, constant.name);
  }
  const auto components = components_of(value->second);
  if (components.size() == 1)
    return fmt::format(" __global constexpr {} {} = ({})({});", constant.type, constant.name, constant.type, literal(components.front()));
  std::vector<std::string> literals;
  for (const auto& component : components) literals.push_back(literal(component));
  return fmt::format(" __global constexpr {0} {1} = ::__assay::constant_vector<{0}>({2});", constant.type, constant.name,
                     fmt::join(literals, ", "));
}

}  // namespace

Translation Translation::of(std::string preprocessed, std::string file, ConstantQuestions* questions) {
  return Translator(tokenize(std::move(preprocessed), std::move(file)), questions).run();
}

Translation::ValueProbe Translation::probe_of(const std::vector<ConstantQuestions::Question>& questions) const {
  ValueProbe result{probe(nullptr, {}, {ThreadSpace::relaxed, {}}).text + "\ntemplate <long> struct __assay_value;\n", 0};
  result.first_line = static_cast<std::size_t>(std::count(result.text.begin(), result.text.end(), '\n')) + 1;
  for (std::size_t number = 0; number < questions.size(); ++number) {
    std::string_view scope = questions[number].scope;
    std::string close;
    while (!scope.empty()) {
      const auto end = scope.find("::");
      result.text += fmt::format("namespace {} {{ ", scope.substr(0, end));
      close += " }";
      scope.remove_prefix(std::min(scope.size(), end + 2));
    }
    result.text += fmt::format("::__assay_value<({})> __assay_value_{};{}\n", translated(questions[number].expression), number, close);
  }
  return result;
}

const Kernel* Translation::find(std::string_view host_name) const {
  const auto found = std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernel& kernel) { return kernel.host_name == host_name; });
  return found == kernels_.end() ? nullptr : &*found;
}

TokenStream Translation::edited(const Kernel* kernel, const std::map<std::uint32_t, FunctionConstant>& constants,
                                const Rendering& rendering) const {
  TokenStream stream = stream_;
  if (rendering.spaces != ThreadSpace::relaxed) {
    for (const auto token : unqualified_members_) stream.tokens[token].after += " __private";
  } else {
    for (const auto token : thread_members_) stream.tokens[token].replacement = "";
  }
  if (rendering.spaces == ThreadSpace::exact) {
    for (const auto token : unqualified_const_members_) stream.tokens[token].after += " __private";
  } else {
    for (const auto token : const_thread_words_) stream.tokens[token].replacement = "";
  }
  for (const auto& constant : constants_) stream.tokens[constant.last_token].after += declaration(constant, constants);
  answer_queries(stream, constants);
  for (const auto& [range, function] : rendering.repairs.wrapped) {
    stream.tokens[range.first].before += fmt::format(" ::__assay::{}(", function);
    stream.tokens[range.second].after.insert(0, ")");
  }
  // The bodies of other kernels may need constants that this pipeline does not set.
  for (const auto& other : kernels_) {
    if (&other != kernel && other.last_body_token != 0 && !rendering.has_other_kernels)
      blank(stream, other.first_body_token, other.last_body_token, ";");
  }
  for (const auto number : rendering.repairs.bodies) {
    const auto& body = bodies_[number];
    blank(stream, initializers_of(body).value_or(body.brace), body.last, " = delete;");
  }
  for (const auto number : rendering.repairs.declarations) {
    const auto& [first, last] = declarations_[number];
    blank(stream, first, last, "");
  }
  if (rendering.repairs.no_pragmas) {
    for (auto& token : stream.tokens) token.drops_pragmas = true;
  }
  if (kernel != nullptr) stream.tokens[kernel->entry_token].after += entry_point(*kernel);
  // Placed within the first line, so that the source keeps its lines, and after the marker of that line, which needs its own line.
  Token& first = stream.tokens.front();
  first.replacement = offers_ + first.replacement.value_or(std::string(first.text));
  return stream;
}

void Translation::answer_queries(TokenStream& stream, const std::map<std::uint32_t, FunctionConstant>& constants) const {
  std::map<std::string_view, std::uint32_t> indices;
  for (const auto& constant : constants_) indices.emplace(constant.name, constant.index);
  for (const auto& query : defined_queries_) {
    const auto constant = indices.find(query.name);
    if (constant == indices.end()) {
      const Token& token = stream.tokens[query.first_token];
      throw CompileError(fmt::format("{}:{}: error: is_function_constant_defined('{}'): no function constant has that name",
                                     stream.files[token.file], token.line, query.name));
    }
    stream.tokens[query.last_token].replacement = constants.contains(constant->second) ? " true" : " false";
  }
}

// Replaces the tokens [first, last] by `replacement`, and keeps their lines.
void Translation::blank(TokenStream& stream, std::size_t first, std::size_t last, std::string_view replacement) {
  for (std::size_t index = first; index <= last; ++index) {
    Token& token = stream.tokens[index];
    token.replacement = index == last ? std::string(replacement) : "";
    token.before.clear();
    token.after.clear();
    token.drops_pragmas = true;
  }
}

// The colon before a constructor's initialisers.
std::optional<std::size_t> Translation::initializers_of(const Body& body) const {
  int depth = 0;
  bool has_parameters = false;
  for (std::size_t index = body.first; index < body.brace; ++index) {
    const Token& token = stream_.tokens[index];
    if (opens(token)) ++depth;
    if (closes(token)) --depth;
    has_parameters = has_parameters || (token.is(")") && depth == 0);
    if (token.is(":") && depth == 0 && has_parameters) return index;
  }
  return std::nullopt;
}

std::string Translation::render(const Kernel& kernel, const std::map<std::uint32_t, FunctionConstant>& constants,
                                const Rendering& rendering) const {
  return write(edited(&kernel, constants, rendering));
}

Translation::Probe Translation::probe(const Kernel* kernel, const std::map<std::uint32_t, FunctionConstant>& constants,
                                      const Rendering& rendering) const {
  Probe result;
  TokenStream stream = edited(kernel, constants, rendering);
  result.starts.reserve(stream.tokens.size());
  for (const auto& token : stream.tokens) {
    result.text += token.before;
    result.text += without_directives(token.leading, token.drops_pragmas);
    result.starts.push_back(result.text.size());
    result.text += token.replacement ? std::string_view(*token.replacement) : token.text;
    result.text += token.after;
  }
  return result;
}

bool Translation::is_computed_from(std::string_view variable, std::string_view constant) const {
  std::set<std::string_view> known = {variable};
  // One pass per link of a chain of initialisers. A pass follows several links if they are declared in order, and most chains
  // have one link.
  for (std::size_t before = 0; before != known.size();) {
    before = known.size();
    for (std::size_t index = 0; index + 1 < stream_.tokens.size(); ++index) {
      const Token& name = stream_.tokens[index];
      if (name.kind != TokenKind::identifier || !known.contains(name.text) || !stream_.tokens[index + 1].is("=")) continue;
      for (index += 2; index < stream_.tokens.size() && !stream_.tokens[index].is(";"); ++index) {
        if (stream_.tokens[index].kind == TokenKind::identifier) known.insert(stream_.tokens[index].text);
      }
    }
  }
  return known.contains(constant);
}

bool Translation::omit(std::size_t token, const Kernel* kernel, const Repairs& before, Repairs& repairs) const {
  if (kernel != nullptr && kernel->last_body_token != 0 && token >= kernel->first_body_token && token <= kernel->last_body_token)
    return false;
  for (std::size_t number = 0; number < bodies_.size(); ++number) {
    const auto& body = bodies_[number];
    if (token < initializers_of(body).value_or(body.brace) || token > body.last) continue;
    if (before.bodies.contains(number)) continue;
    repairs.bodies.insert(number);
    return true;
  }
  for (std::size_t number = 0; number < declarations_.size(); ++number) {
    const auto& [first, last] = declarations_[number];
    if (token < first || token > last) continue;
    if (kernel != nullptr && kernel->entry_token >= first && kernel->entry_token <= last) return false;
    repairs.declarations.insert(number);
    return !before.declarations.contains(number);
  }
  return false;
}

// `end` is behind the tokens that may name it: the first name before a parenthesis does.
Part Translation::part_at(std::size_t first, std::size_t end, std::size_t last) const {
  const auto& tokens = stream_.tokens;
  Part part = {"a declaration", stream_.files[tokens[first].file], tokens[first].line, tokens[last].line, false};
  for (std::size_t index = first; index < end; ++index) part.is_kernel = part.is_kernel || tokens[index].is("kernel");
  for (std::size_t index = first + 1; index < end; ++index) {
    const bool is_attribute = tokens[index - 1].is("__attribute__") || tokens[index - 1].is("host_name");
    if (!tokens[index].is("(") || tokens[index - 1].kind != TokenKind::identifier || is_attribute) continue;
    part.name = tokens[index - 1].text;
    break;
  }
  return part;
}

std::vector<Part> Translation::left_out(const Repairs& repairs) const {
  std::vector<Part> parts;
  for (const std::size_t number : repairs.bodies) {
    const auto& body = bodies_[number];
    parts.push_back(part_at(body.first, body.brace, body.last));
  }
  for (const std::size_t number : repairs.declarations) {
    const auto& [first, last] = declarations_[number];
    parts.push_back(part_at(first, first, last));
  }
  return parts;
}

std::string Translation::place_text(std::size_t token) const {
  return fmt::format("{}:{}", stream_.files[stream_.tokens[token].file], stream_.tokens[token].line);
}

std::optional<Part> Translation::body_of(const Kernel& kernel) const {
  std::string_view name = base::trimmed(std::string_view(kernel.callee).substr(0, kernel.callee.find('<')));
  if (const std::size_t scope = name.rfind(':'); scope != std::string_view::npos) name = base::trimmed(name.substr(scope + 1));
  std::optional<Part> found;
  for (const Body& body : bodies_) {
    Part part = part_at(body.first, body.brace, body.last);
    if (!part.is_kernel || part.name != name) continue;
    if (found) return std::nullopt;
    found = std::move(part);
  }
  return found;
}

bool Translation::wrap(std::size_t first, std::size_t last, std::string function, Repairs& repairs) {
  return repairs.wrapped.try_emplace({first, last}, std::move(function)).second;
}

Translation::Ranges Translation::arguments_of(std::size_t token) const {
  const auto& tokens = stream_.tokens;
  while (token < tokens.size() && !opens(tokens[token]) && !tokens[token].is(";")) ++token;
  if (token >= tokens.size() || tokens[token].is(";")) return {};
  int depth = 0;
  for (std::size_t last = token; last < tokens.size(); ++last) {
    if (opens(tokens[last])) ++depth;
    if (closes(tokens[last]) && --depth == 0) return arguments_in(token + 1, last - 1);
  }
  return {};
}

Translation::Ranges Translation::arguments_in(std::size_t first, std::size_t last) const {
  Ranges result;
  int depth = 0;
  std::size_t start = first;
  for (std::size_t index = first; index <= last; ++index) {
    const Token& token = stream_.tokens[index];
    if (opens(token)) ++depth;
    if (closes(token)) --depth;
    if (!token.is(",") || depth != 0) continue;
    if (index > start) result.emplace_back(start, index - 1);
    start = index + 1;
  }
  if (start <= last) result.emplace_back(start, last);
  return result;
}

}  // namespace assay::metal::translate

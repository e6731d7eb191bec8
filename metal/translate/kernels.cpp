// Reads entry points: kernel functions, templates of them, and their explicit instantiations.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/errors.h"
#include "metal/limits.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

// The text of adjacent string literals, without quotes.
std::string literal_text(const Cursor& tokens, std::size_t first, std::size_t last) {
  std::string result;
  for (std::size_t index = first; index < last; ++index) {
    const auto text = tokens[index].text;
    if (tokens[index].kind == TokenKind::string && text.size() >= 2) result += text.substr(1, text.size() - 2);
  }
  return result;
}

std::optional<std::int64_t> literal_value(const Cursor& tokens, const Attribute& attribute) {
  const auto result = evaluate(tokens, attribute.first_argument, attribute.last_argument, {});
  return result ? std::optional(result->value) : std::nullopt;
}

}  // namespace

// `f` of `a::b::f<int>`.
std::string_view Translator::unqualified(std::string_view callee) {
  auto name = callee.substr(0, callee.find('<'));
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos) name = name.substr(colon + 1);
  return name;
}

std::string Translator::qualified(std::string_view name) const {
  std::string result;
  for (const auto& frame : frames_) {
    if (frame.scope == Scope::name_space && !frame.name.empty()) result += frame.name + "::";
  }
  tokens_.spend(statement_, result.size());
  return result + std::string(name);
}

Translator::Attributes Translator::attributes_in(std::size_t first, std::size_t last, bool is_template) const {
  Attributes result;
  for (auto list = std::lower_bound(attributes_.begin(), attributes_.end(), first,
                                    [](const AttributeList& l, std::size_t at) { return l.first < at; });
       list != attributes_.end() && list->first < last; ++list) {
    for (const auto& attribute : list->attributes) {
      if (attribute.name == "host_name") result.host_name = literal_text(tokens_, attribute.first_argument, attribute.last_argument);
      if (attribute.name == "kernel") result.kernel = true;
      if (attribute.name == "vertex" || attribute.name == "fragment" || attribute.name == "object" || attribute.name == "mesh")
        result.graphics = true;
      if (attribute.name == "max_total_threads_per_threadgroup") {
        // In a template, a name may be one of the template's parameters.
        const auto value = is_template ? literal_value(tokens_, attribute)
                                       : constants_.value(attribute.first_argument, attribute.last_argument, qualified(""));
        if (value && *value > 0)
          result.max_total_threads = static_cast<std::uint32_t>(std::min<std::int64_t>(*value, kMaxThreadsPerThreadgroup));
        if (!value) result.max_total_threads_expression = tokens_.text(attribute.first_argument, attribute.last_argument);
      }
    }
  }
  return result;
}

// Removes `template [[host_name("x")]] kernel void f<float>(...);` and similar declarations, because the entry point itself
// instantiates the template. Long because it reads one declaration from its end to its beginning.
std::size_t Translator::explicit_instantiation(std::size_t first) {
  if (!tokens_[first].is("template") || tokens_[first + 1].is("<")) return first;
  const std::size_t end = tokens_.semicolon(first);
  auto attributes = attributes_in(first, end, false);
  for (std::size_t index = first; index < end; ++index) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (tokens_[index].is("kernel")) {
      attributes.kernel = true;
    }
  }
  if (!attributes.kernel && attributes.host_name.empty()) return first;
  if (!attributes.max_total_threads_expression.empty()) {
    tokens_.fail(first, fmt::format("[[max_total_threads_per_threadgroup({})]] is not known: {}", attributes.max_total_threads_expression,
                                    kAcceptedConstants));
  }

  std::size_t last = end;  // one past the declarator
  while (last > first && tokens_[last - 1].is("]") && tokens_[last - 1].replacement) {
    last = tokens_.opening(last - 1).value_or(last - 1);  // skips attributes behind the parameter list
  }
  Kernel kernel;
  std::vector<Parameter> signature;
  const bool has_signature = tokens_[last - 1].is(")");
  if (has_signature) {
    const auto open = tokens_.opening(last - 1);
    if (!open || *open <= first) tokens_.fail(first, "an explicit instantiation that cannot be read");
    signature = parameters(*open + 1, last - 1, Signature::of_instantiation);
    last = *open;
  }
  std::size_t name = last - 1;
  if (tokens_[name].is(">")) {
    const auto open = tokens_.opening_angle(name);
    if (!open || *open <= first + 1) tokens_.fail(first, "an explicit instantiation whose template arguments cannot be read");
    name = *open - 1;
  }
  while (name > first && tokens_[name - 1].is("::")) {
    const bool leading = tokens_[name - 2].kind != TokenKind::identifier || !tokens_[name - 1].leading.empty();
    name -= leading ? 1 : 2;
  }
  kernel.callee = tokens_.text(name, last);
  const auto* primary = primary_of(kernel.callee, signature.size(), has_signature);
  if (primary == nullptr) {
    for (const auto& refusal : result_.refusals_) {
      if (unqualified(refusal.function) == unqualified(kernel.callee)) throw CompileError(refusal.reason);
    }
    tokens_.fail(name, fmt::format("explicit instantiation of '{}', of which no kernel template has been seen", kernel.callee));
  }
  kernel.parameters = primary->parameters;
  if (has_signature) {
    kernel.typed_arguments = true;
    for (std::size_t index = 0; index < signature.size(); ++index) kernel.parameters[index].type = signature[index].type;
  }
  if (!primary->index_function.empty()) resolve_indices(kernel, *primary, has_signature ? &signature : nullptr, first);
  kernel.host_name = attributes.host_name.empty() ? qualified(kernel.callee) : attributes.host_name;
  kernel.file = tokens_.file(first);
  kernel.line = tokens_[first].line;
  kernel.max_total_threads = std::min(primary->max_total_threads, attributes.max_total_threads);
  tokens_.remove(first, end);
  kernel.entry_token = end;
  add_kernel(std::move(kernel));
  return end + 1;
}

void Translator::add_kernel(Kernel kernel) {
  if (result_.kernels_.size() >= kMostKernels) {
    declaration_is_open_ = false;  // the error is the number of kernels, not one declaration
    tokens_.fail(kernel.entry_token, fmt::format("the file has more than {} kernel functions", kMostKernels));
  }
  result_.kernels_.push_back(std::move(kernel));
}

const Translator::Primary* Translator::primary_of(std::string_view callee, std::size_t parameter_count, bool count_known) const {
  const auto name = unqualified(callee);
  const Primary* found = nullptr;
  for (auto primary = primaries_.rbegin(); primary != primaries_.rend(); ++primary) {
    tokens_.spend(statement_, 1);
    if (primary->name != name || (count_known && primary->parameters.size() != parameter_count)) continue;
    if (!primary->is_specialization) return &*primary;
    if (found == nullptr) found = &*primary;
  }
  return found;
}

// Requires that a kernel returns nothing. `first` is the first token of its declaration after the template parameters.
void Translator::require_void(std::size_t first, std::size_t name) const {
  static constexpr auto kSpecifiers =
      std::to_array<std::string_view>({"kernel", "inline", "static", "extern", "constexpr", "const", "METAL_FUNC"});
  std::size_t behind = name;  // the first token of a qualified name
  while (behind > first + 1 && tokens_[behind - 1].is("::") && tokens_[behind - 2].kind == TokenKind::identifier) behind -= 2;
  std::string type;
  bool has_template_word = false;
  for (std::size_t index = first; index < behind; ++index) {
    const Token& token = tokens_[index];
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (token.is("__attribute__") || token.is("alignas")) {
      index = tokens_.closing(index + 1);
    } else if (std::find(kSpecifiers.begin(), kSpecifiers.end(), token.text) == kSpecifiers.end() && token.kind != TokenKind::string) {
      type += (type.empty() || token.leading.empty() ? "" : " ") + std::string(token.text);
      has_template_word = has_template_word || template_words_.contains(token.text);
    }
  }
  if (type.empty() || type == "void" || type == "auto") return;
  bool is_void = false;
  if (!function_constant_type(type)) {
    if (has_template_word) return;  // the compiler reports types that depend on template parameters at the instantiation
    const auto answer = constants_.ask(fmt::format("::__assay::is_nothing<{}>", type), qualified(""));
    is_void = constants_.is_asking() || !answer || *answer != 0;
  }
  if (!is_void) tokens_.fail(name, fmt::format("kernel '{}' returns '{}': a kernel returns void", tokens_[name].text, type));
}

// For a template whose parameters decide the indices of its arguments, declares a function template with the same parameters beside it.
// It returns the indices as a type. So the compiler finds the indices of an instantiation by its own rules, including deduction.
void Translator::declare_indices(Primary& primary, std::size_t first, std::size_t header, std::size_t end) {
  std::string head;
  for (std::size_t index = first; index < header; ++index) {
    const Token& token = tokens_[index];
    head += token.before;
    if (!head.empty() && !token.leading.empty()) head += ' ';
    head += token.replacement ? std::string_view(*token.replacement) : token.text;
    head += token.after;
  }
  std::string indices;
  std::string types;
  for (const Parameter& parameter : primary.parameters) {
    types += (types.empty() ? "" : ", ") + parameter.type;
    if (!parameter.dependent_index.empty()) indices += fmt::format("{}(long)({})", indices.empty() ? "" : ", ", parameter.dependent_index);
  }
  primary.index_function = fmt::format("__assay_indices_{}", index_functions_++);
  const std::string declaration = fmt::format(" {} ::__assay::indices<{}> {}({});", head, indices, primary.index_function, types);
  tokens_.spend(first, declaration.size());
  tokens_[end].after += translated(declaration);
}

// Resolves the indices of one instantiation. `signature`: the argument types of the instantiation, if it lists them.
void Translator::resolve_indices(Kernel& kernel, const Primary& primary, const std::vector<Parameter>* signature, std::size_t first) const {
  std::string function = kernel.callee;
  const auto name = unqualified(kernel.callee);
  function.replace(static_cast<std::size_t>(name.data() - kernel.callee.data()), name.size(), primary.index_function);
  if (signature != nullptr) {
    std::string arguments;
    for (const Parameter& parameter : *signature)
      arguments += fmt::format("{}::__assay::made<{}>()", arguments.empty() ? "" : ", ", parameter.type);
    function += fmt::format("({})", arguments);
  }
  std::size_t number = 0;
  for (Parameter& parameter : kernel.parameters) {
    if (parameter.dependent_index.empty()) continue;
    const auto index = constants_.ask(fmt::format("::__assay::index_of<{}, decltype({})>", number++, function), qualified(""));
    const std::string written =
        fmt::format("[[{}({})]]{}", parameter.role == Role::threadgroup ? "threadgroup" : "buffer", parameter.dependent_index,
                    index ? fmt::format(", which is {} in '{}',", *index, kernel.callee) : fmt::format(" of '{}'", kernel.callee));
    parameter.index = checked_index(first, parameter.name.empty() ? parameter.type : parameter.name, written, index);
    parameter.dependent_index.clear();
  }
  assign_indices(kernel.parameters, first);
}

// Reads the declaration or definition of a kernel. Its tokens stay, as an ordinary function; only graphics functions are removed.
// Long because it reads one declaration from its beginning to its end, and each part needs the places of those before it.
std::size_t Translator::kernel_function(std::size_t first) {
  std::size_t header = first;
  bool is_template = false;
  bool is_specialization = false;
  while (tokens_[header].is("template") && tokens_[header + 1].is("<")) {
    const auto close = tokens_.closing_angle(header + 1);
    if (!close) return first;
    is_specialization = *close == header + 2;
    is_template = !is_specialization;
    rewrite_template_parameters(header);
    header = *close + 1;
  }
  std::size_t open = header;
  bool keyword = false;
  bool graphics = false;
  for (; open < tokens_.size(); ++open) {
    const Token& token = tokens_[open];
    if (attribute_end_.contains(open)) {
      open = attribute_end_.at(open);
      continue;
    }
    if (token.is(";") || token.is("{") || token.is("=") || token.is("}")) return first;
    if (token.is("kernel") && (tokens_[open + 1].kind == TokenKind::identifier || attribute_end_.contains(open + 1))) keyword = true;
    if ((token.is("vertex") || token.is("fragment")) && tokens_[open + 1].kind == TokenKind::identifier) graphics = true;
    if (token.is("__attribute__") || token.is("alignas") || token.is("decltype")) {
      if (tokens_[open + 1].is("(")) open = tokens_.closing(open + 1);
      continue;
    }
    if (token.is("(")) break;
  }
  if (open >= tokens_.size()) return first;
  const std::size_t close = tokens_.closing(open);
  std::size_t body = close + 1;
  while (body < tokens_.size() && !tokens_[body].is("{") && !tokens_[body].is(";")) {
    body = attribute_end_.contains(body)       ? attribute_end_.at(body) + 1
           : tokens_[body].is("__attribute__") ? tokens_.closing(body + 1) + 1
                                               : body + 1;
  }
  const auto attributes = attributes_in(first, body, is_template);
  if (graphics || attributes.graphics) {
    const std::size_t last = tokens_[body].is("{") ? tokens_.closing(body) : body;
    tokens_.remove(first, last);
    return last + 1;
  }
  if (!keyword && !attributes.kernel) return first;

  std::size_t name = open - 1;
  while (tokens_[name].is("]")) name = tokens_.opening(name).value_or(name) - 1;  // skips attributes behind the name
  const std::size_t name_end = name + 1;
  if (tokens_[name].is(">")) {
    const auto angle = tokens_.opening_angle(name);
    if (!angle) tokens_.fail(name, "a kernel's template arguments that cannot be read");
    name = *angle - 1;
  }
  template_words_.clear();
  for (std::size_t index = first; is_template && index < header; ++index) {
    if (tokens_[index].kind == TokenKind::identifier) template_words_.insert(tokens_[index].text);
  }
  require_void(header, name);
  if (!attributes.max_total_threads_expression.empty() && tokens_[body].is("{"))
    tokens_[body].after += fmt::format(" __assay_max_total_threads({});", attributes.max_total_threads_expression);
  Primary primary{std::string(tokens_[name].text),
                  parameters(open + 1, close, Signature::of_kernel),
                  attributes.max_total_threads,
                  is_specialization,
                  {}};
  template_words_.clear();
  const bool is_dependent = std::any_of(primary.parameters.begin(), primary.parameters.end(),
                                        [](const Parameter& parameter) { return !parameter.dependent_index.empty(); });
  if (is_dependent) declare_indices(primary, first, header, tokens_[body].is("{") ? tokens_.closing(body) : body);
  if (!is_template && tokens_[body].is("{")) {
    Kernel kernel;
    const std::string function = tokens_.text(name, name_end);
    kernel.callee = "::" + qualified(function);  // Metal's library may have a function of the same name
    kernel.host_name = attributes.host_name.empty() ? qualified(function) : attributes.host_name;
    kernel.parameters = primary.parameters;
    kernel.file = tokens_.file(name);
    kernel.line = tokens_[name].line;
    kernel.max_total_threads = attributes.max_total_threads;
    kernel.first_body_token = body;
    kernel.last_body_token = kernel.entry_token = tokens_.closing(body);
    add_kernel(std::move(kernel));
  }
  primaries_.push_back(std::move(primary));
  if (!keyword && !is_specialization) tokens_[header].before += " inline";
  return first;
}

}  // namespace assay::metal::translate

// Walks over the tokens of a file and calls the function that rewrites each construct.
#include "metal/translate/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/errors.h"
#include "metal/translate/offered_names.h"
#include "metal/translate/permitted.h"

namespace assay::metal::translate {

namespace {

constexpr std::string_view kIteration = " __assay::iteration __assay_iteration;";

// Parts of C++ that Metal does not have but the compiler would accept.
constexpr auto kRefused =
    std::to_array<std::string_view>({"double", "virtual", "throw", "try", "catch", "dynamic_cast", "typeid", "thread_local", "goto"});

// Whether an attribute decides what a declaration means. Attributes for warnings, inlining and optimisation change no result, and clang
// does not accept all of them where Metal does.
bool is_meant(const Attribute& attribute) {
  static constexpr auto kMeant = std::to_array<std::string_view>(
      {"gnu::packed", "gnu::aligned", "clang::packed", "clang::aligned", "gnu::vector_size", "clang::ext_vector_type"});
  return std::find(kMeant.begin(), kMeant.end(), attribute.name) != kMeant.end();
}

}  // namespace

Translator::Translator(TokenStream stream, ConstantQuestions* questions) : tokens_(result_.stream_), constants_(tokens_, questions) {
  result_.stream_ = std::move(stream);
}

Translation Translator::run() {
  require_permitted(result_.stream_);
  tokens_.require_shallow();
  close_unclosed();
  strip_attributes();
  collect_callable_names();
  collect_literal_operators();
  constants_.collect();
  walk();
  if (result_.kernels_.empty() && !result_.refusals_.empty() && !constants_.is_asking()) throw CompileError(first_refusal().reason);
  forget_dropped();
  replace_words();
  result_.offers_ = offer_names(result_.stream_);
  return std::move(result_);
}

void Translator::strip_attributes() {
  for (std::size_t index = 0; index + 2 < tokens_.size(); ++index) {
    if (const auto last = coherence_end(index)) {
      tokens_.remove(index, *last);
      attribute_end_[index] = *last;
      attributes_.push_back({index, *last, {}});
      index = *last;
      continue;
    }
    if (!tokens_.attributes_at(index)) continue;
    auto list = tokens_.read_attributes(index);
    const bool keep = !list.attributes.empty() && std::all_of(list.attributes.begin(), list.attributes.end(), is_meant);
    if (!keep) tokens_.remove(list.first, list.last);
    attribute_end_[list.first] = list.last;
    index = list.last;
    attributes_.push_back(std::move(list));
  }
}

// The last token of `coherent(device)` and similar, if they begin here. They say which threads see a store; here all threads do.
std::optional<std::size_t> Translator::coherence_end(std::size_t index) const {
  if (!tokens_[index].is("coherent")) return std::nullopt;
  const Token& scope = tokens_[index + 2];
  if (tokens_[index + 1].is("(") && tokens_[index + 3].is(")") && (is_space_word(scope) || scope.is("system"))) return index + 3;
  const bool beside_space = is_space_word(tokens_[index + 1]) || (index > 0 && is_space_word(tokens_[index - 1]));
  return beside_space && tokens_[index + 1].kind == TokenKind::identifier ? std::optional(index) : std::nullopt;
}

bool Translator::inside_function() const {
  return !frames_.empty() && (frames_.back().scope == Scope::function || frames_.back().scope == Scope::constexpr_function ||
                              frames_.back().scope == Scope::block);
}

bool Translator::inside_constexpr_function() const {
  const auto frame = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [](const Frame& f) { return f.scope == Scope::function || f.scope == Scope::constexpr_function; });
  return frame != frames_.rend() && frame->scope == Scope::constexpr_function;
}

bool Translator::at_namespace() const { return frames_.empty() || frames_.back().scope == Scope::name_space; }

void Translator::walk() {
  statement_ = 0;
  bool at_start = true;
  for (std::size_t index = 0; index < tokens_.size(); ++index) {
    if (at_start && at_namespace() && !declaration_is_open_) {
      declaration_ = index;
      declaration_is_open_ = true;
    }
    try {
      if (at_start && declaration_is_open_ && declaration_ == index) require_closed(index);
      index = step(index, at_start);
    } catch (const CompileError& error) {
      index = refuse_declaration(error);
      at_start = true;
    }
  }
}

// Handles the token at `index` and possibly some after it; returns the last one handled. `at_start`: whether a statement begins at
// `index`; set to whether one begins after the result. Long because it has one branch per construct.
std::size_t Translator::step(std::size_t index, bool& at_start) {
  if (at_start) {
    at_start = false;
    statement_ = index;
    if (at_namespace()) {
      std::size_t next = explicit_instantiation(index);
      if (next == index) next = function_constant(index);
      if (next == index) next = kernel_function(index);
      if (next != index) {
        at_start = true;
        declaration_is_open_ = false;
        return next - 1;
      }
    }
    if (inside_function()) rewrite_threadgroup_variable(index);
  }
  if (const auto attribute = attribute_end_.find(index); attribute != attribute_end_.end()) return attribute->second;
  const Token& token = tokens_[index];
  if (token.is("{")) {
    open_brace(index);
    at_start = true;
  } else if (token.is("}")) {
    at_start = frames_.empty() || frames_.back().scope != Scope::initializer;
    close_brace(index);
  } else if (token.is(";")) {
    at_start = true;
    if (at_namespace()) end_declaration(index);
  } else if (token.is(":") && index > 0 &&
             (tokens_[index - 1].is("public") || tokens_[index - 1].is("private") || tokens_[index - 1].is("protected"))) {
    at_start = true;
  } else if (token.is(")")) {
    rewrite_member_qualifiers(index);
    // The body of an `if (...)` or `for (...)` without braces is a statement too.
    if (inside_function()) rewrite_threadgroup_variable(index + 1);
  } else if (token.is("template")) {
    rewrite_template_parameters(index);
  } else if (token.is("?")) {
    rewrite_conditional(index);
  } else if (token.kind == TokenKind::string) {
    place_text(index);
  } else if (token.kind == TokenKind::number) {
    place_digits(index);
  } else if (literal_doubles_.contains(index)) {
    return index;
  } else if (std::find(kRefused.begin(), kRefused.end(), token.text) != kRefused.end() && token.kind == TokenKind::identifier) {
    tokens_.fail(index, fmt::format("Metal does not have '{}'", token.text));
  } else if (token.is("decltype") && tokens_[index + 1].is("(") && !tokens_[index + 2].is("auto")) {
    // Clang's answer for a variable includes its address space; Metal's is only its type.
    tokens_[index].before = " ::__assay::declared<" + tokens_[index].before;
    tokens_[tokens_.closing(index + 1)].after += ">";
  } else if (token.is("is_function_constant_defined")) {
    defined_query(index);
  } else if (inside_function() && (token.is("for") || token.is("while") || token.is("do"))) {
    mark_loop(index);
  } else if (token.is("<")) {
    name_callables(index);
  } else if (inside_function() && is_compound_assignment(token)) {
    rewrite_assignment(index);
  }
  return index;
}

Translator::Scope Translator::classify(std::size_t brace, std::string& name) const {
  std::size_t first = statement_;
  while (first < brace && attribute_end_.contains(first)) first = attribute_end_.at(first) + 1;
  const Token& previous = tokens_[brace == 0 ? 0 : brace - 1];
  bool has_assignment = false;
  bool has_type_keyword = false;
  bool is_constexpr = false;
  for (std::size_t index = first; index < brace; ++index) {
    const Token& token = tokens_[index];
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (token.is("namespace")) {
      for (++index; index < brace; ++index) {
        if (!attribute_end_.contains(index)) name += tokens_[index].text;
        if (name.size() > kLongestName) tokens_.fail(index, fmt::format("a qualified name of more than {} characters", kLongestName));
      }
      return Scope::name_space;
    } else if (token.is("template") && tokens_[index + 1].is("<")) {
      if (const auto close = tokens_.closing_angle(index + 1)) index = *close;
    } else if (token.is("(") || token.is("[")) {
      index = tokens_.closing(index);
    } else if (token.is("=")) {
      has_assignment = true;
    } else if (token.is("constexpr")) {
      is_constexpr = true;
    } else if (token.is("struct") || token.is("class") || token.is("union") || token.is("enum")) {
      has_type_keyword = true;
      std::size_t named = index + 1;
      while (named < brace && (attribute_end_.contains(named) || tokens_[named].is("alignas") || tokens_[named].is("__attribute__"))) {
        named = attribute_end_.contains(named) ? attribute_end_.at(named) + 1 : tokens_.closing(named + 1) + 1;
      }
      if (named < brace && name.empty()) name = tokens_[named].text;
    }
  }
  if (inside_function()) {
    const bool lambda = previous.is("]") || (previous.is(")") && has_assignment) || (has_assignment && head_has_function(first, brace));
    if (lambda) return inside_constexpr_function() ? Scope::constexpr_function : Scope::function;
    if (brace == statement_ || previous.is(")") || previous.is("else") || previous.is("do") || previous.is(":") || previous.is(";"))
      return Scope::block;
    if (has_type_keyword && !has_assignment) return Scope::type;
    return Scope::initializer;
  }
  if (has_type_keyword && !has_assignment && !head_has_function(first, brace)) return Scope::type;
  if (head_has_function(first, brace) || brace == statement_) return is_constexpr ? Scope::constexpr_function : Scope::function;
  return Scope::initializer;
}

// Whether the tokens before a brace end in a parameter list: `name(...)`, possibly followed by qualifiers, initialisers or
// a return type.
bool Translator::head_has_function(std::size_t first, std::size_t brace) const {
  for (std::size_t index = first; index < brace; ++index) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
      continue;
    }
    if (tokens_[index].is("template") && tokens_[index + 1].is("<")) {
      if (const auto close = tokens_.closing_angle(index + 1)) index = *close;
    } else if (tokens_[index].is("alignas") || tokens_[index].is("__attribute__") || tokens_[index].is("decltype")) {
      if (tokens_[index + 1].is("(")) index = tokens_.closing(index + 1);
    } else if (tokens_[index].is("(")) {
      return true;
    } else if (tokens_[index].is("=") && index > first && !tokens_[index - 1].is("operator")) {
      // After a lambda's introducer comes the parameter list; no other initialiser has one.
      for (std::size_t rest = index + 1; rest < brace; ++rest) {
        if (tokens_[rest].is("]") && (tokens_[rest + 1].is("(") || rest + 1 == brace)) return true;
      }
      return false;
    }
  }
  return false;
}

void Translator::open_brace(std::size_t index) {
  Frame frame;
  frame.scope = classify(index, frame.name);
  frame.outer_statement = statement_;
  frame.brace = index;
  if (frame.scope == Scope::name_space) declaration_is_open_ = false;
  frames_.push_back(std::move(frame));
}

void Translator::close_brace(std::size_t index) {
  if (frames_.empty()) {
    declaration_is_open_ = false;  // nothing left to continue with
    tokens_.fail(index, "'}' closes nothing");
  }
  const Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (frame.scope == Scope::initializer) statement_ = frame.outer_statement;
  const bool is_function = frame.scope == Scope::function || frame.scope == Scope::constexpr_function;
  if (is_function && !inside_function()) result_.bodies_.push_back({frame.outer_statement, frame.brace, index});
  if ((is_function || frame.scope == Scope::name_space) && at_namespace()) end_declaration(index);
}

// Clang accepts `c ? a : b` with class operands only if both are in the same address space. So each operand becomes a value
// (metal/shader/ternary.h). A single literal stays unchanged, since it may be a null pointer.
void Translator::rewrite_conditional(std::size_t question_mark) {
  int nested = 0;
  std::size_t colon = question_mark + 1;
  for (; colon < tokens_.size(); ++colon) {
    const Token& token = tokens_[colon];
    if (opens(token)) {
      colon = tokens_.closing(colon);
    } else if (token.is("?")) {
      ++nested;
    } else if (token.is(":") && nested-- == 0) {
      break;
    } else if (token.is(";") || token.is(")") || token.is("}")) {
      return;
    }
  }
  if (colon == question_mark + 1) return;  // `a ?: b`
  static constexpr std::array<std::string_view, 13> kAssignments = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ",", ";", ")", "]"};
  nested = 0;
  std::size_t end = colon + 1;
  for (; end < tokens_.size(); ++end) {
    const Token& token = tokens_[end];
    tokens_.spend(end, kAssignments.size());
    if (opens(token)) {
      end = tokens_.closing(end);
      continue;
    }
    if (token.is("?")) ++nested;
    if (token.is(":") && nested-- == 0) break;
    if (token.is("}") || std::find(kAssignments.begin(), kAssignments.end(), token.text) != kAssignments.end()) break;
    if (token.is(">")) {
      // The conditional ends at the end of a template argument list: it is a constant of scalar type.
      const auto open = tokens_.opening_angle(end);
      if (open && *open < question_mark && *open > 0 && tokens_[*open - 1].kind == TokenKind::identifier) return;
    }
  }
  const auto wrap = [this](std::size_t first, std::size_t last) {
    if (first == last &&
        (tokens_[first].kind == TokenKind::number || tokens_[first].kind == TokenKind::string || tokens_[first].is("nullptr")))
      return;
    tokens_[first].before = " (::metal::__detail::Value()," + tokens_[first].before;
    tokens_[last].after += ")";
  };
  wrap(question_mark + 1, colon - 1);
  wrap(colon + 1, end - 1);
}

// The marker is an object with a destructor. Every exit from a loop body, including `break` and `return`, then leads through one block
// of the compiled code, so that the compiler's loop analysis counts all code of the body as part of the loop.
void Translator::mark_loop(std::size_t keyword) {
  if (inside_constexpr_function() || loop_tails_.contains(keyword)) return;
  std::size_t body = keyword + 1;
  if (tokens_[keyword].is("do")) {
    loop_tails_.insert(tokens_.statement_end(body) + 1);
  } else {
    if (!tokens_[body].is("(")) return;
    body = tokens_.closing(body) + 1;
  }
  while (attribute_end_.contains(body)) body = attribute_end_.at(body) + 1;
  if (tokens_[body].is(";")) return;
  if (tokens_[body].is("{")) {
    tokens_[body].after += kIteration;
    return;
  }
  tokens_[body].before = fmt::format(" {{{}", kIteration) + tokens_[body].before;
  tokens_[tokens_.statement_end(body)].after += " }";
}

}  // namespace assay::metal::translate

#include "metal/translate/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/errors.h"
#include "metal/translate/literals.h"
#include "metal/translate/offered_names.h"

namespace assay::metal::translate {

namespace {

constexpr std::string_view kDevice = "__attribute__((opencl_global_device))";
constexpr std::string_view kConstant = "__global const";
constexpr std::string_view kIteration = " __assay::iteration __assay_iteration;";

// Ordinary names in Metal, reserved in C++ for OpenCL.
constexpr std::array<std::string_view, 14> kReserved = {"global",     "local",      "generic",   "pipe",        "read_only",
                                                        "write_only", "read_write", "image1d_t", "image2d_t",   "image3d_t",
                                                        "sampler_t",  "event_t",    "queue_t",   "reserve_id_t"};

// Parts of C++ that Metal leaves out, and that the compiler would take.
constexpr std::array<std::string_view, 11> kRefused = {"double", "virtual",      "asm",    "__asm__",      "throw", "try",
                                                       "catch",  "dynamic_cast", "typeid", "thread_local", "goto"};

// Attributes that clang knows and that change nothing here but its warnings and inlining.
bool is_compiler_attribute(const Attribute& attribute) {
  return attribute.name.starts_with("clang::") || attribute.name.starts_with("gnu::") || attribute.name == "maybe_unused" ||
         attribute.name == "fallthrough" || attribute.name == "nodiscard" || attribute.name == "likely" || attribute.name == "unlikely" ||
         attribute.name == "noreturn";
}

}  // namespace

Translator::Translator(TokenStream stream) : tokens_(result_.stream_), constants_(tokens_) { result_.stream_ = std::move(stream); }

Translation Translator::run() {
  tokens_.require_shallow();
  strip_attributes();
  collect_type_names();
  constants_.collect();
  walk();
  replace_words();
  // Within the first line, so that the source keeps its lines, and behind that line's marker, which stands alone.
  if (tokens_.size() > 0)
    tokens_[0].replacement = offer_names(result_.stream_) + tokens_[0].replacement.value_or(std::string(tokens_[0].text));
  return std::move(result_);
}

void Translator::strip_attributes() {
  for (std::size_t index = 0; index + 2 < tokens_.size(); ++index) {
    if (!tokens_.attributes_at(index)) continue;
    auto list = tokens_.read_attributes(index);
    const bool keep = !list.attributes.empty() && std::all_of(list.attributes.begin(), list.attributes.end(), is_compiler_attribute);
    if (!keep) tokens_.remove(list.first, list.last);
    attribute_end_[list.first] = list.last;
    index = list.last;
    attributes_.push_back(std::move(list));
  }
}

bool Translator::inside_function() const {
  return !frames_.empty() && (frames_.back().scope == Scope::function || frames_.back().scope == Scope::constexpr_function ||
                              frames_.back().scope == Scope::block);
}

void Translator::walk() {
  statement_ = 0;
  bool at_start = true;
  for (std::size_t index = 0; index < tokens_.size(); ++index) {
    if (at_start) {
      at_start = false;
      statement_ = index;
      const bool at_namespace = frames_.empty() || frames_.back().scope == Scope::name_space;
      if (at_namespace) {
        std::size_t next = explicit_instantiation(index);
        if (next == index) next = function_constant(index);
        if (next == index) next = kernel_function(index);
        if (next != index) {
          index = next - 1;
          at_start = true;
          continue;
        }
      }
      if (inside_function()) rewrite_threadgroup_variable(index);
    }
    if (const auto attribute = attribute_end_.find(index); attribute != attribute_end_.end()) {
      index = attribute->second;
      continue;
    }
    const Token& token = tokens_[index];
    note_cast(index);
    if (token.is("{")) {
      open_brace(index);
      at_start = true;
    } else if (token.is("}")) {
      at_start = frames_.empty() || frames_.back().scope != Scope::initializer;
      close_brace(index);
    } else if (token.is(";")) {
      at_start = true;
    } else if (token.is(":") && index > 0 &&
               (tokens_[index - 1].is("public") || tokens_[index - 1].is("private") || tokens_[index - 1].is("protected"))) {
      at_start = true;
    } else if (token.is(")")) {
      rewrite_member_qualifiers(index);
      // The body of `if (...)`, `for (...)` without braces is a statement as well.
      if (inside_function()) rewrite_threadgroup_variable(index + 1);
    } else if (token.is("template")) {
      rewrite_template_parameters(index);
    } else if (token.is("?")) {
      rewrite_conditional(index);
    } else if (std::find(kRefused.begin(), kRefused.end(), token.text) != kRefused.end() && token.kind == TokenKind::identifier) {
      tokens_.fail(index, fmt::format("Metal does not have '{}'", token.text));
    } else if (token.is("decltype") && tokens_[index + 1].is("(") && !tokens_[index + 2].is("auto")) {
      // Clang's answer for a variable includes the space that the variable is in; Metal's is its type.
      tokens_[index].before = " ::__assay::declared<" + tokens_[index].before;
      tokens_[tokens_.closing(index + 1)].after += ">";
    } else if (token.is("is_function_constant_defined")) {
      defined_query(index);
    } else if (inside_function() && (token.is("for") || token.is("while") || token.is("do"))) {
      mark_loop(index);
    }
  }
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
    } else if (token.is("extern") && tokens_[index + 1].kind == TokenKind::string) {
      if (index + 2 == brace) return Scope::name_space;
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

// Whether the tokens before a brace end in a parameter list: `name(...)`, perhaps with qualifiers, initialisers or a return type behind.
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
      // Behind a lambda's introducer the parameter list follows; any other initialiser has none.
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
  if (frame.scope == Scope::constexpr_function && !inside_function()) mark_recursion(index);
  frames_.push_back(std::move(frame));
}

void Translator::close_brace(std::size_t index) {
  if (frames_.empty()) tokens_.fail(index, "'}' closes nothing");
  if (frames_.back().scope == Scope::initializer) statement_ = frames_.back().outer_statement;
  frames_.pop_back();
}

// `template <float (*f)(float)>`: C++ for OpenCL takes no pointer to a function as an argument, but takes a reference.
void Translator::rewrite_template_parameters(std::size_t keyword) {
  if (!tokens_[keyword + 1].is("<")) return;
  const auto close = tokens_.closing_angle(keyword + 1);
  if (!close) return;
  for (std::size_t index = keyword + 2; index + 1 < *close; ++index) {
    if (tokens_[index].is("(") && tokens_[index + 1].is("*")) tokens_[index + 1].replacement = "&";
  }
}

// Clang takes `c ? a : b` with class operands only if both are in the same address space. Each operand is made a value of its
// own (metal/shader/ternary.h); a lone literal stays what it is, since it may be a null pointer.
void Translator::rewrite_conditional(std::size_t question_mark) {
  int nested = 0;
  std::size_t colon = question_mark + 1;
  for (; colon < tokens_.size(); ++colon) {
    const Token& token = tokens_[colon];
    if (token.is("(") || token.is("[") || token.is("{")) {
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
    if (token.is("(") || token.is("[") || token.is("{")) {
      end = tokens_.closing(end);
      continue;
    }
    if (token.is("?")) ++nested;
    if (token.is(":") && nested-- == 0) break;
    if (token.is("}") || std::find(kAssignments.begin(), kAssignments.end(), token.text) != kAssignments.end()) break;
    if (token.is(">")) {
      // The end of a template argument list that the conditional stands in: a constant of a scalar type.
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

// The marker's destructor ends every way out of a loop body in one block of the compiled code, `break` and `return` included,
// so that the compiler's own loop analysis sees what stands in the body as part of the loop.
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

// `threadgroup T x[N];` in a kernel's body names memory that the whole threadgroup shares: it becomes a reference to it.
bool Translator::rewrite_threadgroup_variable(std::size_t first) {
  std::string alignment = "0";
  std::vector<std::size_t> dropped;
  std::size_t index = first;
  while (tokens_[index].is("alignas") || tokens_[index].is("__attribute__") || tokens_[index].is("static") ||
         tokens_[index].is("volatile") || attribute_end_.contains(index)) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index) + 1;
      continue;
    }
    const bool has_argument = tokens_[index + 1].is("(");
    const std::size_t last = has_argument ? tokens_.closing(index + 1) : index;
    if (tokens_[index].is("alignas")) alignment = tokens_.text(index + 2, last);
    for (; index <= last; ++index) dropped.push_back(index);
  }
  if (!tokens_[index].is("threadgroup") || tokens_[index].replacement) return false;

  // Find the declarators, and whether they are variables rather than pointers or references.
  const std::size_t end = tokens_.semicolon(index);
  struct Declarator {
    std::size_t name = 0;
    std::size_t last = 0;
  };
  std::vector<Declarator> declarators;
  std::size_t name = 0;
  std::size_t last = index;
  for (std::size_t position = index + 1; position <= end; ++position) {
    const Token& token = tokens_[position];
    if (attribute_end_.contains(position)) {
      position = attribute_end_.at(position);
    } else if (token.is("*") || token.is("&")) {
      return false;
    } else if (token.is("=")) {
      if (tokens_[position - 1].kind == TokenKind::identifier && name != 0)
        tokens_.fail(position, fmt::format("threadgroup variable '{}' has an initialiser, which Metal does not allow", tokens_[name].text));
      return false;
    } else if (token.is("(")) {
      return false;
    } else if (token.is("__attribute__") || token.is("alignas")) {
      const std::size_t close = tokens_.closing(position + 1);
      if (token.is("alignas")) alignment = tokens_.text(position + 2, close);
      for (; position <= close; ++position) dropped.push_back(position);
      --position;
    } else if (token.is("<")) {
      const auto close = tokens_.closing_angle(position);
      if (!close) return false;
      position = last = *close;
    } else if (token.is("[")) {
      position = last = tokens_.closing(position);
    } else if (token.is("{")) {
      position = last = tokens_.closing(position);
    } else if (token.is(",") || token.is(";")) {
      if (name == 0) return false;
      declarators.push_back({name, last});
    } else if (token.kind == TokenKind::identifier) {
      name = last = position;
    }
  }
  for (const auto drop : dropped) tokens_.remove(drop, drop);
  tokens_[index].replacement = "__local";
  for (const auto& declarator : declarators) {
    tokens_[declarator.name].replacement = fmt::format("(&{})", tokens_[declarator.name].text);
    tokens_[declarator.last].after += fmt::format(" = __assay::threadgroup_variable<{}, {}>()", threadgroup_variables_++, alignment);
  }
  return true;
}

// Words that qualify a type are followed by a type or a pointer operator; a name is followed by what continues an expression.
bool Translator::used_as_name(std::size_t index) const {
  const Token& next = tokens_[index + 1];
  if (index > 0 && (tokens_[index - 1].is(".") || tokens_[index - 1].is("->"))) return true;
  static constexpr std::array<std::string_view, 22> kContinuations = {
      "=", ";", "[", ".", "->", "+", "-", "/", "%", "+=", "-=", "*=", "/=", "==", "!=", "<=", ">=", "++", "--", "?", "||", "!"};
  if (std::find(kContinuations.begin(), kContinuations.end(), next.text) != kContinuations.end())
    return !(next.is("[") && tokens_.attributes_at(index + 1));
  // `, device)`, `(thread)`: a lone word in an argument list, unless it follows a type as in `(float device *)`.
  const bool ends_argument = next.is(")") || next.is(",");
  return ends_argument && index > 0 &&
         (tokens_[index - 1].is("(") || tokens_[index - 1].is(",") || tokens_[index - 1].kind == TokenKind::punctuation ||
          tokens_[index - 1].kind == TokenKind::identifier);
}

// `const thread T&`, `thread const T&`, `T const thread&`: the `&` comes before anything that ends the parameter. A base's
// `static_cast<const thread T*>(this)` names its own object, which may be such a temporary too.
bool Translator::may_name_temporary(std::size_t thread) const {
  bool is_const = thread > 0 && tokens_[thread - 1].is("const");
  for (std::size_t index = thread + 1; index < tokens_.size(); ++index) {
    const Token& token = tokens_[index];
    if (token.is("const")) is_const = true;
    if (token.is("&")) return is_const;
    if (token.is("*")) return is_const && tokens_[index + 1].is(">") && tokens_[index + 2].is("(") && tokens_[index + 3].is("this");
    if (token.is("<")) {
      const auto close = tokens_.closing_angle(index);
      if (!close) return false;
      index = *close;
    } else if (token.kind != TokenKind::identifier && !token.is("::")) {
      return false;
    }
  }
  return false;
}

void Translator::replace_words() {
  for (std::size_t index = 0; index < tokens_.size(); ++index) {
    Token& token = tokens_[index];
    if (token.kind == TokenKind::number && !token.replacement) token.replacement = literal_for_opencl(token.text);
    if (token.kind != TokenKind::identifier || token.replacement) continue;
    if (is_space_word(token) || token.is("kernel")) {
      if (used_as_name(index)) {
        token.replacement = fmt::format("assay_name_{}", token.text);
      } else if (token.is("device")) {
        token.replacement = kDevice;
      } else if (token.is("constant")) {
        token.replacement = kConstant;
      } else if (token.is("thread")) {
        token.replacement = "__private";
        if (may_name_temporary(index)) result_.const_thread_words_.push_back(index);
      } else if (token.is("threadgroup")) {
        token.replacement = "__local";
      } else {
        token.replacement = "inline";
      }
    } else if (token.is("restrict")) {
      token.replacement = "__restrict";
    } else if (std::find(kReserved.begin(), kReserved.end(), token.text) != kReserved.end()) {
      token.replacement = fmt::format("assay_name_{}", token.text);
    }
  }
}

}  // namespace assay::metal::translate

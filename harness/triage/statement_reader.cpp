// Recognises the statements of functions in the tokens of a source.
#include "harness/triage/statement_reader.h"

#include <algorithm>
#include <array>

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, 11> kAssignments = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
constexpr std::array<std::string_view, 8> kNoTypes = {"return", "else", "case", "goto", "break", "continue", "delete", "throw"};
constexpr std::array<std::string_view, 4> kHeads = {"for", "if", "while", "switch"};

}  // namespace

const SourceToken& StatementReader::at(std::size_t i) const {
  static const SourceToken end;
  return i < tokens_.size() ? tokens_[i] : end;
}

std::size_t StatementReader::step(std::size_t i) const {
  const SourceToken& token = at(i);
  const bool opens = token.is("(") || token.is("[") || token.is("{") || (token.is_angle && token.is("<"));
  return opens && token.match > i ? token.match + 1 : i + 1;
}

std::size_t StatementReader::end_of_statement(std::size_t i) const {
  while (i < tokens_.size() && !at(i).is(";") && !at(i).is("}")) i = step(i);
  return std::min(i, tokens_.size());
}

std::size_t StatementReader::new_variable(std::string_view name) {
  slices_.variables_.push_back({});
  slices_.variables_.back().controls = controls_;
  slices_.variables_.back().name = name;
  scopes_.back()[name] = slices_.variables_.size() - 1;
  return slices_.variables_.size() - 1;
}

std::size_t StatementReader::variable(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  }
  slices_.variables_.push_back({});
  slices_.variables_.back().name = name;
  scopes_.front()[name] = slices_.variables_.size() - 1;
  return slices_.variables_.size() - 1;
}

// The parenthesis behind the name of a function, and perhaps its template arguments; 0 if there is none.
std::size_t StatementReader::call_of(std::size_t name) const {
  if (!at(name).is_identifier()) return 0;
  const std::size_t open = at(name + 1).is_angle && at(name + 1).match > name + 1 ? at(name + 1).match + 1 : name + 1;
  return at(open).is("(") ? open : 0;
}

void StatementReader::read() { read_namespace(0, tokens_.size()); }

// A brace behind a closing parenthesis begins a function; other braces are those of structs and namespaces, or of values.
void StatementReader::read_namespace(std::size_t first, std::size_t last) {
  std::size_t parameters = 0;
  bool has_parameters = false;
  for (std::size_t i = first; i < last;) {
    const SourceToken& token = at(i);
    if (token.is(";")) has_parameters = false;
    if (token.is("=")) {
      const std::size_t end = end_of_statement(i);
      std::size_t begin = i;
      while (begin > first && !at(begin - 1).is(";") && !at(begin - 1).is("}")) --begin;
      add(begin, end);
      i = end;
      continue;
    }
    if (token.is("(") && !has_parameters) {
      has_parameters = true;
      parameters = i;
    }
    if (token.is("{")) {
      if (has_parameters && parameters > 0) {
        read_function(parameters - 1, parameters, i);
      } else {
        read_namespace(i + 1, token.match);
      }
      has_parameters = false;
    }
    i = step(i);
  }
}

void StatementReader::read_function(std::size_t name, std::size_t open, std::size_t body) {
  slices_.functions_.push_back(at(name).text);
  function_ = slices_.functions_.size() - 1;
  scopes_.emplace_back();
  read_parameters(open + 1, at(open).match);
  read_block(body + 1, at(body).match);
  scopes_.pop_back();
  function_ = 0;
}

void StatementReader::read_parameters(std::size_t first, std::size_t last) {
  std::size_t name = last;
  bool is_pointer = false;
  bool is_threadgroup = false;
  for (std::size_t i = first; i <= last; i = step(i)) {
    is_pointer = is_pointer || at(i).is("*");
    is_threadgroup = is_threadgroup || at(i).is("threadgroup");
    if (i == last || at(i).is(",")) {
      if (name < last) {
        const std::size_t made = new_variable(at(name).text);
        slices_.variables_[made] = {at(name).text, function_, is_pointer, {}, at(name).text};
        if (is_threadgroup) slices_.threadgroup_.insert(at(name).text);
      }
      name = last;
      is_pointer = false;
      is_threadgroup = false;
    } else if (at(i).is_identifier()) {
      name = i;
    }
  }
}

void StatementReader::read_block(std::size_t first, std::size_t last) {
  scopes_.emplace_back();
  const std::size_t controls = controls_.size();
  const bool was_excluded = is_excluded_;
  for (std::size_t i = first; i < last;) i = read_statement(i, last);
  is_excluded_ = was_excluded;
  controls_.resize(controls);
  scopes_.pop_back();
}

bool StatementReader::jumps(std::size_t first, std::size_t last) const {
  for (std::size_t i = first; i < last; ++i) {
    if (among(kJumps, at(i).text)) return true;
  }
  return false;
}

bool StatementReader::always_jumps(std::size_t first, std::size_t last) const {
  if (at(first).is("{")) return always_jumps(first + 1, std::min(at(first).match, last));
  for (std::size_t i = first; i < last; i = end_of_statement(i) + 1) {
    if (among(kJumps, at(i).text)) return true;
    if (among(kHeads, at(i).text)) return false;
  }
  return false;
}

std::optional<bool> StatementReader::decided(std::size_t first, std::size_t last) const {
  if (constants_.empty()) return std::nullopt;
  return known_condition(tokens_, first, last, [&](std::string_view name) -> std::optional<std::int64_t> {
    const bool is_hidden = std::any_of(scopes_.begin() + 1, scopes_.end(), [&](const auto& scope) { return scope.contains(name); });
    const auto found = constants_.find(name);
    return is_hidden || found == constants_.end() ? std::nullopt : std::optional(found->second);
  });
}

std::size_t StatementReader::read_statement(std::size_t i, std::size_t last) {
  const SourceToken& token = at(i);
  if (token.is("{")) {
    read_block(i + 1, token.match);
    return token.match + 1;
  }
  const bool is_constant = token.is("if") && at(i + 1).is("constexpr");
  if (among(kHeads, token.text) && at(is_constant ? i + 2 : i + 1).is("(")) return read_controlled(i, last);
  if (token.is("else") || token.is("do")) return i + 1;
  const std::size_t end = std::min(end_of_statement(i), last);
  if (end > i) add(i, end);
  return end + 1;
}

std::size_t StatementReader::read_controlled(std::size_t i, std::size_t last) {
  scopes_.emplace_back();
  const std::size_t open = at(i + 1).is("(") ? i + 1 : i + 2;
  const std::size_t close = at(open).match;
  const std::size_t head = add(open + 1, close);
  if (!is_excluded_) {
    slices_.statements_[head].is_loop = at(i).is("for") || at(i).is("while");
    slices_.statements_[head].first_line = source_.place(at(i).offset).line;
  }
  const bool is_if = at(i).is("if");
  const std::optional<bool> is_met = is_if ? decided(open + 1, close) : std::nullopt;
  const bool was_excluded = is_excluded_;
  controls_.push_back(head);
  const std::size_t body = close + 1;
  is_excluded_ = was_excluded || is_met == false;
  std::size_t end = read_statement(body, last);
  const bool ends_block = is_met == true && always_jumps(body, end);
  is_excluded_ = was_excluded || is_met == true;
  while (is_if && at(end).is("else")) end = read_statement(end + 1, last);
  is_excluded_ = was_excluded || ends_block;
  controls_.pop_back();
  scopes_.pop_back();
  // What follows a jump depends on its condition too.
  if (is_if && !is_met && jumps(body, end)) controls_.push_back(head);
  return end;
}

std::size_t StatementReader::declared(std::size_t first, std::size_t last) const {
  std::size_t words = 0, name = last;
  for (std::size_t i = first; i < last; i = step(i)) {
    const SourceToken& token = at(i);
    if (token.is_identifier()) {
      if (among(kNoTypes, token.text)) return last;
      ++words;
      name = i;
    } else if (token.is("*") || token.is("&") || token.is("::") || (token.is_angle && token.is("<"))) {
      if (words == 0) return last;
    } else {
      const bool ends = token.is("=") || token.is("[") || token.is("(") || token.is("{") || token.is(",");
      return ends && words > 1 && name + 1 == i && !at(name - 1).is("::") ? name : last;
    }
  }
  return words > 1 && name + 1 == last ? name : last;
}

void StatementReader::define(Statement& statement, std::size_t variable) {
  statement.defines.push_back(variable);
  for (auto found = aliases_.find(variable); found != aliases_.end(); found = aliases_.find(found->second)) {
    if (std::ranges::find(statement.defines, found->second) != statement.defines.end()) break;
    statement.defines.push_back(found->second);
  }
}

void StatementReader::declare(Statement& statement, std::size_t name, std::size_t first, std::size_t last) {
  read_uses(statement, name + 1, last);
  const bool is_pointer =
      std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(first), tokens_.begin() + static_cast<std::ptrdiff_t>(name),
                  [](const SourceToken& token) { return token.is("*") || token.is("&"); });
  const std::vector<std::size_t> uses = statement.uses;
  const std::size_t made = new_variable(at(name).text);
  statement.defines.push_back(made);
  slices_.variables_[made].is_pointer = is_pointer;
  if (is_pointer && !uses.empty() && at(name + 1).is("=")) aliases_[made] = uses.front();
  const auto pointer = std::ranges::find_if(uses, [&](std::size_t used) { return slices_.variables_[used].is_pointer; });
  if (is_pointer && pointer != uses.end()) slices_.variables_[made].within = *pointer;
  // Of no pointer, but of an array: `= stage + ...` or `= &stage[...]`.
  const std::size_t of = at(name + 2).is("&") ? name + 3 : name + 2;
  if (is_pointer && pointer == uses.end() && !uses.empty() && at(of).text == slices_.variables_[uses.front()].name)
    slices_.variables_[made].within = uses.front();
  if (at(first).is("threadgroup")) slices_.threadgroup_.insert(at(name).text);
  // Further names of the same declaration.
  for (std::size_t i = name + 1; i < last; i = step(i)) {
    if (at(i).is(",") && at(i + 1).is_identifier()) statement.defines.push_back(new_variable(at(i + 1).text));
  }
}

// A function may write through its arguments.
void StatementReader::define_arguments(Statement& statement, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const bool begins = at(i - 1).is("(") || at(i - 1).is(",") || at(i - 1).is("&");
    if (begins && at(i).is_identifier() && !at(i + 1).is("(")) define(statement, variable(at(i).text));
    statement.stores = statement.defines;
  }
}

void StatementReader::read_uses(Statement& statement, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    if (!at(i).is_identifier()) continue;
    if (i > 0 && at(i - 1).is("::")) continue;
    const bool is_member = i > 0 && (at(i - 1).is(".") || at(i - 1).is("->"));
    if (call_of(i) != 0) {
      statement.calls.push_back(at(i).text);
    } else if (!is_member) {
      const std::size_t used = variable(at(i).text);
      statement.uses.push_back(used);
      read_access(statement, used, i, last);
      if (at(i + 1).is("[") && slices_.variables_[used].is_pointer) {
        statement.bases.push_back(used);
        for (std::size_t j = i + 2; j < at(i + 1).match; ++j) {
          if (at(j).is_identifier() && !at(j - 1).is(".") && !at(j + 1).is("(")) statement.indices.push_back(variable(at(j).text));
        }
      }
    }
  }
}

// An index, or what is added to a pointer.
void StatementReader::read_access(Statement& statement, std::size_t base, std::size_t name, std::size_t last) {
  std::size_t end = name + 1;
  if (at(name + 1).is("[")) {
    end = at(name + 1).match;
  } else if (slices_.variables_[base].is_pointer && (at(name + 1).is("+") || at(name + 1).is("-"))) {
    while (end < last && !at(end).is(",") && !at(end).is(")")) end = step(end);
  } else {
    // What a function gets, it accesses.
    const bool is_argument = (at(name - 1).is("(") || at(name - 1).is(",")) && (at(name + 1).is(",") || at(name + 1).is(")"));
    if (slices_.variables_[base].is_pointer && is_argument && name > 0) statement.accesses.try_emplace(base);
    return;
  }
  std::vector<std::size_t>& deciding = statement.accesses[base];
  for (std::size_t i = name + 2; i < end; ++i) {
    if (at(i).is_identifier() && !at(i - 1).is(".") && !at(i + 1).is("(")) deciding.push_back(variable(at(i).text));
  }
}

std::size_t StatementReader::add(std::size_t first, std::size_t last) {
  const std::size_t index = slices_.statements_.size();
  slices_.statements_.emplace_back();
  if (is_excluded_) return index;
  Statement statement;
  statement.function = function_;
  statement.controls = controls_;
  if (first < last) {
    statement.first_line = source_.place(at(first).offset).line;
    statement.last_line = source_.place(at(last - 1).offset).line;
    std::size_t assignment = first;
    while (assignment < last && !among(kAssignments, at(assignment).text)) assignment = step(assignment);
    if (const std::size_t name = declared(first, last); name < last) {
      declare(statement, name, first, last);
    } else if (assignment < last) {
      read_uses(statement, first, last);
      std::size_t base = first;
      while (base < assignment && !at(base).is_identifier()) ++base;
      if (base < assignment) define(statement, variable(at(base).text));
      if (at(base + 1).is("[") || (base > first && at(base - 1).is("*"))) statement.stores = statement.defines;
    } else {
      read_uses(statement, first, last);
      // A method may change what it belongs to.
      const bool is_method = at(first).is_identifier() && at(first + 1).is(".") && call_of(first + 2) != 0;
      if (const std::size_t open = call_of(is_method ? first + 2 : first); open != 0) define_arguments(statement, open + 1, last);
      if (is_method) define(statement, variable(at(first).text));
    }
    for (std::size_t i = first; i < last; ++i) {
      if (!at(i).is("++") && !at(i).is("--")) continue;
      const std::size_t name = at(i + 1).is_identifier() ? i + 1 : i - 1;
      if (at(name).is_identifier()) define(statement, variable(at(name).text));
    }
  }
  slices_.statements_[index] = std::move(statement);
  return index;
}

}  // namespace assay::harness

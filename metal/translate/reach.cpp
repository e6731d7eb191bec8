// Finds the declarations that a kernel depends on, by name. They cannot be left out without changing what the kernel means.
#include <algorithm>
#include <array>
#include <map>

#include "metal/translate/translation.h"

namespace assay::metal::translate {

namespace {

// Declarations that take effect without being named: operators, assertions, and unnamed ones.
constexpr std::array<std::string_view, 3> kAlwaysReached = {"operator", "static_assert", ""};

class Head {
 public:
  Head(const std::vector<Token>& tokens, std::size_t first, std::size_t last) : tokens_(tokens), index_(first), last_(last) {}

  // The names that the declaration declares. A specialisation declares the name of its template.
  std::vector<std::string_view> names() {
    skip_decorations();
    if (index_ > last_) return {""};
    const Token& token = tokens_[index_];
    if (token.is("static_assert")) return {token.text};
    if (token.is("using")) return {has("=", 2) ? tokens_[index_ + 1].text : last_identifier()};
    if (token.is("typedef")) return {last_identifier()};
    if (token.is("struct") || token.is("class") || token.is("union") || token.is("enum")) return {name_of_type()};
    return names_of_function_or_variables();
  }

  bool is_among(const std::set<std::string, std::less<>>& reached) {
    const auto all = names();
    return std::any_of(all.begin(), all.end(), [&](std::string_view name) { return reached.contains(name); });
  }

 private:
  [[nodiscard]] bool has(std::string_view text, std::size_t ahead) const {
    return index_ + ahead <= last_ && tokens_[index_ + ahead].is(text);
  }

  void skip_brackets() {
    int depth = 0;
    for (; index_ <= last_; ++index_) {
      if (opens(tokens_[index_])) ++depth;
      if (closes(tokens_[index_]) && --depth == 0) break;
    }
    ++index_;
  }

  // Skips a template argument list.
  void skip_angles() {
    int depth = 0;
    for (; index_ <= last_; ++index_) {
      if (opens(tokens_[index_])) {
        skip_brackets();
        --index_;
      } else if (tokens_[index_].is("<")) {
        ++depth;
      } else if (tokens_[index_].is(">") && --depth == 0) {
        break;
      }
    }
    ++index_;
  }

  // Skips attributes and template parameters.
  void skip_decorations() {
    for (;;) {
      if (index_ > last_) return;
      if (tokens_[index_].is("[")) {
        skip_brackets();
      } else if ((tokens_[index_].is("__attribute__") || tokens_[index_].is("alignas") || tokens_[index_].is("decltype")) && has("(", 1)) {
        ++index_;
        skip_brackets();
      } else if (tokens_[index_].is("template") && has("<", 1)) {
        ++index_;
        skip_angles();
      } else {
        return;
      }
    }
  }

  std::string_view last_identifier() const {
    for (std::size_t index = last_ + 1; index-- > index_;) {
      if (tokens_[index].kind == TokenKind::identifier) return tokens_[index].text;
    }
    return {};
  }

  std::string_view name_of_type() {
    const bool is_enumeration = tokens_[index_++].is("enum");
    if (is_enumeration && (has("class", 0) || has("struct", 0))) ++index_;
    skip_decorations();
    return index_ <= last_ && tokens_[index_].kind == TokenKind::identifier ? tokens_[index_].text : std::string_view();
  }

  // `int f(`, `int a = 1, b [[attribute]];`
  std::vector<std::string_view> names_of_function_or_variables() {
    std::vector<std::string_view> names = {""};
    while (index_ <= last_) {
      skip_decorations();
      if (index_ > last_) break;
      const Token& token = tokens_[index_];
      if (token.is("operator")) return {token.text};
      if (token.is("(") || token.is("{")) break;
      if (token.is("=")) skip_initializer();
      if (index_ <= last_ && tokens_[index_].is(",")) names.emplace_back();
      if (token.kind == TokenKind::identifier) names.back() = token.text;
      if (token.is("<") && !names.back().empty()) {
        skip_angles();
      } else {
        ++index_;
      }
    }
    return names;
  }

  void skip_initializer() {
    while (index_ <= last_ && !tokens_[index_].is(",") && !tokens_[index_].is(";")) {
      if (opens(tokens_[index_])) {
        skip_brackets();
      } else {
        ++index_;
      }
    }
  }

  const std::vector<Token>& tokens_;
  std::size_t index_;
  std::size_t last_;
};

}  // namespace

std::set<std::string, std::less<>> Translation::reached_by(const Kernel& kernel) const {
  std::multimap<std::string_view, std::size_t> by_name;
  for (std::size_t number = 0; number < declarations_.size(); ++number) {
    const auto& [first, last] = declarations_[number];
    for (const auto name : Head(stream_.tokens, first, last).names()) by_name.emplace(name, number);
  }
  std::set<std::string, std::less<>> reached;
  std::vector<std::string> open(kAlwaysReached.begin(), kAlwaysReached.end());
  const auto add_text = [&open](const std::string& text) {
    for (const auto& token : tokenize(text, "").tokens) {
      if (token.kind == TokenKind::identifier) open.emplace_back(token.text);
    }
  };
  add_text(kernel.callee);
  for (const auto& parameter : kernel.parameters) {
    add_text(parameter.type);
    add_text(parameter.condition);
  }
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!reached.insert(name).second) continue;
    for (auto [at, end] = by_name.equal_range(name); at != end; ++at) {
      const auto& [first, last] = declarations_[at->second];
      for (std::size_t index = first; index <= last; ++index) {
        const Token& token = stream_.tokens[index];
        if (token.kind == TokenKind::identifier && !reached.contains(token.text)) open.emplace_back(token.text);
      }
    }
  }
  return reached;
}

void Translation::keep_reached(const Kernel& kernel, Repairs& repairs) const {
  if (repairs.declarations.empty()) return;
  const auto reached = reached_by(kernel);
  std::erase_if(repairs.declarations, [&](std::size_t number) {
    const auto& [first, last] = declarations_[number];
    if (!Head(stream_.tokens, first, last).is_among(reached)) return false;
    std::erase_if(repairs.bodies,
                  [&, begin = first, end = last](std::size_t body) { return bodies_[body].first >= begin && bodies_[body].last <= end; });
    return true;
  });
}

const Refusal* Translation::refusal_reached_by(const Kernel& kernel) const {
  if (std::all_of(refusals_.begin(), refusals_.end(), [](const Refusal& refusal) { return refusal.is_kernel; })) return nullptr;
  const auto reached = reached_by(kernel);
  const auto found = std::find_if(refusals_.begin(), refusals_.end(), [&](const Refusal& refusal) {
    return !refusal.is_kernel && Head(stream_.tokens, refusal.first_token, refusal.last_token).is_among(reached);
  });
  return found == refusals_.end() ? nullptr : &*found;
}

}  // namespace assay::metal::translate

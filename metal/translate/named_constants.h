// The integers of a file that have a name and a value at compile time: enumerators, `constexpr` and `constant` variables of namespaces,
// static members of types.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metal/translate/constant_expression.h"
#include "metal/translate/cursor.h"

namespace assay::metal::translate {

// The accepted forms of a number in an attribute, for messages.
inline constexpr std::string_view kAcceptedConstants =
    "it is made of integer literals, enumerators and constexpr or constant integers of namespaces and types (with values of the same "
    "kind, declared before), casts between integer types, and operators";

// Expressions that only the compiler can evaluate: calls of constexpr functions, sizeof, members of template specialisations. A first
// translation collects them, a second one uses the answers.
struct ConstantQuestions {
  struct Question {
    std::string scope;       // empty, or ends in `::`
    std::string expression;  // as in the source
    friend auto operator<=>(const Question&, const Question&) = default;
  };
  std::vector<Question> open;
  std::map<Question, std::optional<std::int64_t>> answers;  // empty: the expression has no value
};

class NamedConstants {
 public:
  // Without `questions`, only expressions made of kAcceptedConstants have a value.
  explicit NamedConstants(const Cursor& tokens, ConstantQuestions* questions = nullptr) : tokens_(tokens), questions_(questions) {}

  // Reads the declarations of the whole file. Skips everything that is not a named integer constant.
  void collect();

  // Whether values are missing that the compiler may supply. A source rejected because of them may still be correct.
  [[nodiscard]] bool is_asking() const { return questions_ != nullptr && !questions_->open.empty(); }

  // The value of the tokens [first, last) in `scope`, which is empty or ends in `::`. Nothing if they have no value.
  [[nodiscard]] std::optional<std::int64_t> value(std::size_t first, std::size_t last, const std::string& scope) const;

  // The compiler's value of an expression in `scope`: 0 until the compiler has answered; nothing if it cannot be asked or the
  // expression has no value.
  [[nodiscard]] std::optional<std::int64_t> ask(std::string expression, const std::string& scope) const;

 private:
  [[nodiscard]] ConstantNames names_in(const std::string& scope) const;
  template <typename Entry>
  [[nodiscard]] std::optional<Entry> find(const std::map<std::string, Entry>& table, const std::string& name,
                                          const std::string& scope) const;

  void read_scope(std::size_t first, std::size_t last, const std::string& scope);
  // Each function reads the construct at `first` and returns the token after it.
  std::size_t read_declaration(std::size_t first, std::size_t last, const std::string& scope);
  std::size_t read_namespace(std::size_t keyword, std::size_t last, const std::string& scope);
  std::size_t read_using(std::size_t keyword, std::size_t last, const std::string& scope);
  std::size_t read_enumeration(std::size_t keyword, std::size_t last, const std::string& scope);
  std::size_t read_type(std::size_t keyword, std::size_t last, const std::string& scope);
  std::size_t read_variables(std::size_t first, std::size_t last, const std::string& scope);
  void read_enumerators(std::size_t open, IntegerType type, const std::vector<std::string>& scopes);
  // `type` is the range of its tokens, including specifiers.
  void read_variable(std::pair<std::size_t, std::size_t> type, std::size_t name, std::size_t end, const std::string& scope);

  void require_short(std::size_t index, std::size_t characters) const;
  [[nodiscard]] std::size_t past_attributes(std::size_t index) const;
  [[nodiscard]] std::size_t next_of(std::size_t first, std::size_t last, std::string_view one, std::string_view other) const;

  const Cursor& tokens_;
  ConstantQuestions* questions_;
  std::map<std::string, Integer> values_;  // by qualified name
  std::map<std::string, IntegerType> types_;
  std::vector<std::pair<std::string, std::string>> directives_;  // `using namespace`: the scope that contains it, and the namespace
};

}  // namespace assay::metal::translate

// The single walk over the tokens that translates a file. Internal to this folder.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/errors.h"
#include "metal/translate/cursor.h"
#include "metal/translate/named_constants.h"
#include "metal/translate/translation.h"

namespace assay::metal::translate {

class Translator {
 public:
  explicit Translator(TokenStream stream, ConstantQuestions* questions = nullptr);
  Translation run();

 private:
  // What a pair of braces encloses.
  enum class Scope { name_space, type, function, constexpr_function, block, initializer };
  // A member function that may become equal to one of another address space.
  struct Member {
    std::string text;  // its whole text, without address spaces
    int rank = 0;      // decides which of several equal members stays
    std::size_t first = 0;
    std::size_t last = 0;
  };
  struct Frame {
    Scope scope = Scope::name_space;
    std::string name;                 // of a namespace
    std::size_t outer_statement = 0;  // first token of the statement that contains the brace
    std::size_t brace = 0;
    // Members of a type, by their signature after the address spaces constant and device are merged.
    std::map<std::string, Member> members;
  };
  // The definition or declaration of a kernel function. Instantiations take the attributes of their parameters from it.
  struct Primary {
    std::string name;
    std::vector<Parameter> parameters;
    std::uint32_t max_total_threads = 1024;
    bool is_specialization = false;
    std::string index_function;  // of a template whose parameters decide indices: declared beside it to ask the compiler for them
  };

  // ---- unclosed.cpp
  void close_unclosed();
  [[nodiscard]] bool begins_outside(std::size_t first, bool in_type) const;
  [[nodiscard]] bool begins_namespace(std::size_t first, std::size_t brace) const;
  [[nodiscard]] bool is_type(std::size_t first, std::size_t brace) const;
  std::size_t insert_closing(std::size_t index, const std::vector<std::size_t>& open);
  void require_closed(std::size_t first) const;

  // ---- translator.cpp: scopes, statements, words
  void strip_attributes();
  [[nodiscard]] std::optional<std::size_t> coherence_end(std::size_t index) const;
  void walk();
  std::size_t step(std::size_t index, bool& at_start);
  void open_brace(std::size_t index);
  void close_brace(std::size_t index);
  [[nodiscard]] Scope classify(std::size_t brace, std::string& name) const;
  [[nodiscard]] bool head_has_function(std::size_t first, std::size_t brace) const;
  [[nodiscard]] bool inside_function() const;
  [[nodiscard]] bool inside_constexpr_function() const;
  [[nodiscard]] bool at_namespace() const;
  void rewrite_conditional(std::size_t question_mark);
  void mark_loop(std::size_t keyword);

  // ---- words.cpp
  void replace_words();
  [[nodiscard]] static std::string unreserved(std::string_view name);
  [[nodiscard]] bool may_name_temporary(std::size_t thread) const;
  [[nodiscard]] bool repeats_space(std::size_t thread) const;
  [[nodiscard]] bool used_as_name(std::size_t index) const;

  // ---- threadgroup_variables.cpp
  // A variable of a declaration, by its tokens.
  struct Declarator {
    std::size_t name = 0;
    std::size_t last = 0;
    std::size_t initializer = 0;  // its first token; 0: none
  };
  std::optional<std::vector<Declarator>> declarators_of(std::size_t index, std::size_t end, std::string& alignment,
                                                        std::vector<std::size_t>& dropped);
  bool rewrite_threadgroup_variable(std::size_t first);
  [[nodiscard]] bool defines_type(std::size_t brace) const;
  [[nodiscard]] std::size_t initializer_end(std::size_t first) const;

  // ---- callables.cpp
  void collect_callable_names();
  void rewrite_template_parameters(std::size_t keyword);
  void name_callables(std::size_t open);

  // ---- assignments.cpp
  [[nodiscard]] static bool is_compound_assignment(const Token& token);
  void rewrite_assignment(std::size_t assignment);
  [[nodiscard]] bool inside_template() const;
  [[nodiscard]] std::optional<std::size_t> operand_start(std::size_t last) const;
  [[nodiscard]] std::size_t value_end(std::size_t first) const;

  // ---- texts.cpp
  void place_text(std::size_t first);
  [[nodiscard]] std::string table_of(std::string_view literal);
  [[nodiscard]] bool ends_in_suffix(std::size_t literal) const;

  // ---- literal_operators.cpp
  void collect_literal_operators();
  void place_digits(std::size_t number);
  [[nodiscard]] bool may_be_placed(std::size_t literal) const;
  [[nodiscard]] bool declares_pointers(std::size_t index) const;

  // ---- declarations.cpp
  void end_declaration(std::size_t last);
  void note(std::size_t token, std::string text);
  [[nodiscard]] std::size_t declaration_end(std::size_t first) const;
  std::size_t refuse_declaration(const CompileError& error);
  [[nodiscard]] const Refusal& first_refusal() const;
  void drop(std::size_t first, std::size_t last);
  void forget_dropped();

  // ---- members.cpp
  void rewrite_member_qualifiers(std::size_t close_parenthesis);
  void note_unqualified_member(std::size_t close_parenthesis, std::size_t end);
  [[nodiscard]] bool names_constructor(std::size_t close_parenthesis) const;
  void keep_one_constructor(std::size_t close_parenthesis, std::size_t end);
  [[nodiscard]] std::string signature_of(std::size_t close_parenthesis) const;
  [[nodiscard]] std::size_t behind_templates() const;
  bool keep_one(const std::string& signature, std::size_t end, int rank, bool only_one_counts);
  void drop_member(std::size_t last);
  [[nodiscard]] std::size_t member_end(std::size_t end) const;

  // ---- function_constants.cpp
  // Returns the next token if the statement at `first` declares function constants, else `first`.
  std::size_t function_constant(std::size_t first);
  [[nodiscard]] FunctionConstantType shape_of_constant(std::size_t name, const std::string& type) const;
  void defined_query(std::size_t index);

  // ---- kernels.cpp: entry points
  // Each returns the next token if it has handled the statement at `first`, else `first`.
  std::size_t explicit_instantiation(std::size_t first);
  std::size_t kernel_function(std::size_t first);
  struct Attributes {
    std::string host_name;
    bool kernel = false;
    bool graphics = false;
    std::uint32_t max_total_threads = 1024;
    std::string max_total_threads_expression;  // if the compiler must compute it
  };
  [[nodiscard]] Attributes attributes_in(std::size_t first, std::size_t last, bool is_template) const;
  void add_kernel(Kernel kernel);
  [[nodiscard]] std::string qualified(std::string_view name) const;
  [[nodiscard]] static std::string_view unqualified(std::string_view callee);
  void require_void(std::size_t first, std::size_t name) const;
  void declare_indices(Primary& primary, std::size_t first, std::size_t header, std::size_t end);
  void resolve_indices(Kernel& kernel, const Primary& primary, const std::vector<Parameter>* signature, std::size_t first) const;
  [[nodiscard]] const Primary* primary_of(std::string_view callee, std::size_t parameter_count, bool count_known) const;

  // ---- arguments.cpp: arguments of entry points
  // An instantiation repeats only the types of a kernel's arguments. The kernel itself says what they stand for.
  enum class Signature { of_kernel, of_instantiation };
  [[nodiscard]] std::vector<Parameter> parameters(std::size_t first, std::size_t last, Signature signature);
  [[nodiscard]] Parameter parameter(std::size_t first, std::size_t last, Signature signature);
  // The type of a parameter as written, without its name and attributes. `array`: the first bracket of `T x[]`, or `last`.
  [[nodiscard]] std::string parameter_type(std::size_t first, std::size_t last, std::size_t name, std::size_t array) const;
  // `first` and `label` identify the parameter in messages.
  void require_supported_kind(std::size_t first, std::size_t last, std::size_t name, std::string_view label) const;
  void apply_attributes(Parameter& parameter, std::span<const AttributeList* const> lists, std::size_t first, std::string_view label);
  [[nodiscard]] std::uint32_t checked_index(std::size_t place, std::string_view label, std::string_view written,
                                            std::optional<std::int64_t> index) const;
  [[nodiscard]] std::size_t parameter_name(std::size_t first, std::size_t last) const;
  void assign_indices(std::vector<Parameter>& parameters, std::size_t first) const;

  Translation result_;
  Cursor tokens_;
  NamedConstants constants_;
  std::vector<AttributeList> attributes_;             // all of the file, in order
  std::map<std::size_t, std::size_t> attribute_end_;  // first bracket -> last bracket
  std::vector<Frame> frames_;
  std::vector<Primary> primaries_;
  std::set<std::size_t> loop_tails_;                   // the `while` of a do statement
  std::set<std::string, std::less<>> callable_names_;  // aliases of pointers to functions
  std::set<std::string, std::less<>> takers_;          // templates with a parameter that is a function
  std::size_t statement_ = 0;                          // first token of the current statement
  std::size_t declaration_ = 0;                        // first token of the current declaration of a namespace
  bool declaration_is_open_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> dropped_;  // first and last tokens of removed parts
  std::set<std::string_view> template_words_;    // template parameters, among others, of the kernel template whose arguments are being read
  std::map<std::size_t, std::size_t> unclosed_;  // the bracket that is never closed, by the first token of its declaration
  unsigned index_functions_ = 0;
  // The parameter types of the file's literal operators, by suffix.
  struct LiteralOperators {
    bool cooked_integer = false;
    bool cooked_floating = false;
    bool raw = false;
  };
  std::map<std::string_view, LiteralOperators> literal_operators_;
  std::set<std::size_t> literal_doubles_;  // the `double` of a literal operator's `long double`
  unsigned threadgroup_variables_ = 0;
  unsigned texts_ = 0;
};

}  // namespace assay::metal::translate

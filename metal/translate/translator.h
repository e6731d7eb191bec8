// The translation's one walk over the tokens. Internal to this folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "metal/translate/cursor.h"
#include "metal/translate/named_constants.h"
#include "metal/translate/translation.h"

namespace assay::metal::translate {

class Translator {
 public:
  explicit Translator(TokenStream stream);
  Translation run();

 private:
  // What a pair of braces encloses.
  enum class Scope { name_space, type, function, constexpr_function, block, initializer };
  struct Frame {
    Scope scope = Scope::name_space;
    std::string name;                 // of a namespace
    std::size_t outer_statement = 0;  // first token of the statement that the brace stands in
    // What was seen in a type, by its signature with the address spaces constant and device made equal; the whole text, without them.
    std::map<std::string, std::string> members;
  };
  // A kernel function's definition or declaration; instantiations look their parameters' attributes up here.
  struct Primary {
    std::string name;
    std::vector<Parameter> parameters;
    std::uint32_t max_total_threads = 1024;
  };

  // ---- translator.cpp: scopes, statements, words
  void strip_attributes();
  void walk();
  void begin_statement(std::size_t index);
  void open_brace(std::size_t index);
  void close_brace(std::size_t index);
  [[nodiscard]] Scope classify(std::size_t brace, std::string& name) const;
  [[nodiscard]] bool head_has_function(std::size_t first, std::size_t brace) const;
  [[nodiscard]] bool inside_function() const;
  void rewrite_template_parameters(std::size_t keyword);
  void rewrite_conditional(std::size_t question_mark);
  void mark_loop(std::size_t keyword);
  bool rewrite_threadgroup_variable(std::size_t first);
  void replace_words();
  [[nodiscard]] bool may_name_temporary(std::size_t thread) const;
  [[nodiscard]] bool used_as_name(std::size_t index) const;

  // ---- members.cpp
  void rewrite_member_qualifiers(std::size_t close_parenthesis);
  void note_unqualified_member(std::size_t close_parenthesis, std::size_t end);
  [[nodiscard]] bool names_constructor(std::size_t close_parenthesis) const;
  bool first_of_its_signature(const std::string& signature, std::size_t end);
  void drop_member(std::size_t last);
  [[nodiscard]] std::size_t member_end(std::size_t end) const;
  void place_returned_in_device(std::size_t close_parenthesis, std::size_t brace);
  void place_locals_in_device(std::size_t brace);

  // ---- constexpr_functions.cpp
  [[nodiscard]] bool inside_constexpr_function() const;
  void mark_recursion(std::size_t brace);

  // ---- casts.cpp: casts between scalars, which a pipeline may need another way
  void collect_type_names();
  void note_cast(std::size_t index);
  void note_functional_cast(std::size_t name);
  void note_c_cast(std::size_t open);
  void note_cast_of(std::string type, std::size_t first, std::size_t last);
  [[nodiscard]] bool inside_expressions() const;
  [[nodiscard]] std::size_t operand_end(std::size_t first) const;

  // ---- function_constants.cpp
  // The token to go on with if the statement at `first` declares function constants, else `first`.
  std::size_t function_constant(std::size_t first);
  void defined_query(std::size_t index);

  // ---- kernels.cpp: entry points
  // Each returns the token to go on with if it has dealt with the statement at `first`, else `first`.
  std::size_t explicit_instantiation(std::size_t first);
  std::size_t kernel_function(std::size_t first);
  struct Attributes {
    std::string host_name;
    bool kernel = false;
    bool graphics = false;
    std::uint32_t max_total_threads = 1024;
    std::string max_total_threads_expression;  // where the compiler must compute it
  };
  [[nodiscard]] Attributes attributes_in(std::size_t first, std::size_t last, bool is_template) const;
  void add_kernel(Kernel kernel);
  [[nodiscard]] std::string qualified(std::string_view name) const;
  [[nodiscard]] const Primary* primary_of(std::string_view callee, std::size_t parameter_count, bool count_known) const;

  // ---- arguments.cpp: what entry points take
  // An instantiation repeats a kernel's types; what the arguments stand for, only the kernel itself must say.
  enum class Signature { of_kernel, of_instantiation };
  [[nodiscard]] std::vector<Parameter> parameters(std::size_t first, std::size_t last, Signature signature);
  [[nodiscard]] Parameter parameter(std::size_t first, std::size_t last, Signature signature);
  [[nodiscard]] std::size_t parameter_name(std::size_t first, std::size_t last) const;
  void assign_indices(std::vector<Parameter>& parameters, std::size_t first) const;

  Translation result_;
  Cursor tokens_;
  NamedConstants constants_;
  std::vector<AttributeList> attributes_;             // all of the file, in order
  std::map<std::size_t, std::size_t> attribute_end_;  // first bracket -> last bracket
  std::vector<Frame> frames_;
  std::vector<Primary> primaries_;
  std::set<std::string, std::less<>> type_names_;  // that may be half or bfloat: the two, type parameters, aliases
  std::set<std::size_t> loop_tails_;               // the `while` of a do statement
  std::size_t statement_ = 0;                      // first token of the current statement
  unsigned threadgroup_variables_ = 0;
};

}  // namespace assay::metal::translate

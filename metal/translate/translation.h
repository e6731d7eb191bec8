// Translates Metal source to source that clang compiles as C++ for OpenCL, and describes its kernels to the host.
//
// Metal and C++ for OpenCL share their object model, including address spaces, so most of a file passes unchanged. Rewritten are
// attributes, entry points, function constants, explicit instantiations, threadgroup variables, address spaces of member functions,
// pointers to functions as template parameters, and words that only OpenCL reserves. Loop bodies get a marker that keeps an iteration
// recognisable in the compiled control flow (pass/).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/function_constant.h"
#include "metal/lane_abi.h"
#include "metal/translate/lexer.h"
#include "metal/translate/named_constants.h"

namespace assay::metal::translate {

// What a kernel's parameter stands for.
enum class Role { buffer, threadgroup, builtin };

struct Parameter {
  std::string name;
  std::string type;  // tokens without attributes and name
  Role role = Role::buffer;
  AddressSpace space = AddressSpace::device;  // of a buffer
  std::uint32_t index = 0;                    // of a buffer or threadgroup argument
  bool is_reference = false;
  abi::Builtin builtin = abi::kBuiltinCount;
  std::string dependent_index;  // in a template: the index expression, if template parameters decide it
  std::string condition;        // expression of a second attribute function_constant(...): the argument exists only if it is true
  std::uint32_t line = 0;
};

// A function that the host can name.
struct Kernel {
  std::string host_name;
  std::string callee;  // the expression to call, e.g. `attend<float, 4>`
  std::vector<Parameter> parameters;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t max_total_threads = 1024;
  std::size_t entry_token = 0;       // token before which the entry point is written
  std::size_t first_body_token = 0;  // of a kernel that is not a template, `{` to `}`; both 0 for an instantiation
  std::size_t last_body_token = 0;
  bool typed_arguments = false;  // the instantiation's signature selects the overload: arguments are cast to its types
};

struct FunctionConstantUse {
  std::string name;
  std::string type;
  FunctionConstantType shape;
  std::uint32_t index = 0;
  std::string file;
  std::uint32_t line = 0;
  std::size_t last_token = 0;  // of the declaration
};

// A declaration of the file that cannot be translated and is left out.
struct Refusal {
  std::string name;      // host name, if it is a kernel function
  std::string function;  // name in the source
  std::size_t first_token = 0;
  std::size_t last_token = 0;
  std::string reason;  // "<file>:<line>: error: ..."
  std::string file;
  std::uint32_t line = 0;
  bool is_kernel = false;
};

// A remark about the source that no check reports.
struct Note {
  std::string file;
  std::uint32_t line = 0;
  std::string text;
};

// Differences between a pipeline's source and the file, made because clang rejects valid Metal or because other parts of the file are
// wrong; see metal/compile/repair.h.
struct Repairs {
  std::set<std::size_t> bodies;        // numbers of functions that are declared as deleted; a call of one is an error
  std::set<std::size_t> declarations;  // numbers of declarations that are left out
  bool no_pragmas = false;             // leaves out hints for loops
  // Functions of metal/shader/entry.h that wrap expressions, by the first and last tokens of the expression.
  std::map<std::pair<std::size_t, std::size_t>, std::string> wrapped;
};

// A function of the source, or a declaration.
struct Part {
  std::string name;  // of a function; else "a declaration"
  std::string file;
  std::uint32_t line = 0, last_line = 0;
  bool is_kernel = false;  // or a template of kernels

  [[nodiscard]] bool contains(std::string_view in, std::uint32_t at) const { return in == file && at >= line && at <= last_line; }
};

// Text removed from the source, with its words replaced as in the translation.
[[nodiscard]] std::string translated(std::string_view text);

class Translation {
 public:
  // Throws CompileError, with file and line, for constructs that this implementation does not support.
  static Translation of(std::string preprocessed, std::string file, ConstantQuestions* questions = nullptr);

  [[nodiscard]] const std::vector<Kernel>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<FunctionConstantUse>& function_constants() const { return constants_; }
  [[nodiscard]] const Kernel* find(std::string_view host_name) const;
  [[nodiscard]] const std::vector<Refusal>& refusals() const { return refusals_; }
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }

  // Whether a variable's initialiser names the constant, directly or through other variables.
  [[nodiscard]] bool is_computed_from(std::string_view variable, std::string_view constant) const;

  // The source of a pipeline: the entry point of one kernel and the values of the constants. A constant without a value becomes a
  // variable without a definition, so that uses are detected after optimisation, not before.
  //
  // `spaces` says how far Metal's thread address space extends where clang is stricter than Metal. `exact`: a member function without
  // an address space serves thread objects, as Metal says. `values`: const members, and const references that name the thread space or
  // none, also accept temporaries, which lie in no space for clang. `relaxed`: any member serves any object.
  enum class ThreadSpace { exact, values, relaxed };
  struct Rendering {
    ThreadSpace spaces = ThreadSpace::exact;
    Repairs repairs;
    bool has_other_kernels = false;  // with their bodies, for a probe: they may need constants that have no value
  };
  [[nodiscard]] std::string render(const Kernel& kernel, const std::map<std::uint32_t, FunctionConstant>& constants,
                                   const Rendering& rendering) const;

  // The same source without line markers, so that the compiler's places are places in this text. `kernel` may be nullptr: the file
  // without any entry point.
  struct Probe {
    std::string text;
    std::vector<std::size_t> starts;  // of each token, ascending
  };
  [[nodiscard]] Probe probe(const Kernel* kernel, const std::map<std::uint32_t, FunctionConstant>& constants,
                            const Rendering& rendering) const;

  // The probe of the file without its kernels, followed by a line for each question. Clang's error message about that line
  // contains the value.
  struct ValueProbe {
    std::string text;
    std::size_t first_line = 0;  // of the questions, from 1
  };
  [[nodiscard]] ValueProbe probe_of(const std::vector<ConstantQuestions::Question>& questions) const;

  // Leaves out the smallest removable part of the source around a token: a function's body, else a declaration of a namespace. Returns
  // false if there is none, if it was already left out in `before`, or if it belongs to the kernel itself.
  bool omit(std::size_t token, const Kernel* kernel, const Repairs& before, Repairs& repairs) const;
  // Restores the declarations whose names the kernel reaches. Without a specialisation, an overload or a name that hides another one,
  // the kernel would find a different declaration and mean something else.
  void keep_reached(const Kernel& kernel, Repairs& repairs) const;
  // "<file>:<line>" of a token.
  [[nodiscard]] std::string place_text(std::size_t token) const;
  // What these repairs leave out.
  [[nodiscard]] std::vector<Part> left_out(const Repairs& repairs) const;
  // The function that is the kernel, or the template of which it is an instance; nullopt if several have its name.
  [[nodiscard]] std::optional<Part> body_of(const Kernel& kernel) const;
  // The first refused declaration whose name the kernel reaches, or nullptr.
  [[nodiscard]] const Refusal* refusal_reached_by(const Kernel& kernel) const;

  // Wraps `function` around the tokens from `first` to `last`. Returns false if they are already wrapped.
  static bool wrap(std::size_t first, std::size_t last, std::string function, Repairs& repairs);
  [[nodiscard]] bool is_list(std::size_t token) const { return stream_.tokens[token].is("{"); }
  // The first and last tokens of each argument between the parentheses that open at or after a token.
  using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
  [[nodiscard]] Ranges arguments_of(std::size_t token) const;
  // The same for the arguments in the tokens from `first` to `last`.
  [[nodiscard]] Ranges arguments_in(std::size_t first, std::size_t last) const;

 private:
  friend class Translator;
  // The identifiers of the kernel, of all declarations that these may name, and so on.
  [[nodiscard]] std::set<std::string, std::less<>> reached_by(const Kernel& kernel) const;
  [[nodiscard]] Part part_at(std::size_t first, std::size_t end, std::size_t last) const;
  [[nodiscard]] TokenStream edited(const Kernel* kernel, const std::map<std::uint32_t, FunctionConstant>& constants,
                                   const Rendering& rendering) const;
  void answer_queries(TokenStream& stream, const std::map<std::uint32_t, FunctionConstant>& constants) const;
  static void blank(TokenStream& stream, std::size_t first, std::size_t last, std::string_view replacement);
  TokenStream stream_;
  std::vector<Kernel> kernels_;
  std::vector<FunctionConstantUse> constants_;
  struct DefinedQuery {
    std::size_t first_token;
    std::size_t last_token;
    std::string name;
  };
  std::vector<std::size_t> const_thread_words_;         // for example the `thread` of `const thread T&` and of `f() const thread`
  std::vector<std::size_t> thread_members_;             // the `thread` of `f() thread`
  std::vector<std::size_t> unqualified_const_members_;  // last tokens of declarators without an address space
  std::vector<std::size_t> unqualified_members_;
  std::vector<DefinedQuery> defined_queries_;  // is_function_constant_defined(name)
  // The definition of a function in a namespace or a type.
  struct Body {
    std::size_t first;  // of the declaration
    std::size_t brace;
    std::size_t last;
  };
  [[nodiscard]] std::optional<std::size_t> initializers_of(const Body& body) const;
  std::vector<Body> bodies_;                                       // ordered by closing brace
  std::vector<std::pair<std::size_t, std::size_t>> declarations_;  // of namespaces: first and last tokens
  std::vector<Refusal> refusals_;
  std::vector<Note> notes_;
  std::string offers_;  // names of the library that are declared before the source (offered_names.h)
};

}  // namespace assay::metal::translate

// From Metal source to source that clang compiles as C++ for OpenCL, and what the host must know about its kernels.
//
// Metal and C++ for OpenCL share their object model, address spaces included, so most of a file passes unchanged. What is
// rewritten: attributes, entry points, function constants, explicit instantiations, threadgroup variables, address spaces
// behind member functions, pointers to functions as template parameters, words that are reserved in OpenCL only. Loop
// bodies get a marker that keeps one iteration of a loop recognisable in the compiled control flow (pass/).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/encoder.h"
#include "metal/lane_abi.h"
#include "metal/translate/lexer.h"

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
  std::string condition;  // expression of a second attribute function_constant(...): exists only if true
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
  std::size_t entry_token = 0;       // where its entry point is written
  std::size_t first_body_token = 0;  // of a kernel that is no template, `{` to `}`; both 0 for an instantiation
  std::size_t last_body_token = 0;
  bool typed_arguments = false;  // the instantiation's signature picks the overload: arguments are cast to its types
};

struct FunctionConstantUse {
  std::string name;
  std::string type;
  std::uint32_t index = 0;
  std::string file;
  std::uint32_t line = 0;
  std::size_t last_token = 0;  // of the declaration
};

class Translation {
 public:
  // Throws CompileError, with file and line, for what this implementation does not cover.
  static Translation of(std::string preprocessed, std::string file);

  [[nodiscard]] const std::vector<Kernel>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<FunctionConstantUse>& function_constants() const { return constants_; }
  [[nodiscard]] const Kernel* find(std::string_view host_name) const;

  // The source of a pipeline: one kernel's entry point and the constants' values. A constant without a value becomes a
  // variable that nobody defines, so that its use is found after optimisation and not before.
  //
  // `spaces` says how far Metal's thread address space reaches where clang is stricter than Metal. `exact` takes Metal at its word:
  // a member function without an address space serves thread objects. In `values`, const members and const references that name
  // the thread space, or none, also take temporaries, which for clang lie in no space; in `relaxed` any member serves any object.
  enum class ThreadSpace { exact, values, relaxed };
  // `bridged` leads every cast that may be one between half and bfloat over float: Metal has it and clang refuses it.
  enum class Casts { plain, bridged };
  [[nodiscard]] std::string render(const Kernel& kernel, const std::map<std::uint32_t, FunctionConstant>& constants, ThreadSpace spaces,
                                   Casts casts) const;

 private:
  friend class Translator;
  TokenStream stream_;
  std::vector<Kernel> kernels_;
  std::vector<FunctionConstantUse> constants_;
  struct DefinedQuery {
    std::size_t first_token;
    std::size_t last_token;
    std::string name;
  };
  std::vector<std::size_t> const_thread_words_;         // the `thread` of `const thread T&`, say, and of `f() const thread`
  std::vector<std::size_t> unqualified_const_members_;  // last tokens of declarators without an address space
  std::vector<std::size_t> unqualified_members_;
  // A cast's operand, from its first to its last token, and the type it becomes.
  struct Cast {
    std::string type;
    std::size_t first_token;
    std::size_t last_token;
  };
  std::vector<Cast> casts_;                    // in source order, outer ones first
  std::vector<DefinedQuery> defined_queries_;  // is_function_constant_defined(name)
};

}  // namespace assay::metal::translate

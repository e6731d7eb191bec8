// A translated `.metal` file: its functions, and the pipelines that are compiled from them on demand.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/pipeline_descriptor.h"

namespace assay::metal {

struct CompileOptions {
  int metal_version = 310;               // __METAL_VERSION__
  bool fp_contract = false;              // true: the compiler may fuse a*b+c; for sensitivity studies
  std::vector<std::string> definitions;  // "NAME" or "NAME=VALUE", as with -D
  // As with -I, in this order, after the folder of the including file. No other folder is searched, nor is the working directory.
  std::vector<std::filesystem::path> include_directories;
  // Further definitions, which distinguish this library from others of the same source (PipelineDescriptor::definitions).
  std::vector<std::string> configuration;
  std::filesystem::path cache_directory;  // empty: $XDG_CACHE_HOME/assay, else ~/.cache/assay
};

// A `[[function_constant(n)]]` declared in the file.
struct FunctionConstantDeclaration {
  std::string name;
  std::string type_name;
  std::uint32_t index = 0;
  std::uint32_t line = 0;
  FunctionConstantType type = {};
};

// The declaration of an argument that the host binds. For a compiled function, ArgumentLayout (argument_layout.h) says more.
struct ArgumentDeclaration {
  std::string name;
  std::string type_name;  // as in the source; may name parameters of a template
  AddressSpace space = AddressSpace::device;
  std::uint32_t index = 0;
  bool is_conditional = false;  // exists only under a condition on function constants
};

// A kernel function, as the host can name it.
struct FunctionDeclaration {
  std::string name;  // host name
  std::string file;
  std::uint32_t line = 0;
  bool reads_threadgroup_size = false;  // whether an argument is the number of threads or simdgroups of its threadgroup
  std::vector<ArgumentDeclaration> arguments = {};
};

// A kernel function that cannot be translated, in a file where other parts can.
struct RefusedFunction {
  std::string name;  // host name
  std::string file;
  std::uint32_t line = 0;
  std::string reason;  // "<file>:<line>: error: ..."
};

// A part of a file that does not compile, which the pipelines that do compile were made without.
struct LeftOutPart {
  std::string name;  // in the source; of a declaration that is no function: "a declaration"
  std::string file;
  std::uint32_t line = 0;
  std::string reason;      // "<file>:<line>: error: ..."
  bool is_kernel = false;  // a kernel, or a template of kernels
};

// A remark about the file that no check reports.
struct SourceNote {
  std::string file;
  std::uint32_t line = 0;
  std::string text;
};

class Pipeline;

namespace compile {
struct PtxKernel;
struct PtxOptions;
}  // namespace compile

// What compiled code does besides computing. `traced`: reports its accesses to device memory, for concurrent encoders. `checked`: has
// every access to shared memory checked. `shadowed`: carries shadows. `explained`: also reports what each operation rounds away.
// `recorded`: reports every value that it computes.
enum class Instrumentation { none, traced, checked, shadowed, explained, recorded };

// Immutable and safe to share between threads. Each pipeline is compiled once per set of constants and kept.
class Library {
 public:
  // Preprocesses and translates `file`. Throws CompileError if no part of it can be translated, and EnvironmentError.
  [[nodiscard]] static std::shared_ptr<Library> from_file(const std::filesystem::path& file, const CompileOptions& options = {});
  // As from_file, for several files that form one translation unit, in their order: each sees the definitions of those before it.
  // `#include "..."` is relative to the file that contains it. The library is named after the first file.
  [[nodiscard]] static std::shared_ptr<Library> from_files(std::span<const std::filesystem::path> files,
                                                           const CompileOptions& options = {});
  // As from_file, from text. `name` appears in messages; `#include "..."` searches the include directories. `further`: files that
  // follow the text in the same translation unit, as in from_files.
  [[nodiscard]] static std::shared_ptr<Library> from_source(std::string_view source, std::string name, const CompileOptions& options = {},
                                                            std::span<const std::filesystem::path> further = {});
  ~Library();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::vector<FunctionDeclaration>& functions() const;
  [[nodiscard]] const std::vector<FunctionConstantDeclaration>& function_constants() const;
  // Kernel functions that cannot be translated, with the reason. pipeline() throws a CompileError with that reason.
  [[nodiscard]] const std::vector<RefusedFunction>& refused() const;
  // What the pipelines compiled so far were made without, in the order of places, then kernels that no pipeline was asked of. Metal's
  // compiler refuses a file for any such part. Of templates of kernels, only what is wrong in all instances is found.
  [[nodiscard]] std::vector<LeftOutPart> left_out() const;
  [[nodiscard]] const std::vector<SourceNote>& notes() const;
  [[nodiscard]] bool has_function(std::string_view function) const;
  // Whether pipeline() accepts the descriptor: the file contains the function, and the definitions are those of this library.
  [[nodiscard]] bool offers(const PipelineDescriptor& descriptor) const;
  [[nodiscard]] const std::vector<std::string>& configuration() const;
  [[nodiscard]] const CompileOptions& options() const;
  // The files given to from_file() and its relatives, without those that they include.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const;
  // The hash of the compiler, our headers and the pass. Libraries with the same hash compile equal sources to equal code.
  [[nodiscard]] const std::string& toolchain() const;
  [[nodiscard]] std::string compiler_version() const;  // Compiler::version()
  // The hash of the preprocessed file: comments do not affect it, included files do.
  [[nodiscard]] const std::string& source_digest() const;
  // The compiler's options that affect the generated code.
  [[nodiscard]] std::string compile_flags() const;

  // Compiles one function with its constants, or takes it from the cache. Throws PipelineError and CompileError.
  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(const PipelineDescriptor& descriptor,
                                                         Instrumentation instrumentation = Instrumentation::none) const;
  // The same function for an NVIDIA GPU (compile/ptx.h).
  [[nodiscard]] compile::PtxKernel ptx(const PipelineDescriptor& descriptor, const compile::PtxOptions& options) const;

 private:
  struct Impl;
  explicit Library(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One function, compiled and loaded.
class Pipeline {
 public:
  [[nodiscard]] const ArgumentLayout& layout() const;
  [[nodiscard]] const PipelineDescriptor& descriptor() const;
  // The hash of everything that was compiled: machine code, data, reflection, the file's name and the lines of operations that can
  // fail. Pipelines with the same hash behave alike; others may differ.
  [[nodiscard]] const std::string& code_digest() const;

  struct Impl;
  explicit Pipeline(std::unique_ptr<Impl> impl);
  ~Pipeline();
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::metal

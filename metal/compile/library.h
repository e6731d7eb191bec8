// A `.metal` file, translated: its functions, and pipelines compiled from them on demand.
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
  bool fp_contract = false;              // true: the compiler may fuse a*b+c, a knob for sensitivity studies
  std::vector<std::string> definitions;  // "NAME" or "NAME=VALUE", as -D
  // As -I, in their order, behind the folder of the file that includes. There is no other: the working directory is none.
  std::vector<std::filesystem::path> include_directories;
  // Further definitions, which tell this library from others of the same source (PipelineDescriptor::definitions).
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

// An argument that the host binds, as it is declared. ArgumentLayout (argument_layout.h) says more, of a compiled function.
struct ArgumentDeclaration {
  std::string name;
  std::string type_name;  // as in the source, in the words of a template
  AddressSpace space = AddressSpace::device;
  std::uint32_t index = 0;
  bool is_conditional = false;  // there only under a condition on function constants
};

// A kernel function as the host can name it.
struct FunctionDeclaration {
  std::string name;  // host name
  std::string file;
  std::uint32_t line = 0;
  bool reads_threadgroup_size = false;  // an argument is the number of threads or simdgroups of its threadgroup
  std::vector<ArgumentDeclaration> arguments = {};
};

// A kernel function of the file that cannot be translated, while others can.
struct RefusedFunction {
  std::string name;  // host name
  std::string file;
  std::uint32_t line = 0;
  std::string reason;  // "<file>:<line>: error: ..."
};

// A remark about the file that no check reports.
struct SourceNote {
  std::string file;
  std::uint32_t line = 0;
  std::string text;
};

class Pipeline;

// What compiled code does in addition to computing: reports its accesses to device memory, for concurrent encoders; has every access to
// shared memory checked; carries shadows; reports what each operation rounds away; reports every value that it computes.
enum class Instrumentation { none, traced, checked, shadowed, explained, recorded };

// Immutable and safe to share between threads; pipelines are compiled once per set of constants and kept.
class Library {
 public:
  // Preprocesses and translates `file`. Throws CompileError if nothing of it can be offered, and EnvironmentError.
  [[nodiscard]] static std::shared_ptr<Library> from_file(const std::filesystem::path& file, const CompileOptions& options = {});
  // As from_file, of several files that are one translation unit, in their order: what one defines, those behind it see. `#include "..."`
  // is relative to the file that it stands in. The library is named after the first.
  [[nodiscard]] static std::shared_ptr<Library> from_files(std::span<const std::filesystem::path> files,
                                                           const CompileOptions& options = {});
  // As from_file, from text; `name` stands in messages, `#include "..."` finds what lies in the include directories.
  // `further`: files behind it, as of from_files.
  [[nodiscard]] static std::shared_ptr<Library> from_source(std::string_view source, std::string name, const CompileOptions& options = {},
                                                            std::span<const std::filesystem::path> further = {});
  ~Library();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::vector<FunctionDeclaration>& functions() const;
  [[nodiscard]] const std::vector<FunctionConstantDeclaration>& function_constants() const;
  // Kernel functions that cannot be translated, and why; pipeline() throws a CompileError with that reason.
  [[nodiscard]] const std::vector<RefusedFunction>& refused() const;
  [[nodiscard]] const std::vector<SourceNote>& notes() const;
  [[nodiscard]] bool has_function(std::string_view function) const;
  // Whether pipeline() accepts it: the function is here, and the definitions are those of this library.
  [[nodiscard]] bool offers(const PipelineDescriptor& descriptor) const;
  [[nodiscard]] const std::vector<std::string>& configuration() const;
  // The files that were named, not those that they include.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const;
  // Hash of the compiler, our headers and the pass: libraries that share it compile equal sources to equal code.
  [[nodiscard]] const std::string& toolchain() const;
  // Hash of the file as the preprocessor leaves it: comments do not count, files that it includes do.
  [[nodiscard]] const std::string& source_digest() const;
  // The compiler's options that decide what code it makes.
  [[nodiscard]] std::string compile_flags() const;

  // Compiles (or takes from the cache) one function with its constants. Throws PipelineError, CompileError.
  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(const PipelineDescriptor& descriptor,
                                                         Instrumentation instrumentation = Instrumentation::none) const;

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
  // Hash of everything that was compiled: machine code, data, reflection, the file's name and the lines of what can go wrong.
  // Pipelines that share it behave alike; those that do not may.
  [[nodiscard]] const std::string& code_digest() const;

  struct Impl;
  explicit Pipeline(std::unique_ptr<Impl> impl);
  ~Pipeline();
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::metal

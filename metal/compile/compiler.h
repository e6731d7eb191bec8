// Drives clang: preprocesses Metal source and compiles translated source to a shared object.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "metal/compile/cache.h"
#include "metal/compile/library.h"

namespace assay::metal::compile {

// The files that compile kernels on this machine.
struct Toolchain {
  std::filesystem::path clang;   // clang++ 19: $ASSAY_CLANG, else the one that this build was configured with
  std::filesystem::path pass;    // our plugin for clang
  std::filesystem::path shader;  // the headers that a kernel sees
};
// Throws EnvironmentError if there is no clang 19.
[[nodiscard]] Toolchain find_toolchain();

// Calls base::run_command(), for a program that reads our own files, those in `reach`, and nothing else. Throws EnvironmentError if the
// command cannot be started, or if another process killed it.
[[nodiscard]] base::CommandResult run_tool(const std::vector<std::string>& arguments, base::Reach reach,
                                           const base::CommandLimits& limits = {}, const std::filesystem::path& temporary_directory = {});

// The options with which a kernel's object becomes a shared one.
[[nodiscard]] const std::vector<std::string>& linker_flags();

// A place in a source, line and column from 1.
struct TextPlace {
  std::size_t line = 0;
  std::size_t column = 0;
};

// An error message of clang.
struct Complaint {
  std::string text;
  std::string notes;                                    // clang's notes to the error, a line each
  std::optional<TextPlace> place;                       // in the source: the place of the error, or where the source led into our headers
  std::optional<TextPlace> requested;                   // the outermost place that instantiates the template that contains the error
  std::vector<std::pair<TextPlace, TextPlace>> ranges;  // of the source: first character, and one past the last
};

struct SourceFile {
  std::filesystem::path path;
  std::string name;  // for messages
};

struct PtxOptions;

class Compiler {
 public:
  // Throws EnvironmentError if there is no clang 19 or the cache cannot be used.
  explicit Compiler(CompileOptions options);

  // Preprocesses the files, in their order, as one translation unit against our headers. Line markers name these files by their `name`,
  // and included files by their path. They include regular files of their own folders, of the include folders and of our headers, and those
  // that were read are noted (metal/source_files.h). From the cache, if nothing that could be read has changed (reachable_text.h). Throws
  // CompileError.
  [[nodiscard]] std::string preprocess(const std::vector<SourceFile>& files) const;

  // The shared object of a translated source, from the cache or newly made. Throws CompileError with clang's messages, each at the
  // user's file and line.
  [[nodiscard]] std::filesystem::path shared_object(std::string_view source, std::string_view function) const;

  // The same for an NVIDIA GPU: PTX, as text.
  [[nodiscard]] std::filesystem::path ptx(std::string_view source, std::string_view function, const PtxOptions& options) const;

  // Clang's errors for a source without line markers. Generates no code. Empty if clang accepts the source.
  [[nodiscard]] std::vector<Complaint> complaints(std::string_view source) const;

  // The hash of the compiler, our headers and the pass: all that an object depends on besides its source and the options.
  [[nodiscard]] const std::string& toolchain() const { return toolchain_; }
  // What clang calls itself: "Debian clang version 19.1.7". From the cache, because asking costs as much as running a small case.
  [[nodiscard]] std::string version() const;
  // The options of the command line that decide how a source is read and compiled, separated by blanks.
  [[nodiscard]] std::string flags() const;

 private:
  // Our headers, precompiled: `header` of the folder shader/, with these options. `emit` is the option that keeps the driver from going on.
  [[nodiscard]] std::filesystem::path prelude(const std::vector<std::string>& flags, std::string_view header, std::string_view emit) const;
  // Runs clang on a translated source, with options that begin with those of the language. Throws CompileError, whose text becomes
  // the entry `name`.errors of the cache if it is about the source.
  void run_clang(std::vector<std::string> command, std::string_view source, std::string_view function, const std::string& name,
                 const std::filesystem::path& output) const;
  // Throws the CompileError that run_clang() kept under this name, if there is one.
  void throw_kept_errors(const std::string& name) const;
  // An entry of text; nothing if there is none.
  [[nodiscard]] std::optional<std::string> kept_text(const std::string& entry) const;
  void keep_text(const std::string& entry, std::string_view text) const;
  // Whether it is a text without a file of its own: that stands among the cache's.
  [[nodiscard]] bool is_text(const SourceFile& file) const { return file.path.parent_path() == cache_.directory(); }
  [[nodiscard]] std::optional<std::string> preprocessed_name(const std::vector<SourceFile>& files,
                                                             const std::vector<std::filesystem::path>& roots) const;
  [[nodiscard]] std::vector<std::string> preprocessing_command(const std::filesystem::path& reach, const std::string& main) const;
  // Calls clang. In the result, temporary files have names of their own that are always the same. Throws CompileError.
  [[nodiscard]] std::string run_preprocessor(const std::vector<SourceFile>& files, const std::vector<std::filesystem::path>& roots) const;
  [[nodiscard]] std::vector<std::filesystem::path> reached_by(const std::vector<SourceFile>& files) const;
  // What a step needs that reads and writes temporary files and entries of the cache.
  [[nodiscard]] base::Reach cache_only() const { return {.programs = {}, .readable = {}, .writable = {cache_.directory()}}; }
  static void link(const std::filesystem::path& object, const std::filesystem::path& output);
  [[nodiscard]] std::vector<std::string> language_flags() const;  // for this machine
  [[nodiscard]] std::vector<std::string> common_flags() const;    // for every target

  CompileOptions options_;
  std::string clang_;
  Cache cache_;
  std::string toolchain_;
};

}  // namespace assay::metal::compile

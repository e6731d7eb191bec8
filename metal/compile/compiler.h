// Drives clang: preprocesses Metal source and compiles translated source to a shared object.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/command.h"
#include "metal/compile/cache.h"
#include "metal/compile/library.h"

namespace assay::metal::compile {

// What compiles kernels on this machine.
struct Toolchain {
  std::filesystem::path clang;   // clang++ 19: $ASSAY_CLANG, else the one this build was configured with
  std::filesystem::path pass;    // our plugin for it
  std::filesystem::path shader;  // the headers that a kernel sees
};
// Throws EnvironmentError if there is no clang 19.
[[nodiscard]] Toolchain find_toolchain();

// base::run_command(). Throws EnvironmentError if the command cannot be started, or if another process killed it.
[[nodiscard]] base::CommandResult run_tool(const std::vector<std::string>& arguments, const base::CommandLimits& limits = {},
                                           const std::filesystem::path& temporary_directory = {});

// A place in a source, both from 1.
struct TextPlace {
  std::size_t line = 0;
  std::size_t column = 0;
};

// An error message of clang.
struct Complaint {
  std::string text;
  std::string notes;                                    // what clang says to it, a line each
  std::optional<TextPlace> place;                       // in the source: the error's own, or where the source led into our headers
  std::optional<TextPlace> requested;                   // the outermost place that instantiates the template in which the error lies
  std::vector<std::pair<TextPlace, TextPlace>> ranges;  // of the source, first and one behind the last character
};

struct SourceFile {
  std::filesystem::path path;
  std::string name;  // in messages
};

class Compiler {
 public:
  // Throws EnvironmentError if there is no clang 19 or the cache cannot be used.
  explicit Compiler(CompileOptions options);

  // The files, one after the other as one translation unit, run through the preprocessor against our headers; line markers name the user's
  // files, and these as `name` says. They include regular files of their own folders, of the include folders and of our headers; those that
  // were read are noted (metal/source_files.h). Throws CompileError.
  [[nodiscard]] std::string preprocess(const std::vector<SourceFile>& files) const;

  // The shared object of a translated source, from the cache or made. Throws CompileError with clang's messages, each at the
  // user's file and line.
  [[nodiscard]] std::filesystem::path shared_object(std::string_view source, std::string_view function) const;

  // The errors of clang for a source without line markers; makes no code. Empty if it accepts all of it.
  [[nodiscard]] std::vector<Complaint> complaints(std::string_view source) const;

  // Hash of the compiler, our headers and the pass: all that an object depends on besides its source and the options.
  [[nodiscard]] const std::string& toolchain() const { return toolchain_; }
  // Of the command line, what decides how a source is read and compiled; with blanks between.
  [[nodiscard]] std::string flags() const;

 private:
  [[nodiscard]] std::filesystem::path prelude() const;
  // Whether it is a text without a file of its own: that stands among the cache's.
  [[nodiscard]] bool is_text(const SourceFile& file) const { return file.path.parent_path() == cache_.directory(); }
  [[nodiscard]] std::vector<std::filesystem::path> reached_by(const std::vector<SourceFile>& files) const;
  static void link(const std::filesystem::path& object, const std::filesystem::path& output);
  [[nodiscard]] std::vector<std::string> language_flags() const;

  CompileOptions options_;
  std::string clang_;
  Cache cache_;
  std::string toolchain_;
};

}  // namespace assay::metal::compile

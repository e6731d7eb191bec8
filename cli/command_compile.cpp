// `assay compile`: lists what a kernel file contains, which functions compile, and what a host must bind for each. Needs no family.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/compile_ptx.h"
#include "cli/options.h"
#include "cli/report_files.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "families/registry.h"
#include "harness/cases/selection.h"
#include "harness/prepare/family_fit.h"
#include "harness/prepare/inspection.h"
#include "harness/prepare/libraries.h"
#include "kernels/variant.h"
#include "metal/compile/library.h"
#include "metal/errors.h"
#include "reports/compilation.h"

namespace assay::cli {
namespace {

struct CompileOptions {
  Options common;  // --include, --define, --metal-version, --constant, --jobs
  std::string file;
  std::vector<std::string> functions;  // globs
  bool listing = false;
  bool json = false;
  std::string format = "text";
  std::string target = "cpu";
  PtxListing ptx;
};

// What to compile: a file, or the sources that a variant.toml describes.
kernels::Variant subject_of(const CompileOptions& options) {
  const std::filesystem::path path = options.file;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw std::invalid_argument(fmt::format("'{}': no such file", options.file));
  kernels::Variant subject;
  if (std::filesystem::is_directory(path, error) || path.extension() == ".toml") {
    subject = kernels::variant_from_path(path, "", families::contracts());
  } else {
    subject.name = path.filename().string();
    subject.source = path;
  }
  subject.compile.lay(compile_settings(options.common));
  return subject;
}

// Entries with macros of their own need a library each.
std::set<std::vector<std::string>> configurations_of(const kernels::Variant& subject) {
  std::set<std::vector<std::string>> configurations;
  if (subject.entry_definitions.empty()) return {{}};
  for (const auto& [entry, definitions] : subject.entry_definitions) configurations.insert(definitions);
  return configurations;
}

std::vector<metal::FunctionDeclaration> chosen(const metal::Library& library, const std::vector<std::string>& globs) {
  std::vector<metal::FunctionDeclaration> functions;
  for (const metal::FunctionDeclaration& function : library.functions()) {
    const auto matches = [&](const std::string& glob) { return harness::glob_match(glob, function.name); };
    if (globs.empty() || std::ranges::any_of(globs, matches)) functions.push_back(function);
  }
  return functions;
}

// Metal's compiler refuses the file for what no function needs, too. A template of kernels has failed with those that are made of it.
std::vector<metal::RefusedFunction> left_out_of(const metal::Library& library, const reports::CompiledLibrary& compiled) {
  std::vector<metal::RefusedFunction> parts;
  for (const metal::LeftOutPart& part : library.left_out()) {
    const bool is_listed = part.is_kernel && std::ranges::any_of(compiled.functions, [&](const harness::InspectedFunction& function) {
                             return function.declaration.name == part.name || function.refusal.find(part.reason) != std::string::npos;
                           });
    if (!is_listed) parts.push_back({part.name, part.file, part.line, part.reason});
  }
  return parts;
}

reports::CompiledLibrary compile_library(const metal::Library& library, const CompileOptions& options) {
  reports::CompiledLibrary result;
  result.constants = library.function_constants();
  result.notes = library.notes();
  for (const metal::RefusedFunction& refused : library.refused()) {
    const auto matches = [&](const std::string& glob) { return harness::glob_match(glob, refused.name); };
    if (options.functions.empty() || std::ranges::any_of(options.functions, matches)) result.refused.push_back(refused);
  }
  const std::vector<metal::FunctionDeclaration> functions = chosen(library, options.functions);
  const harness::ConstantValues given = harness::constants_of(library, options.common.constants);
  if (options.listing) {
    for (const metal::FunctionDeclaration& function : functions) {
      harness::InspectedFunction listed;
      listed.declaration = function;
      result.functions.push_back(std::move(listed));
    }
    return result;
  }
  result.functions = harness::inspect_functions(library, functions, given, job_count(options.common));
  result.families = harness::fit_families(library);
  if (options.functions.empty()) std::ranges::move(left_out_of(library, result), std::back_inserter(result.refused));
  return result;
}

int compile(const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const kernels::Variant subject = subject_of(options);
  reports::Compilation compilation;
  compilation.file = options.file;
  compilation.is_listing = options.listing;
  harness::Libraries libraries(false);
  const bool is_ptx = options.target == "ptx";
  const reports::Format& format = reports::find_format(options.json ? "json" : options.format);
  if (is_ptx && (format.name != "text" || options.listing))
    throw std::invalid_argument("--target ptx: neither with --json or --format nor with --listing");
  if (!is_ptx && !options.ptx.is_default()) throw std::invalid_argument("--output, --math and --lockstep need --target ptx");
  bool is_complete = true;
  for (const std::vector<std::string>& configuration : configurations_of(subject)) {
    reports::CompiledLibrary result;
    try {
      const auto library = libraries.of(subject, configuration);
      result = compile_library(*library, options);
      if (is_ptx) is_complete = list_ptx(*library, result.functions, options.ptx) && is_complete;
    } catch (const metal::CompileError& error) {
      result.failure = error.what();
    }
    result.configuration = configuration;
    compilation.libraries.push_back(std::move(result));
  }
  const bool is_whole = std::ranges::all_of(compilation.libraries, [](const auto& one) { return one.failure.empty(); });
  if (is_whole && compilation.functions() == 0 && !options.functions.empty())
    throw std::invalid_argument(fmt::format("--function: {} has no function of that name", options.file));
  compilation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool is_told = is_ptx && compilation.is_sound();
  if (!is_told) say_report(format, format.of_compilation(compilation, report_context(options.file)));
  return compilation.is_sound() && is_complete ? kExitPassed : kExitFailed;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "compile",
      "List every kernel and instantiation of a file: whether it compiles or why not, its arguments, structs, function constants and "
      "threadgroup memory, and the families that it fits. Needs no --family and runs nothing",
      compile);
  command->add_option("FILE", options->file, "A .metal file, or a directory with a variant.toml")->required();
  add_compilation(*command, options->common);
  add_repeatable(*command, "--constant", options->common.constants, "NAME|INDEX=VALUE[,VALUE...]",
                 "Value of a function constant, by name or index; may be repeated. A missing constant gets a placeholder value");
  add_repeatable(*command, "--function", options->functions, "GLOB", "Only functions whose name matches the glob; may be repeated");
  command->add_flag("--listing", options->listing, "Print only names, locations and declarations; compile nothing");
  add_format(*command, options->format, &reports::Format::of_compilation);
  command->add_flag("--json", options->json, "The same as --format json: one document (docs/compile.schema.json)");
  command
      ->add_option("--target", options->target,
                   "cpu (the simulator), or ptx: assembly for NVIDIA GPUs, with threadgroup memory per function")
      ->check(one_of({"cpu", "ptx"}));
  command->add_option("-o,--output", options->ptx.folder, "With --target ptx: writes <function>.ptx into this folder");
  command->add_flag("--lockstep", options->ptx.compilation.keeps_lockstep,
                    "With --target ptx: stores are seen by the other lanes of a SIMD-group at once, as on the simulator");
  command->add_option("--math", options->ptx.math, "With --target ptx: precise, or fast (approximations, fused operations, no subnormals)")
      ->check(one_of({"precise", "fast"}));
  add_jobs(*command, options->common, "functions to compile");
  command->footer(R"(examples
  assay compile mine.metal
  assay compile mine.metal -I include -D TILE=32 --metal-version 3.1 --constant has_mask=true
  assay compile mine.metal --function 'gemv_*' --json
  assay compile mine.metal --format github   in a job: annotates the lines of errors
  assay compile mine.metal --listing         only lists the functions, at once
  assay compile mine.metal --target ptx -o ptx

exit status
  0 all functions compile   1 some do not, or there are none   2 bad usage or environment)");
}

}  // namespace assay::cli

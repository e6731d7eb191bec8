// Translates a file, and compiles its kernels on demand.
#include "metal/compile/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "metal/compile/compiler.h"
#include "metal/compile/error_lines.h"
#include "metal/compile/pipeline.h"
#include "metal/compile/ptx.h"
#include "metal/compile/repair.h"
#include "metal/compile/temporary_file.h"
#include "metal/errors.h"
#include "metal/translate/translation.h"

namespace assay::metal {
namespace {

bool reads_threadgroup_size(const translate::Kernel& kernel) {
  return std::any_of(kernel.parameters.begin(), kernel.parameters.end(), [](const translate::Parameter& parameter) {
    return parameter.role == translate::Role::builtin &&
           (parameter.builtin == abi::kThreadsPerThreadgroup || parameter.builtin == abi::kDispatchThreadsPerThreadgroup ||
            parameter.builtin == abi::kSimdgroupsPerThreadgroup || parameter.builtin == abi::kDispatchSimdgroupsPerThreadgroup);
  });
}

std::vector<ArgumentDeclaration> arguments_of(const translate::Kernel& kernel) {
  std::vector<ArgumentDeclaration> arguments;
  for (const translate::Parameter& parameter : kernel.parameters) {
    if (parameter.role == translate::Role::builtin) continue;
    const AddressSpace space = parameter.role == translate::Role::threadgroup ? AddressSpace::threadgroup : parameter.space;
    arguments.push_back({parameter.name, parameter.type, space, parameter.index, !parameter.condition.empty()});
  }
  return arguments;
}

// Removes line markers before hashing: they contain paths of this machine.
std::string digest_of_source(std::string_view preprocessed) {
  base::Hash hash;
  for (std::size_t start = 0; start < preprocessed.size();) {
    const std::size_t end = std::min(preprocessed.find('\n', start), preprocessed.size());
    const std::string_view line = preprocessed.substr(start, end - start);
    if (!line.starts_with("# ") && !line.empty()) hash.add(line);
    start = end + 1;
  }
  return hash.hex();
}

}  // namespace

struct Library::Impl {
  Impl(const CompileOptions& options, std::vector<compile::SourceFile> sources)
      : compiler(options), name(sources.front().name), translation(translated(sources)), options(options) {
    for (const auto& source : sources) files.push_back(source.path);
    for (const auto& kernel : translation.kernels())
      functions.push_back({kernel.host_name, kernel.file, kernel.line, reads_threadgroup_size(kernel), arguments_of(kernel)});
    for (const auto& constant : translation.function_constants())
      constants.push_back({constant.name, constant.type, constant.index, constant.line, constant.shape});
    for (const auto& refusal : translation.refusals()) {
      if (refusal.is_kernel) refused.push_back({refusal.name, refusal.file, refusal.line, refusal.reason});
    }
    for (const auto& note : translation.notes()) notes.push_back({note.file, note.line, note.text});
  }

  translate::Translation translated(const std::vector<compile::SourceFile>& sources) {
    const std::string preprocessed = compiler.preprocess(sources);
    source_digest = digest_of_source(preprocessed);
    translate::ConstantQuestions questions;
    // Answers may lead to further questions, about parts that could not be translated without them.
    for (;;) {
      auto result = translate::Translation::of(preprocessed, name, &questions);
      if (questions.open.empty()) return result;
      compile::answer(compiler, result, questions);
    }
  }

  // Compiles a rendered source to a file of the cache.
  using Make = std::function<std::filesystem::path(const std::string& source)>;

  std::shared_ptr<const Pipeline> compile(const PipelineDescriptor& descriptor, Instrumentation instrumentation) const {
    const auto& kernel = kernel_of(descriptor);
    const auto object = compile_or_name_constant(kernel, descriptor, [&](const std::string& source) {
      return compiler.shared_object(source + mark_of(instrumentation), descriptor.function);
    });
    return std::make_shared<Pipeline>(std::make_unique<Pipeline::Impl>(descriptor, kernel, object));
  }

  compile::PtxKernel compile_ptx(const PipelineDescriptor& descriptor, const compile::PtxOptions& how) const {
    const std::pair key(descriptor, how);
    {
      const std::lock_guard lock(mutex);
      if (const auto found = ptx.find(key); found != ptx.end()) return found->second;
    }
    compile::PtxKernel made = make_ptx(descriptor, how);
    const std::lock_guard lock(mutex);
    return ptx.emplace(key, std::move(made)).first->second;
  }

  compile::PtxKernel make_ptx(const PipelineDescriptor& descriptor, const compile::PtxOptions& how) const {
    return compile::read_ptx(compile_or_name_constant(
        kernel_of(descriptor), descriptor, [&](const std::string& source) { return compiler.ptx(source, descriptor.function, how); }));
  }

  // The kernel that the descriptor names, whose constants it can have.
  const translate::Kernel& kernel_of(const PipelineDescriptor& descriptor) const {
    if (descriptor.definitions != options.configuration) {
      const auto list = [](const auto& words) { return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", ")); };
      throw PipelineError(fmt::format("'{}' with the definitions {} was asked of {}, which was built with {}", descriptor.function,
                                      list(descriptor.definitions), name, list(options.configuration)));
    }
    const auto* kernel = translation.find(descriptor.function);
    if (kernel == nullptr) {
      for (const auto& function : refused) {
        if (function.name == descriptor.function) throw CompileError(function.reason);
      }
      std::vector<std::string> names;
      for (const auto& function : functions) names.push_back(function.name);
      throw PipelineError(fmt::format("{} has no kernel function '{}'; it has: {}", name, descriptor.function,
                                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    }
    if (const auto* refusal = translation.refusal_reached_by(*kernel)) throw CompileError(refusal->reason);
    for (const auto& [index, value] : descriptor.constants) check_constant(index, value, descriptor.function);
    return *kernel;
  }

  // Reports a missing constant by name. The compiler needs the value of some constants itself, for example as an array size, and its
  // messages then contain the name.
  std::filesystem::path compile_or_name_constant(const translate::Kernel& kernel, const PipelineDescriptor& descriptor,
                                                 const Make& make) const {
    try {
      return compile_renderings(kernel, descriptor, make);
    } catch (const CompileError& error) {
      const std::string text = error.what();
      for (const auto& constant : constants) {
        if (descriptor.constants.contains(constant.index) || text.find("function constant '") != std::string::npos) continue;
        if (text.find("'" + constant.name + "'") != std::string::npos || is_missed_in_call(text, constant.name) ||
            is_missed_behind(text, constant.name)) {
          throw PipelineError(fmt::format("{}:{}: error: function constant '{}' (index {}) is used by '{}' but has no value\n{}", name,
                                          constant.line, constant.name, constant.index, kernel.host_name, text));
        }
      }
      throw;
    }
  }

  // Whether the compiler lacks the value of a vector in which it evaluates a component or an operator: `in call to 'size.get_x()'`.
  static bool is_missed_in_call(std::string_view text, const std::string& constant) {
    constexpr std::string_view kBefore = "in call to '";
    const auto is_part_of_name = [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    };
    for (auto at = text.find(kBefore); at != std::string_view::npos; at = text.find(kBefore, at + 1)) {
      const auto call = text.substr(at, text.find('\n', at) - at);
      for (auto name = call.find(constant, kBefore.size()); name != std::string_view::npos; name = call.find(constant, name + 1)) {
        const auto end = name + constant.size();
        if (!is_part_of_name(call[name - 1]) && (end == call.size() || !is_part_of_name(call[end]))) return true;
      }
    }
    return false;
  }

  // Whether the compiler lacks the value of a variable that is computed from the constant.
  bool is_missed_behind(std::string_view text, const std::string& constant) const {
    constexpr std::string_view kBefore = "initializer of '";
    for (auto at = text.find(kBefore); at != std::string_view::npos; at = text.find(kBefore, at + 1)) {
      const auto first = at + kBefore.size();
      const auto last = text.find('\'', first);
      if (last != std::string_view::npos && translation.is_computed_from(text.substr(first, last - first), constant)) return true;
    }
    return false;
  }

  // Where clang is stricter than Metal, the later renderings are more permissive. If one of them compiles, the file is correct.
  // Otherwise the first messages are those that Metal's compiler would give. If clang still rejects the source, it is repaired
  // where possible (compile/repair.h).
  std::filesystem::path compile_renderings(const translate::Kernel& kernel, const PipelineDescriptor& descriptor, const Make& make) const {
    using Translation = translate::Translation;
    using ThreadSpace = Translation::ThreadSpace;
    // The renderings whose sources differ.
    std::vector<Translation::Rendering> renderings;
    std::set<std::string> sources;
    std::optional<CompileError> first;
    for (const auto spaces : {ThreadSpace::exact, ThreadSpace::values, ThreadSpace::relaxed}) {
      const Translation::Rendering rendering{spaces, {}};
      const auto source = translation.render(kernel, descriptor.constants, rendering);
      if (!sources.insert(source).second) continue;
      renderings.push_back(rendering);
      try {
        return make(source);
      } catch (const CompileLimitExceeded&) {
        throw;
      } catch (const CompileError& error) {
        // Clang accepts this rendering; only values of constants are missing.
        if (std::string_view(error.what()).find("is used by the kernel but has no value") != std::string_view::npos) throw;
        if (!first && is_plainly_wrong(kernel, error.what())) throw;
        if (!first) first = error;
      }
    }
    std::optional<CompileError> of_kernel;
    for (auto rendering : renderings) {
      if (!compile::repair(compiler, translation, kernel, descriptor.constants, rendering) && of_kernel) continue;
      const auto source = translation.render(kernel, descriptor.constants, rendering);
      try {
        auto made = make(source);
        note_left_out(rendering.repairs, first->what());
        return made;
      } catch (const CompileError& error) {
        if (!of_kernel) of_kernel = error;
      }
    }
    // Reports the kernel's own errors, unless the kernel fails because it uses something that is broken.
    const std::string_view text = of_kernel->what();
    const bool needs_broken = text.find("deleted") != std::string_view::npos || text.find("undeclared") != std::string_view::npos;
    throw CompileError(needs_broken ? *first : *of_kernel);
  }

  // `errors` are those of the whole file. A part without any of its own calls another that is left out.
  void note_left_out(const translate::Repairs& repairs, const std::string& errors) const {
    const std::vector<compile::ErrorLine> lines = compile::error_lines(errors);
    for (const translate::Part& part : translation.left_out(repairs)) {
      const auto own = std::ranges::find_if(lines, [&](const auto& error) { return part.contains(error.file, error.line); });
      if (own == lines.end()) continue;
      const std::lock_guard lock(mutex);
      left_out.try_emplace({part.file, part.line, part.name},
                           LeftOutPart{part.name, part.file, part.line, std::string(own->whole), part.is_kernel});
    }
  }

  // Whether all errors are mistakes in the kernel itself that nothing below mends: whoever saves a file must not wait for all attempts.
  bool is_plainly_wrong(const translate::Kernel& kernel, const std::string& errors) const {
    const std::vector<compile::ErrorLine> lines = compile::error_lines(errors);
    const std::optional<translate::Part> body = translation.body_of(kernel);
    return body && !lines.empty() && std::ranges::all_of(lines, [&](const compile::ErrorLine& error) {
             return compile::is_beyond_repair(error.text) && body->contains(error.file, error.line);
           });
  }

  // A name for which the pass searches.
  static std::string mark_of(Instrumentation instrumentation) {
    const std::string_view kind = instrumentation == Instrumentation::traced      ? "traced"
                                  : instrumentation == Instrumentation::checked   ? "checked"
                                  : instrumentation == Instrumentation::shadowed  ? "shadowed"
                                  : instrumentation == Instrumentation::explained ? "explained"
                                  : instrumentation == Instrumentation::recorded  ? "recorded"
                                                                                  : "";
    return kind.empty() ? "" : fmt::format("\nextern \"C\" __attribute__((used)) void __assay_{}() {{}}\n", kind);
  }

  // As in Metal, a constant that the file does not declare is ignored. A value of the wrong type is an error.
  void check_constant(std::uint32_t index, const FunctionConstant& value, const std::string& function) const {
    const auto declared = std::find_if(constants.begin(), constants.end(), [&](const auto& constant) { return constant.index == index; });
    if (declared == constants.end()) return;
    const FunctionConstantType& type = declared->type;
    const auto components = components_of(value);
    const bool is_vector = std::holds_alternative<ConstantVector>(value);
    if (is_vector == (type.components > 1) && components.size() == type.components &&
        std::ranges::all_of(components, [&](const ConstantScalar& component) { return type.takes(component); }))
      return;
    const std::string given = is_vector                               ? fmt::format("a vector of {}", components.size())
                              : std::holds_alternative<bool>(value)   ? "a bool"
                              : std::holds_alternative<double>(value) ? "a floating value"
                                                                      : "an integer";
    throw PipelineError(fmt::format("'{}': function constant '{}' (index {}) is of type {}, but {} was given: {}", function, declared->name,
                                    index, declared->type_name, given, to_string(value)));
  }

  compile::Compiler compiler;
  std::string name;
  std::string source_digest;
  translate::Translation translation;
  std::vector<FunctionDeclaration> functions;
  std::vector<FunctionConstantDeclaration> constants;
  std::vector<RefusedFunction> refused;
  std::vector<SourceNote> notes;
  CompileOptions options;
  std::vector<std::filesystem::path> files;

  // One slot per descriptor: two threads can compile different pipelines at the same time, but no pipeline is compiled twice.
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Pipeline> pipeline;
  };
  mutable std::mutex mutex;
  mutable std::map<std::pair<PipelineDescriptor, Instrumentation>, std::shared_ptr<Slot>> slots;
  mutable std::map<std::pair<PipelineDescriptor, compile::PtxOptions>, compile::PtxKernel> ptx;
  mutable std::map<std::tuple<std::string, std::uint32_t, std::string>, LeftOutPart> left_out;  // by place and name
  mutable std::optional<CompileLimitExceeded> given_up;  // stands for all functions: a run must not wait for each of them
};

Library::Library(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Library::~Library() = default;

std::shared_ptr<Library> Library::from_file(const std::filesystem::path& file, const CompileOptions& options) {
  return from_files(std::span(&file, 1), options);
}

namespace {

std::vector<compile::SourceFile> existing(std::span<const std::filesystem::path> files) {
  std::vector<compile::SourceFile> sources;
  for (const auto& file : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) throw CompileError(fmt::format("{}: error: no such file", file.string()));
    sources.push_back({file, file.string()});
  }
  return sources;
}

}  // namespace

std::shared_ptr<Library> Library::from_files(std::span<const std::filesystem::path> files, const CompileOptions& options) {
  if (files.empty()) throw CompileError("a library needs a file");
  return std::shared_ptr<Library>(new Library(std::make_unique<Impl>(options, existing(files))));
}

std::shared_ptr<Library> Library::from_source(std::string_view source, std::string name, const CompileOptions& options,
                                              std::span<const std::filesystem::path> further) {
  const compile::TemporaryFile file(compile::Cache(options.cache_directory), source, ".metal");
  std::vector<compile::SourceFile> sources = existing(further);
  sources.insert(sources.begin(), {file.path(), std::move(name)});
  return std::shared_ptr<Library>(new Library(std::make_unique<Impl>(options, std::move(sources))));
}

const std::string& Library::name() const { return impl_->name; }
const std::vector<FunctionDeclaration>& Library::functions() const { return impl_->functions; }
const std::vector<FunctionConstantDeclaration>& Library::function_constants() const { return impl_->constants; }
const std::vector<RefusedFunction>& Library::refused() const { return impl_->refused; }
std::vector<LeftOutPart> Library::left_out() const {
  std::set<std::string> asked;
  std::vector<LeftOutPart> parts;
  {
    const std::lock_guard lock(impl_->mutex);
    for (const auto& [key, slot] : impl_->slots) asked.insert(key.first.function);
    for (const auto& [place, part] : impl_->left_out) parts.push_back(part);
  }
  const auto& kernels = impl_->translation.kernels();
  if (std::ranges::all_of(kernels, [&](const auto& one) { return one.last_body_token == 0 || asked.contains(one.host_name); }))
    return parts;
  for (const auto& [kernel, error] : compile::broken_kernels(impl_->compiler, impl_->translation)) {
    if (!asked.contains(kernel->host_name)) parts.push_back({kernel->host_name, kernel->file, kernel->line, error, true});
  }
  return parts;
}
const std::vector<SourceNote>& Library::notes() const { return impl_->notes; }
const std::vector<std::filesystem::path>& Library::files() const { return impl_->files; }
const std::vector<std::string>& Library::configuration() const { return impl_->options.configuration; }
const CompileOptions& Library::options() const { return impl_->options; }
bool Library::offers(const PipelineDescriptor& descriptor) const {
  return descriptor.definitions == impl_->options.configuration && has_function(descriptor.function);
}
bool Library::has_function(std::string_view function) const { return impl_->translation.find(function) != nullptr; }
const std::string& Library::toolchain() const { return impl_->compiler.toolchain(); }
std::string Library::compiler_version() const { return impl_->compiler.version(); }
const std::string& Library::source_digest() const { return impl_->source_digest; }
std::string Library::compile_flags() const { return impl_->compiler.flags(); }

std::shared_ptr<const Pipeline> Library::pipeline(const PipelineDescriptor& descriptor, Instrumentation instrumentation) const {
  std::shared_ptr<Impl::Slot> slot;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->given_up) throw *impl_->given_up;
    auto& entry = impl_->slots[{descriptor, instrumentation}];
    if (entry == nullptr) entry = std::make_shared<Impl::Slot>();
    slot = entry;
  }
  const std::lock_guard lock(slot->mutex);
  try {
    if (slot->pipeline == nullptr) slot->pipeline = impl_->compile(descriptor, instrumentation);
  } catch (const CompileLimitExceeded& error) {
    const std::lock_guard limit(impl_->mutex);
    impl_->given_up = error;
    throw;
  }
  return slot->pipeline;
}

compile::PtxKernel Library::ptx(const PipelineDescriptor& descriptor, const compile::PtxOptions& options) const {
  return impl_->compile_ptx(descriptor, options);
}

Pipeline::Pipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pipeline::~Pipeline() = default;
const ArgumentLayout& Pipeline::layout() const { return impl_->layout; }
const PipelineDescriptor& Pipeline::descriptor() const { return impl_->descriptor; }
const std::string& Pipeline::code_digest() const { return impl_->code_digest; }

}  // namespace assay::metal

// Loads a compiled kernel, and combines its reflection with its translation.
#include "metal/compile/module.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "metal/errors.h"

namespace assay::metal::compile {

namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(::abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : symbol;
}

}  // namespace

LoadedModule::LoadedModule(const std::filesystem::path& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const std::string reason = dlerror();
    // Reported for a function that the source declares but does not define.
    constexpr std::string_view kUndefined = "undefined symbol: ";
    if (const auto at = reason.find(kUndefined); at != std::string::npos)
      throw CompileError(fmt::format("{}: error: the kernel uses '{}', which is declared and not defined", path.string(),
                                     demangled(reason.substr(at + kUndefined.size()))));
    throw EnvironmentError(fmt::format("cannot load the compiled kernel: {}", reason));
  }
  module_ = static_cast<const abi::Module*>(dlsym(handle_, "__assay_module"));
  if (module_ == nullptr || module_->version != abi::kVersion) {
    const std::string found = module_ == nullptr ? "none" : std::to_string(module_->version);
    dlclose(handle_);
    throw EnvironmentError(
        fmt::format("the shader headers or the compiler plugin do not belong to this build of assay (lane interface {}, this one has {}): "
                    "rebuild assay",
                    found, abi::kVersion));
  }
}

LoadedModule::~LoadedModule() { dlclose(handle_); }

namespace {

ScalarType scalar_named(const std::string& name) {
  for (int type = 0; type <= static_cast<int>(ScalarType::other); ++type) {
    if (to_string(static_cast<ScalarType>(type)) == name) return static_cast<ScalarType>(type);
  }
  return ScalarType::other;
}

std::string rest_of(std::istringstream& stream) {
  std::string rest;
  std::getline(stream >> std::ws, rest);
  return rest;
}

struct Reflected {
  bool is_const = false;
  std::size_t size = 0;
  ScalarType element = ScalarType::other;
  std::size_t count = 1;
  std::string type_name;
  std::optional<StructLayout> layout;
};

// By parameter position; the grammar is in pass/reflection.h.
std::map<std::size_t, Reflected> parse_reflection(const char* text) {
  std::map<std::size_t, Reflected> result;
  Reflected* current = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string scalar;
    words >> kind;
    if (kind == "argument") {
      std::size_t position = 0;
      words >> position;
      current = &result[position];
      words >> current->is_const >> current->size >> scalar >> current->count;
      current->element = scalar_named(scalar);
      current->type_name = rest_of(words);
    } else if (kind == "struct" && current != nullptr) {
      current->layout.emplace();
      words >> current->layout->size;
      current->layout->name = rest_of(words);
    } else if (kind == "field" && current != nullptr && current->layout) {
      StructField field;
      words >> field.offset >> field.size >> scalar >> field.count >> field.name;
      field.type = scalar_named(scalar);
      field.type_name = rest_of(words);
      constexpr std::string_view kRenamed = "assay_name_";
      if (field.name.starts_with(kRenamed)) field.name.erase(0, kRenamed.size());
      current->layout->fields.push_back(std::move(field));
    }
  }
  return result;
}

}  // namespace

ArgumentLayout layout_of(const translate::Kernel& kernel, const abi::Module& module) {
  ArgumentLayout layout;
  layout.function = kernel.host_name;
  layout.file = kernel.file;
  layout.line = kernel.line;
  layout.static_threadgroup_bytes = module.threadgroup_bytes;
  layout.max_total_threads = kernel.max_total_threads;
  if (module.max_total_threads != 0) layout.max_total_threads = std::min(layout.max_total_threads, module.max_total_threads);
  auto reflected = parse_reflection(module.reflection);
  for (std::size_t position = 0; position < kernel.parameters.size(); ++position) {
    const auto& parameter = kernel.parameters[position];
    if (parameter.role == translate::Role::builtin) continue;
    const bool threadgroup = parameter.role == translate::Role::threadgroup;
    const std::uint32_t present = threadgroup ? module.present_threadgroup_arguments : module.present_buffers;
    if ((present >> parameter.index & 1u) == 0) continue;
    const Reflected& type = reflected[position];
    BoundArgument argument;
    argument.name = parameter.name;
    argument.space = threadgroup ? AddressSpace::threadgroup : parameter.space;
    argument.index = parameter.index;
    argument.is_reference = parameter.is_reference;
    argument.is_const = type.is_const || argument.space == AddressSpace::constant;
    argument.type_name = type.type_name;
    argument.element = type.element;
    argument.element_count = type.count;
    argument.size = type.size;
    argument.layout = type.layout;
    layout.arguments.push_back(std::move(argument));
  }
  return layout;
}

}  // namespace assay::metal::compile

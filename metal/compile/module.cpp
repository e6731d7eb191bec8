// Loads a compiled kernel, and combines its reflection with its translation.
#include "metal/compile/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "metal/compile/object_check.h"
#include "metal/errors.h"

namespace assay::metal::compile {

namespace {

std::mutex loaded_mutex;
std::map<std::string, std::string>& loaded_files() {
  static auto& all = *new std::map<std::string, std::string>();
  return all;
}

[[noreturn]] void throw_of_another_build(const std::string& found) {
  throw EnvironmentError(
      fmt::format("the shader headers or the compiler plugin do not belong to this build of assay (lane interface {}, this one has {}): "
                  "rebuild assay",
                  found, abi::kVersion));
}

}  // namespace

Module::Module(std::filesystem::path path) : path_(std::move(path)) {
  const ObjectFile object = ObjectFile::read(path_);
  check_object(object);
  const ObjectFile::Symbol* symbol = object.find("__assay_module");
  if (symbol == nullptr) throw_of_another_build("none");
  const auto version = object.read_u32(symbol->address);
  if (version != abi::kVersion) throw_of_another_build(version ? std::to_string(*version) : "none");
  const auto all = object.array<abi::Module>(symbol->address, 1);
  if (!all) throw_of_another_build("half of one");
  const auto address = object.pointer_at(symbol->address + offsetof(abi::Module, reflection));
  const auto text = address ? object.read_string(*address) : std::nullopt;
  if (!text) throw_of_another_build("one without reflection");
  reflection_ = *text;
  const auto refusal = object.pointer_at(symbol->address + offsetof(abi::Module, vector_refusal));
  const auto reason = refusal ? object.read_string(*refusal) : std::nullopt;
  if (!reason) throw_of_another_build("one without engines");
  vector_refusal_ = *reason;
  const abi::Module& numbers = all->front();
  description_.version = numbers.version;
  description_.threadgroup_bytes = numbers.threadgroup_bytes;
  description_.present_buffers = numbers.present_buffers;
  description_.present_threadgroup_arguments = numbers.present_threadgroup_arguments;
  description_.max_total_threads = numbers.max_total_threads;
}

Module::~Module() {
  if (handle_ != nullptr) dlclose(handle_);
}

const abi::Module& Module::code(void (*connect)(const abi::Module&)) const {
  std::call_once(loaded_, [&] {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw EnvironmentError(fmt::format("cannot load the compiled kernel: {}", dlerror()));
    code_ = static_cast<const abi::Module*>(dlsym(handle_, "__assay_module"));
    {
      const std::lock_guard lock(loaded_mutex);
      loaded_files().try_emplace(path_.string(), base::read_file(path_).value_or(""));
    }
    connect(*code_);
  });
  return *code_;
}

std::string_view bytes_of_loaded(const std::string& file) {
  const std::lock_guard lock(loaded_mutex);
  const auto found = loaded_files().find(file);
  return found == loaded_files().end() ? std::string_view() : found->second;
}

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
std::map<std::size_t, Reflected> parse_reflection(const std::string& text) {
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

std::vector<ConstantTable> parse_tables(const std::string& text) {
  std::vector<ConstantTable> tables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string scalar;
    std::string numbers;
    if (words >> kind; kind != "table") continue;
    ConstantTable& table = tables.emplace_back();
    words >> table.line >> scalar >> numbers >> table.name;
    table.type = scalar_named(scalar);
    table.file = rest_of(words);
    for (const std::string_view number : base::split(numbers, ',')) {
      std::uint64_t bits = 0;
      std::from_chars(number.data(), number.data() + number.size(), bits, 16);
      table.bits.push_back(bits);
    }
  }
  return tables;
}

}  // namespace

ArgumentLayout layout_of(const translate::Kernel& kernel, const Module& of) {
  const abi::Module& module = of.description();
  ArgumentLayout layout;
  layout.function = kernel.host_name;
  layout.file = kernel.file;
  layout.line = kernel.line;
  layout.static_threadgroup_bytes = module.threadgroup_bytes;
  layout.vector_refusal = of.vector_refusal();
  layout.max_total_threads = kernel.max_total_threads;
  layout.tables = parse_tables(of.reflection());
  if (module.max_total_threads != 0) layout.max_total_threads = std::min(layout.max_total_threads, module.max_total_threads);
  auto reflected = parse_reflection(of.reflection());
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

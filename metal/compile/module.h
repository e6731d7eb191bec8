// A compiled kernel in memory, and the compiler's description of its arguments.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "metal/argument_layout.h"
#include "metal/lane_abi.h"
#include "metal/translate/translation.h"

namespace assay::metal::compile {

// A compiled kernel: its description, read from its file as data, and its code, which is loaded only on demand.
class Module {
 public:
  // Throws EnvironmentError if the file cannot be read or belongs to another build, and CompileError if it is more than a kernel
  // (object_check.h).
  explicit Module(std::filesystem::path path);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  // Its numbers, without its pointers, which are null.
  [[nodiscard]] const abi::Module& description() const { return description_; }
  [[nodiscard]] const std::string& reflection() const { return reflection_; }  // in the grammar of pass/reflection.h
  // Why SIMD-groups of the kernel cannot run as vectors; empty if they can, and under other policies than `native`.
  [[nodiscard]] const std::string& vector_refusal() const { return vector_refusal_; }

  // The code in this process. On the first call it is loaded, and `connect` stores the runtime's functions in its services. They belong to
  // a layer above this one. Throws EnvironmentError.
  [[nodiscard]] const abi::Module& code(void (*connect)(const abi::Module&)) const;

 private:
  std::filesystem::path path_;
  abi::Module description_{};
  std::string reflection_;
  std::string vector_refusal_;
  mutable std::once_flag loaded_;
  mutable void* handle_ = nullptr;
  mutable const abi::Module* code_ = nullptr;
};

// The bytes of the file of a module that this process has loaded, by the name that the dynamic linker has for it; empty for any other. A
// process that may open no file any more still finds its line table there.
[[nodiscard]] std::string_view bytes_of_loaded(const std::string& file);

// The host's view of a kernel's arguments, from its translation and the reflection of its module.
[[nodiscard]] ArgumentLayout layout_of(const translate::Kernel& kernel, const Module& module);

}  // namespace assay::metal::compile

// A compiled kernel in memory, and the compiler's description of its arguments.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>

#include "metal/argument_layout.h"
#include "metal/lane_abi.h"
#include "metal/translate/translation.h"

namespace assay::metal::compile {

// A loaded shared object. It can run once it is connected to the runtime.
class LoadedModule {
 public:
  // Throws EnvironmentError if the object cannot be loaded, and CompileError if it lacks a function.
  explicit LoadedModule(const std::filesystem::path& path);
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule();

  [[nodiscard]] const abi::Module& module() const { return *module_; }

  // On the first call, `fill` stores the runtime's functions in module().services. They belong to a layer above this one.
  void connect(void (*fill)(const abi::Module&)) const { std::call_once(connected_, fill, *module_); }

 private:
  void* handle_ = nullptr;
  const abi::Module* module_ = nullptr;
  mutable std::once_flag connected_;
};

// The host's view of a kernel's arguments, from its translation and the reflection of its module.
[[nodiscard]] ArgumentLayout layout_of(const translate::Kernel& kernel, const abi::Module& module);

}  // namespace assay::metal::compile

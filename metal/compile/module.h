// A compiled kernel in memory, and what its compiler said about its arguments.
#pragma once

#include <filesystem>
#include <memory>

#include "metal/argument_layout.h"
#include "metal/lane_abi.h"
#include "metal/translate/translation.h"

namespace assay::metal::compile {

// Loads a shared object and connects it to the runtime. Throws EnvironmentError if it cannot be loaded.
class LoadedModule {
 public:
  explicit LoadedModule(const std::filesystem::path& path);
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule();

  [[nodiscard]] const abi::Module& module() const { return *module_; }

 private:
  void* handle_ = nullptr;
  const abi::Module* module_ = nullptr;
};

// The host's view of a kernel's arguments, from its translation and its module's reflection.
[[nodiscard]] ArgumentLayout layout_of(const translate::Kernel& kernel, const abi::Module& module);

}  // namespace assay::metal::compile

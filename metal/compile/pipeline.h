// The contents of a pipeline; internal to metal/.
#pragma once

#include "metal/compile/cache.h"
#include "metal/compile/library.h"
#include "metal/compile/module.h"

namespace assay::metal {

struct Pipeline::Impl {
  Impl(PipelineDescriptor of, const translate::Kernel& kernel, const std::filesystem::path& object)
      : descriptor(std::move(of)), module(object), layout(compile::layout_of(kernel, module)), code_digest(compile::entry_digest(object)) {}

  // Loads the code into this process.
  [[nodiscard]] const abi::Module& code(void (*connect)(const abi::Module&)) const { return module.code(connect); }

  PipelineDescriptor descriptor;
  compile::Module module;
  ArgumentLayout layout;
  std::string code_digest;
};

}  // namespace assay::metal

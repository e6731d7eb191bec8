// The contents of a pipeline; internal to metal/.
#pragma once

#include "metal/compile/cache.h"
#include "metal/compile/library.h"
#include "metal/compile/module.h"

namespace assay::metal {

struct Pipeline::Impl {
  Impl(PipelineDescriptor of, const translate::Kernel& kernel, const std::filesystem::path& object)
      : descriptor(std::move(of)),
        loaded(object),
        layout(compile::layout_of(kernel, loaded.module())),
        code_digest(compile::entry_digest(object)) {}

  // The code, loaded into this process and connected to the runtime by `connect`.
  [[nodiscard]] const abi::Module& code(void (*connect)(const abi::Module&)) const {
    loaded.connect(connect);
    return loaded.module();
  }

  PipelineDescriptor descriptor;
  compile::LoadedModule loaded;
  ArgumentLayout layout;
  std::string code_digest;
};

}  // namespace assay::metal

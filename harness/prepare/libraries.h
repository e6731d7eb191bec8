// The libraries of a variant: its source, compiled with the settings of its host.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/variant.h"
#include "metal/compile/library.h"

namespace assay::harness {

// The settings that `variant` gives for its compilation. `configuration`: further macros, those of an entry.
[[nodiscard]] metal::CompileOptions compile_options(const kernels::Variant& variant, const std::vector<std::string>& configuration = {});

// Preprocesses and translates each library once.
class Libraries {
 public:
  explicit Libraries(bool fp_contract) : fp_contract_(fp_contract) {}

  // The library with the functions of `entry`. Throws metal::CompileError, metal::EnvironmentError.
  [[nodiscard]] std::shared_ptr<metal::Library> of(const kernels::Variant& variant, const std::vector<std::string>& configuration);

 private:
  bool fp_contract_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::shared_ptr<metal::Library>> libraries_;  // by variant and configuration
};

}  // namespace assay::harness

// The libraries of a variant: its source, compiled as its host has it compiled.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/variant.h"
#include "metal/compile/library.h"

namespace assay::harness {

// What `variant` says of its compilation; `configuration`: further macros, those of an entry.
[[nodiscard]] metal::CompileOptions compile_options(const kernels::Variant& variant, const std::vector<std::string>& configuration = {});

// Each is preprocessed and translated once.
class Libraries {
 public:
  explicit Libraries(bool fp_contract) : fp_contract_(fp_contract) {}

  // The one that a function of `entry` is from. Throws metal::CompileError, metal::EnvironmentError.
  [[nodiscard]] std::shared_ptr<metal::Library> of(const kernels::Variant& variant, const std::vector<std::string>& configuration);

 private:
  bool fp_contract_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::shared_ptr<metal::Library>> libraries_;  // by variant and configuration
};

}  // namespace assay::harness

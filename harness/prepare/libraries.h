// The libraries of a variant: its source, compiled with the settings of its host.
#pragma once

#include <map>
#include <memory>
#include <span>
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

  // Makes the libraries of several variants without further macros, up to `jobs` at a time: most of the time that it takes to start a run
  // of many variants. Ignores failures: the later request reports them.
  void make_ahead(std::span<const kernels::Variant* const> variants, unsigned jobs);

 private:
  [[nodiscard]] std::shared_ptr<metal::Library> make(const kernels::Variant& variant, const std::vector<std::string>& configuration) const;

  bool fp_contract_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::shared_ptr<metal::Library>> libraries_;  // by variant and configuration
};

}  // namespace assay::harness

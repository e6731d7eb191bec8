// Compiles the libraries of a variant, and keeps them.
#include "harness/prepare/libraries.h"

namespace assay::harness {

metal::CompileOptions compile_options(const kernels::Variant& variant, const std::vector<std::string>& configuration) {
  metal::CompileOptions options;
  options.definitions = variant.compile.definitions;
  options.include_directories = variant.compile.include_directories;
  if (variant.compile.metal_version) options.metal_version = *variant.compile.metal_version;
  options.configuration = configuration;
  return options;
}

std::shared_ptr<metal::Library> Libraries::of(const kernels::Variant& variant, const std::vector<std::string>& configuration) {
  auto& library = libraries_[{variant.name, configuration}];
  if (library == nullptr) {
    metal::CompileOptions options = compile_options(variant, configuration);
    options.fp_contract = fp_contract_;
    library = metal::Library::from_files(variant.translation_unit(), options);
  }
  return library;
}

}  // namespace assay::harness

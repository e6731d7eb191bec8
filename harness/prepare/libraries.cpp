// Compiles the libraries of a variant, and keeps them.
#include "harness/prepare/libraries.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace assay::harness {

metal::CompileOptions compile_options(const kernels::Variant& variant, const std::vector<std::string>& configuration) {
  metal::CompileOptions options;
  options.definitions = variant.compile.definitions;
  options.include_directories = variant.compile.include_directories;
  if (variant.compile.metal_version) options.metal_version = *variant.compile.metal_version;
  options.configuration = configuration;
  return options;
}

std::shared_ptr<metal::Library> Libraries::make(const kernels::Variant& variant, const std::vector<std::string>& configuration) const {
  metal::CompileOptions options = compile_options(variant, configuration);
  options.fp_contract = fp_contract_;
  return metal::Library::from_files(variant.translation_unit(), options);
}

void Libraries::make_ahead(std::span<const kernels::Variant* const> variants, unsigned jobs) {
  std::vector<std::shared_ptr<metal::Library>> made(variants.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < variants.size(); i = next++) {
      try {
        made[i] = make(*variants[i], {});
      } catch (const std::exception&) {
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(jobs, variants.size()); ++i) threads.emplace_back(work);
    work();
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (made[i] != nullptr) libraries_[{variants[i]->name, {}}] = std::move(made[i]);
  }
}

std::shared_ptr<metal::Library> Libraries::of(const kernels::Variant& variant, const std::vector<std::string>& configuration) {
  auto& library = libraries_[{variant.name, configuration}];
  if (library == nullptr) library = make(variant, configuration);
  return library;
}

}  // namespace assay::harness

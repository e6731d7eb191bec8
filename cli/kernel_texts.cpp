// Compares digests of texts.
#include "cli/kernel_texts.h"

#include "base/hash.h"
#include "cli/kernel_files.h"

namespace assay::cli {
namespace {

std::string digest_of(const std::filesystem::path& file) { return base::Hash().add(text_of_kernel_file(file)).hex(); }

}  // namespace

KernelTexts::KernelTexts(std::span<const kernels::Variant> variants) {
  for (const kernels::Variant& variant : variants) {
    for (const std::filesystem::path& file : kernel_files(variant)) texts_.push_back({variant.name, file, digest_of(file)});
  }
}

std::filesystem::path KernelTexts::changed(const std::string& variant) const {
  for (const Text& text : texts_) {
    if (text.variant == variant && digest_of(text.file) != text.digest) return text.file;
  }
  return {};
}

}  // namespace assay::cli

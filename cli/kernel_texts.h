// Notices that a kernel was saved while a command works on it for minutes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/variant.h"

namespace assay::cli {

// The texts of variants, with what they include, as they were when this was made.
class KernelTexts {
 public:
  KernelTexts() = default;
  explicit KernelTexts(std::span<const kernels::Variant> variants);

  // The first file of the variant whose text is another one now; empty if there is none.
  [[nodiscard]] std::filesystem::path changed(const std::string& variant) const;

 private:
  struct Text {
    std::string variant;
    std::filesystem::path file;
    std::string digest;
  };
  std::vector<Text> texts_;
};

}  // namespace assay::cli

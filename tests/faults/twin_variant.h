// A variant of ours with one planted mistake, made ready to run.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/run/workbench.h"
#include "kernels/variant.h"
#include "tests/faults/twins.h"

namespace assay::tests {

// A variant whose source is a twin's, in a folder of its own.
class TwinVariant {
 public:
  TwinVariant(std::string_view name, const Twin& twin) : catalogue_(kernels::find_variants(kernels::default_variants_directory())) {
    variant_ = &*std::ranges::find(catalogue_, name, &kernels::Variant::name);
    text_ = read(variant_->source);
    const std::size_t place = text_.find(twin.from);
    EXPECT_NE(place, std::string::npos) << "not in kernel.metal of " << name << ": " << twin.from;
    if (place == std::string::npos) return;
    EXPECT_EQ(text_.find(twin.from, place + 1), std::string::npos) << "more than once in kernel.metal of " << name << ": " << twin.from;
    text_.replace(place, twin.from.size(), twin.to);
    // The path is part of what is compiled: the same for every run, so that the cache of compiled kernels serves the next one.
    folder_ = std::filesystem::temp_directory_path() / folder_name(name, twin);
    std::filesystem::create_directories(folder_);
    const std::filesystem::path temporary = folder_ / std::to_string(getpid());
    std::ofstream(temporary, std::ios::binary) << text_;
    std::filesystem::rename(temporary, folder_ / "kernel.metal");
    variant_->source = folder_ / "kernel.metal";
  }

  [[nodiscard]] harness::Case parse(std::string_view case_words, std::string_view more_words) const {
    std::string name = variant_->name + "/" + std::string(case_words);
    if (!more_words.empty()) name.append("/").append(more_words);
    return harness::parse_case(name, harness::find_family(variant_->family));
  }
  [[nodiscard]] const std::vector<kernels::Variant>& catalogue() const { return catalogue_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] harness::Workbench prepare(const std::vector<harness::Case>& cases) const { return {catalogue_, cases, {}}; }

 private:
  static std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::string folder_name(std::string_view variant, const Twin& twin) {
    return "assay_twins_" + std::to_string(getuid()) + "/" + std::string(variant) + "_" + std::string(twin.name);
  }

  std::vector<kernels::Variant> catalogue_;
  kernels::Variant* variant_ = nullptr;
  std::string text_;
  std::filesystem::path folder_;
};

}  // namespace assay::tests

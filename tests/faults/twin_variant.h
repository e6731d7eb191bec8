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
#include <utility>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/prepare/workbench.h"
#include "kernels/variant.h"
#include "tests/faults/twins.h"

namespace assay::tests {

// A variant whose source is a twin's, in a folder of its own.
class TwinVariant {
 public:
  TwinVariant(std::string_view name, const Twin& twin) : TwinVariant(name) {
    text_ = read(variant_->source);
    const std::size_t place = text_.find(twin.from);
    EXPECT_NE(place, std::string::npos) << "not in kernel.metal of " << name << ": " << twin.from;
    if (place == std::string::npos) return;
    EXPECT_EQ(text_.find(twin.from, place + 1), std::string::npos) << "more than once in kernel.metal of " << name << ": " << twin.from;
    place_ = place;
    text_.replace(place, twin.from.size(), twin.to);
    install(std::string(name) + "_" + std::string(twin.name));
  }
  // With this text in place of its own.
  TwinVariant(std::string_view name, std::string_view twin_name, std::string text) : TwinVariant(name) {
    text_ = std::move(text);
    install(std::string(name) + "_" + std::string(twin_name));
  }

  [[nodiscard]] harness::Case parse(std::string_view case_words, std::string_view more_words) const {
    std::string name = variant_->name + "/" + std::string(case_words);
    if (!more_words.empty()) name.append("/").append(more_words);
    return harness::parse_case(name, families::family_of(*variant_));
  }
  [[nodiscard]] const std::vector<kernels::Variant>& catalogue() const { return catalogue_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  // Where the mistake begins in the text, in bytes.
  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] harness::Workbench prepare(const std::vector<harness::Case>& cases) const { return {catalogue_, cases, {}}; }

 private:
  explicit TwinVariant(std::string_view name)
      : catalogue_(kernels::find_variants(kernels::default_variants_directory(), families::contracts())) {
    variant_ = &*std::ranges::find(catalogue_, name, &kernels::Variant::name);
  }

  // The path is part of what is compiled: the same for every run, so that the cache of compiled kernels serves the next one.
  void install(const std::string& twin) {
    folder_ = std::filesystem::temp_directory_path() / ("assay_twins_" + std::to_string(getuid())) / twin;
    std::filesystem::create_directories(folder_);
    const std::filesystem::path temporary = folder_ / std::to_string(getpid());
    std::ofstream(temporary, std::ios::binary) << text_;
    std::filesystem::rename(temporary, folder_ / "kernel.metal");
    variant_->source = folder_ / "kernel.metal";
  }

  static std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::vector<kernels::Variant> catalogue_;
  kernels::Variant* variant_ = nullptr;
  std::string text_;
  std::size_t place_ = 0;
  std::filesystem::path folder_;
};

}  // namespace assay::tests

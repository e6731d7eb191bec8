// Rows of the policy `checked`: a kernel each, and what must be found in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "metal/hazard.h"

namespace assay::tests {

// As lines of a CheckedRow: where its helpers stand, and where the kernel begins.
inline constexpr std::uint32_t kHelperLine = ~std::uint32_t{0};
inline constexpr std::uint32_t kKernelLine = kHelperLine - 1;

struct CheckedRow {
  std::string name;
  metal::HazardKind kind;
  std::string body;              // 2 threadgroups of 64 threads; out 256 words, in 64 words, scratch 64 unwritten floats, sh 1024 bytes
  std::uint32_t first_line = 0;  // in the body, from 1; 0: nothing must be found
  std::uint32_t second_line = 0;
  std::string words = {};    // of the message
  std::string helpers = {};  // what stands in front of the kernel
};

inline void PrintTo(const CheckedRow& row, std::ostream* stream) { *stream << row.name; }

// Instantiated with rows in several files.
class Checked : public ::testing::TestWithParam<CheckedRow> {};

inline constexpr auto kNameOfRow = [](const ::testing::TestParamInfo<CheckedRow>& info) { return info.param.name; };

}  // namespace assay::tests

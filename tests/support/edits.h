// A kernel for edits, and a look for one among those that triage would try.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::tests {

// Line 9 has the first condition; `mask_head_stride` and `high` are used nowhere.
inline constexpr std::string_view kEditedKernel = R"(#include <metal_stdlib>
constant int kTile = 16;
struct Params { int heads; int queries; float low; float high; int n; };
kernel void mine(device const float * mask [[buffer(0)]], device float * out [[buffer(1)]], constant Params & params [[buffer(2)]],
                 constant int & mask_head_stride [[buffer(3)]], constant int & mask_query_stride [[buffer(4)]], int head, int query) {
  const int mask_row = query * mask_query_stride;
  const float base = params.low;
  const int tiles = min(params.n, query + params.queries);
  for (int j = 0; j < tiles; ++j) {
    const bool hidden = query > 3 && j < params.heads;
    out[head % params.heads + j] = hidden ? 0.0f : base * mask[mask_row + j];
  }
}
)";

inline harness::LineSuspicion all_lines(const harness::Source& source) {
  harness::LineSuspicion all;
  for (std::uint32_t line = 1; line <= source.line_count(); ++line) all.by_line[line] = 1;
  return all;
}

// Whether one of the edits turns the source's text `from`, where it stands first, into `to`, and changes nothing else.
inline bool makes(const std::vector<harness::Edit>& edits, const harness::Source& source, std::string_view from, std::string_view to) {
  std::string wanted = source.text();
  const std::size_t at = wanted.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  wanted.replace(at, from.size(), to);
  return std::ranges::any_of(edits, [&](const harness::Edit& edit) { return harness::edited(source.text(), edit) == wanted; });
}

}  // namespace assay::tests

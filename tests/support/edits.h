// Looks for an edit among those that triage would try.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"

namespace assay::tests {

// Whether one of the edits turns the source's text `from`, where it stands first, into `to`, and changes nothing else.
inline bool makes(const std::vector<harness::Edit>& edits, const harness::Source& source, std::string_view from, std::string_view to) {
  std::string wanted = source.text();
  const std::size_t at = wanted.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  wanted.replace(at, from.size(), to);
  return std::ranges::any_of(edits, [&](const harness::Edit& edit) { return harness::edited(source.text(), edit) == wanted; });
}

}  // namespace assay::tests

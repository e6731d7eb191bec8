// The edits that mutation operators make in a piece of source. Internal to harness/mutate; mutant.h describes the operators.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"

namespace assay::harness {

// Bytes [offset, offset + length) of the source become `replacement`, and so do as many at each offset of `also`, all of them larger.
struct Edit {
  std::string_view op;
  std::size_t offset = 0, length = 0;
  std::string replacement;
  std::vector<std::size_t> also = {};

  // All offsets, in ascending order.
  [[nodiscard]] std::vector<std::size_t> offsets() const {
    std::vector<std::size_t> all = {offset};
    all.insert(all.end(), also.begin(), also.end());
    return all;
  }
};

// The text with the edit made.
[[nodiscard]] std::string edited(std::string text, const Edit& edit);

// The edits of all operators in one piece; `text` is the whole source.
[[nodiscard]] std::vector<Edit> edits_of(const SourcePiece& piece, std::string_view text);

// The integer literal plus one, in the same base and with the same suffix; empty if it is not an integer literal.
[[nodiscard]] std::string plus_one(std::string_view literal);
// The literal plus a thousandth, or 1 for 0, in float precision and with the same suffix; empty if it is not a floating literal.
[[nodiscard]] std::string changed_float(std::string_view literal);

}  // namespace assay::harness

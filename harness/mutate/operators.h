// The edits that mutation operators make of a piece of source. Internal to harness/mutate; mutant.h says what each operator does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"

namespace assay::harness {

// Bytes [offset, offset + length) of the source become `replacement`.
struct Edit {
  std::string_view op;
  std::size_t offset = 0, length = 0;
  std::string replacement;
};

[[nodiscard]] std::vector<Edit> edits_of(const SourcePiece& piece, std::string_view text);

// What an integer literal becomes when it grows by one, in its own base and with its suffix; empty if it is none.
[[nodiscard]] std::string plus_one(std::string_view literal);
// A thousandth more, or 1 for 0, in float precision and with its suffix; empty if it is no floating literal.
[[nodiscard]] std::string changed_float(std::string_view literal);

}  // namespace assay::harness

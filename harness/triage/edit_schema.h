// One source that holds many edits, of which a kernel makes one while it runs: so many edits cost one compilation.
//
// A value `v` with edits `a` and `b` becomes `(__assay_choice() == 1u ? (a) : __assay_choice() == 2u ? (b) : (v))`, a statement a chain of
// `if`. __assay_choice() is SimulatorOptions::choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"

namespace assay::harness {

class EditSchemata {
 public:
  explicit EditSchemata(const Source& source);

  // Whether the edit only changes values or statements of functions. Others change what the compiler must know: constants, types,
  // declarations, macros.
  [[nodiscard]] bool can_hold(const Edit& edit) const { return !containers_of(edit).empty(); }

  // Whether both edits change the same value or statement; can_hold() is true for both.
  [[nodiscard]] bool share_place(const Edit& one, const Edit& other) const;

  struct Schema {
    std::string text;
    // The lines [first, last) of the text that only the edit has; by edit, for each value or statement that it changes.
    struct Lines {
      std::uint32_t first = 0, last = 0;
    };
    std::vector<std::vector<Lines>> lines;
  };
  // The source in which choice i + 1 makes edits[i], and choice 0 none; can_hold() is true for each.
  [[nodiscard]] Schema schema_of(std::span<const Edit> edits) const;

 private:
  // Bytes [begin, end) of the source: a value, or a statement without its semicolon.
  struct Container {
    std::size_t begin = 0, end = 0;
    bool is_statement = false;
  };
  [[nodiscard]] std::optional<std::size_t> container_of(std::size_t offset, std::size_t length) const;
  // In the order of the text; empty if one of its places is in none.
  [[nodiscard]] std::set<std::size_t> containers_of(const Edit& edit) const;

  const std::string& text_;
  std::vector<Container> containers_;  // in the order of the text, without overlaps
};

// The edits in whose lines the compiler found an error, by its messages ("file:12: error: ..."); empty if every error is elsewhere.
[[nodiscard]] std::vector<std::size_t> edits_with_errors(const EditSchemata::Schema& schema, std::string_view messages);

}  // namespace assay::harness

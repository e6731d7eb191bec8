// A case: one variant at one point of its family's axes, with one fixture and one seed; and the name that replays it.
//
// Grammar of a name: words joined by '/'. The first word is the variant. The others are the family's words (families/family.h), a
// fixture's name and `s<seed>`, each once and in any order. format_case() writes the family's words in the family's order, then the
// fixture and the seed:
//
//   tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
//
// A further word `beyond-<id>` names the omission of the family (families/omission.h) that the case is about, if it is about one.
// h5-<stem> instead of a fixture means: inputs from the file <stem>.h5 (harness/cases/file_case.h). Numbers are decimal without sign
// and without leading zeros. parse_case(format_case(c)) == c for every case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "families/registry.h"

namespace assay::harness {

using families::all_families;
using families::Axis;
using families::Case;
using families::Family;
using families::family_of;
using families::find_family;
using families::Omission;

[[nodiscard]] std::string format_case(const Case& value);

// Reads the words after the variant's. Throws std::invalid_argument with the offending word and the accepted ones.
[[nodiscard]] Case parse_case(std::string_view name, const Family& family);

// The words after the variant's in a name, as people write them: "d<head_dim>/h<heads>.../<fixture>/s<seed>". Optional words
// are in brackets.
[[nodiscard]] std::string name_grammar(const Family& family);

// "beyond-softcap", ...: the words for omissions that cases of the family can be about.
[[nodiscard]] std::vector<std::string> testable_omissions(const Family& family);

// The first word of a name.
[[nodiscard]] std::string_view variant_of(std::string_view name);
// The omission in a name; empty if there is none.
[[nodiscard]] std::string_view beyond_of(std::string_view name);

}  // namespace assay::harness

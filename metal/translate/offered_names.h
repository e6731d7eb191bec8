// Names of metal/shader/offered.h, which are in namespace metal only for a source that needs them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "metal/translate/lexer.h"

namespace assay::metal::translate {

// All of them, sorted.
[[nodiscard]] std::span<const std::string_view> offered_names();

// A line that adds to namespace metal the names that `stream` mentions and does not declare; empty if there is none.
//
// A name that the source declares itself, outside of all namespaces or in metal, is the source's own: with ours it would be ambiguous or
// a redefinition. Declared in another namespace, it hides ours there; ours comes in only if the source says `metal::name`.
[[nodiscard]] std::string offer_names(const TokenStream& stream);

}  // namespace assay::metal::translate

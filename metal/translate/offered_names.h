// Names of metal/shader/offered.h, which are in namespace metal only for a source that needs them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "metal/translate/lexer.h"

namespace assay::metal::translate {

// All offered names, sorted.
[[nodiscard]] std::span<const std::string_view> offered_names();

// A line that adds to namespace metal the names that `stream` mentions and does not declare; empty if there are none.
//
// If the source declares a name itself, outside of all namespaces or in metal, the source's declaration counts: ours would make the
// name ambiguous or redefine it. If it declares the name in another namespace, that declaration hides ours there. Then ours is added
// only if the source says `metal::name`.
[[nodiscard]] std::string offer_names(const TokenStream& stream);

}  // namespace assay::metal::translate

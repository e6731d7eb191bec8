// What a source may say to the compiler: attributes, pragmas and builtins of a list, and nothing that names code outside of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "metal/translate/lexer.h"

namespace assay::metal::translate {

// Throws CompileError at the first construct by which a source reaches code or data that is not the kernel's: language linkage, assembly,
// attributes that place or run code, names of ours, digraphs that hide one of them.
void require_permitted(const TokenStream& stream);

// Why a directive is refused that the preprocessor has left in its output; nothing if it may stay. From its `#` on.
[[nodiscard]] std::optional<std::string> refused_directive(std::string_view directive);

}  // namespace assay::metal::translate

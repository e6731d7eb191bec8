// One text from the files of a library and all that they include: Metal's newLibraryWithSource() opens no file.
#pragma once

#include <cstddef>
#include <string>

#include "metal/compile/library.h"

namespace assay::harness {

// The text says with `#line` where its lines come from, by names without folders, so that it is the same on every machine. Macros of the
// library stand at its top. `#pragma once` becomes an include guard. An include that no folder of the library has stays as it is: it is
// Metal's own, or missing. Throws std::invalid_argument for a file that cannot be read or includes itself without a guard, and for more
// text than kLargestFlatSource.
inline constexpr std::size_t kLargestFlatSource = std::size_t{16} << 20;
[[nodiscard]] std::string flat_source(const metal::Library& library);

}  // namespace assay::harness

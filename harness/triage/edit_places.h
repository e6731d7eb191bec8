// Which places of a source an edit may repair, at which others it belongs too, and how it is written there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"

namespace assay::harness {

// Leaves out edits of lines that only instantiate templates: `template ... f<float, 64>;` or a macro's name with its arguments, outside of
// functions. Whether a kernel computes the right numbers does not depend on them.
void leave_out_instantiations(const Source& source, std::vector<Edit>& edits);

// The edit at each place of the piece that has the same tokens there, the two before and the one behind: keys and values, for example, are
// often found by the same expression. A call of another function is changed wherever that function is called. nullopt if there is no other
// place, or if there are more than a mistake would be copied to.
[[nodiscard]] std::optional<Edit> repeated(const Source& source, const Edit& edit);

// The same edit as somebody would write it, with the same meaning: `(1 - 1)` is 0, nothing adds or subtracts 0, and no parentheses stand
// where nothing around them binds as strongly.
[[nodiscard]] Edit simplified(const Source& source, Edit edit);

}  // namespace assay::harness

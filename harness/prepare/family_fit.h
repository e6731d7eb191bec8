// Detects which family a kernel file implements, as `run --kernel FILE --family F` would find it, and what is missing for
// the nearest family.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/contract.h"
#include "metal/compile/library.h"

namespace assay::harness {

// Whether the number, names and indices of a function's arguments allow it to bind as one of the family, as far as declarations show.
// Only compiling gives the answer.
[[nodiscard]] bool may_bind(const kernels::FamilyContract& contract, const metal::FunctionDeclaration& function);

// The function with most arguments in common with the family; `functions` must not be empty.
[[nodiscard]] const metal::FunctionDeclaration& nearest_function(const kernels::FamilyContract& contract,
                                                                 std::span<const metal::FunctionDeclaration> functions);

struct FamilyFit {
  std::string family;
  std::map<std::string, std::vector<std::string>> functions;  // by entry; several if their names do not decide
  bool is_named = false;                                      // the functions have the family's names; otherwise only their arguments match
};

struct NearestFamily {
  std::string family;
  std::string function;
  std::string obstacle;  // the error of binding it as one of the family
};

struct FamilyFits {
  std::vector<FamilyFit> fits;           // in the order of the contracts
  std::optional<NearestFamily> nearest;  // if none fits and some family has an argument in common
};

// Compiles only the functions that may bind, and the nearest one. Throws metal::EnvironmentError.
[[nodiscard]] FamilyFits fit_families(const metal::Library& library);

// "its arguments are those of family FAMILY (d256: rotate_256)", or a sentence that no family fits, with what is missing for the
// nearest one. Also names the command that shows more about `file`.
[[nodiscard]] std::string families_sentence(const metal::Library& library, std::string_view file);

}  // namespace assay::harness

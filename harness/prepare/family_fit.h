// Which family a kernel file implements, as `run --kernel FILE --family F` would find it, and what the nearest one misses.
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

// Whether the number of a function's arguments, and their names and indices as far as they can be told without compiling it, allow that it
// binds as one of the family. Compiling tells.
[[nodiscard]] bool may_bind(const kernels::FamilyContract& contract, const metal::FunctionDeclaration& function);

// The one with most arguments in common with the family; `functions` is not empty.
[[nodiscard]] const metal::FunctionDeclaration& nearest_function(const kernels::FamilyContract& contract,
                                                                 std::span<const metal::FunctionDeclaration> functions);

struct FamilyFit {
  std::string family;
  std::map<std::string, std::vector<std::string>> functions;  // by entry; several where no name says which
  bool is_named = false;  // the functions have the family's names; else their arguments alone speak for it
};

struct NearestFamily {
  std::string family;
  std::string function;
  std::string obstacle;  // what binding it as one of the family says
};

struct FamilyFits {
  std::vector<FamilyFit> fits;           // in the order of the contracts
  std::optional<NearestFamily> nearest;  // where none fits and some has an argument in common
};

// Compiles no more functions than may bind, and the nearest one. Throws metal::EnvironmentError.
[[nodiscard]] FamilyFits fit_families(const metal::Library& library);

// "its arguments are those of family FAMILY (d256: rotate_256)", or that it is none and what the nearest misses; and which command tells
// more of `file`.
[[nodiscard]] std::string families_sentence(const metal::Library& library, std::string_view file);

}  // namespace assay::harness

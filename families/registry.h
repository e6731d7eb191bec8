// The families that the program judges: those of assay, one line each in registry.cpp, or those that its main() gives.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "kernels/contract.h"
#include "kernels/variant.h"

namespace assay::families {

// The families of assay, in the order in which people see them.
[[nodiscard]] std::vector<Family> own_families();

// Gives the program its families, instead of own_families(). Their contracts must live as long as the program. Throws
// std::invalid_argument if there are none or two have the same name, and std::logic_error if the families were used before.
void use_families(std::vector<Family> families);

// The families of the program.
[[nodiscard]] std::span<const Family> all_families();
// Throws std::invalid_argument with a list of the families.
[[nodiscard]] const Family& find_family(std::string_view name);

// The family of a variant, also where each variant defines its own axes (Family::of_variant). The reference stays valid. Throws what
// of_variant throws.
[[nodiscard]] const Family& family_of(const kernels::Variant& variant);

// The contracts of all families and of the helper functions that some of them need, in the order in which people see them.
[[nodiscard]] kernels::Contracts contracts();

// Throws std::invalid_argument with a list of the names.
[[nodiscard]] const kernels::FamilyContract& contract(std::string_view name);

}  // namespace assay::families

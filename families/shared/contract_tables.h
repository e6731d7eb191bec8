// The constant tables of TurboQuant, as the contract has them.
#pragma once

#include <vector>

#include "families/family.h"

namespace assay::families {

// Appends the centroids of that many bits, and their upper half for kernels that use the symmetry.
void add_codebook(std::vector<ContractTable>& tables, std::int64_t bits);
// Appends the decision boundaries between these centroids.
void add_boundaries(std::vector<ContractTable>& tables, std::int64_t bits);
// Appends the sign bits of the rotation, and the signs as numbers.
void add_signs(std::vector<ContractTable>& tables, std::int64_t head_dim);

}  // namespace assay::families

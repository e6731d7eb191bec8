// 8x8 simdgroup matrices: how their elements lie in the lanes, and their product.
#pragma once

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

// D = A B + C (or A B): for each element `acc = float(C)`, then `acc = fma(A[r][k], B[k][c], acc)` for k ascending, then
// one rounding to D's type. Elements of lanes that do not take part count as 0. The request's pointers are each lane's
// two elements of D, A, B, C; its words their scalar codes and whether C is added.
void perform_matrix_multiply(SimdGroup& group, LaneMask participants, const Request& first);

}  // namespace assay::metal::execute

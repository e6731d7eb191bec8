// Computes the minimum cost of a case of any family.
#include "harness/cases/minimum.h"

#include "harness/cases/case_data.h"

namespace assay::harness {

families::Minimum minimum_of(const Case& test_case, const fixtures::Shelf& shelf) {
  const CaseSource source(test_case, shelf);
  return test_case.family->minimum(test_case, source.get());
}

}  // namespace assay::harness

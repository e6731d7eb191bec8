// Computes the minimum cost of a case, whatever its family.
#include "harness/cases/minimum.h"

#include "harness/cases/case_data.h"

namespace assay::harness {

families::Minimum minimum_of(const Case& about, const fixtures::Shelf& shelf) {
  const CaseSource source(about, shelf);
  return about.family->minimum(about, source.get());
}

}  // namespace assay::harness

// A failing or passing case with the model that predicts what its kernel would compute with a known mistake.
#pragma once

#include <memory>

#include "families/mistakes.h"
#include "harness/triage/laboratory.h"

namespace assay::harness {

struct Specimen {
  std::shared_ptr<const Observation> observation;
  std::shared_ptr<const families::Model> model;  // nullptr: the family has none for the case
};

// `observation` must outlive the result.
[[nodiscard]] Specimen specimen_of(const Observation& observation, const fixtures::Shelf& shelf);

// The same for an observation with wrong elements. Of a large case with many wrong rows, a few of these rows stand for all: the others, in
// which the model then predicts nothing, count as right.
[[nodiscard]] Specimen wrong_specimen_of(const Observation& observation, const fixtures::Shelf& shelf);

}  // namespace assay::harness

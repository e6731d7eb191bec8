// What a case of a family computes, in double, so that known mistakes can be made in it on purpose.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fixtures/shelf.h"
#include "harness/cases/case.h"

namespace assay::harness {

// The base of each family's own; a row of the table of mistakes knows which.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // The codebook that values of an output must have been looked up in; empty where that cannot be told.
  [[nodiscard]] virtual std::vector<double> learn_codebook(std::span<const double> /*actual*/) const { return {}; }
};

// nullptr for a family that has no model. Throws what case_data.h does for a case on a file.
[[nodiscard]] std::shared_ptr<const Model> make_model(const Case& about, const fixtures::Shelf& shelf);

}  // namespace assay::harness

// What a case computes on: its inputs, made by a generator or read from a file, and what a file expects of them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "families/source.h"
#include "fixtures/generators.h"
#include "fixtures/hdf5_file.h"
#include "fixtures/shelf.h"
#include "harness/cases/case.h"
#include "oracles/expected.h"

namespace assay::harness {

// An expectation that came with the inputs: value and bound of every output element; no magnitudes.
struct StoredExpectation {
  std::filesystem::path file;
  oracles::Expected expected;
};

// Where a case's inputs come from: the generator that its fixture names, or the tensors of a file, read and checked.
class CaseSource {
 public:
  // Throws fixtures::FileError for a file that is not the case's, or damaged.
  CaseSource(const Case& about, const fixtures::Shelf& shelf);
  // Not copyable: the source points into it.
  CaseSource(const CaseSource&) = delete;
  CaseSource& operator=(const CaseSource&) = delete;

  [[nodiscard]] const families::Source& get() const { return source_; }
  // Only of a file, and only if it holds one.
  [[nodiscard]] const std::optional<StoredExpectation>& stored() const { return stored_; }

 private:
  std::vector<fixtures::Tensor> tensors_;
  families::Source source_;
  std::optional<StoredExpectation> stored_;
};

// Two evaluations of one expectation in double may differ by this part of the (smaller) bound. A bound covers every order of summation
// in float, and scales with the unit of rounding: in double it is 2^-29 of the float one, for each of the two 2^-28, for a libm whose
// exp errs by a whole ulp, where the bound counts half, 2^-27. A bound tightened to a shallow tree of a variant is at most
// 2^7 times smaller than the one of any order (512 + 5 roundings against 1 + 4 at the least).
inline constexpr double kAgreement = 0x1p-20;

// The first element in which two expectations are not the same up to kAgreement, as a sentence; empty if there is none.
[[nodiscard]] std::string find_disagreement(const oracles::Expected& stored, const oracles::Expected& recomputed);

}  // namespace assay::harness

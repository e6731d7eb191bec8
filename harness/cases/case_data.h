// The data of a case: its inputs, made by a generator or read from a file, and the expectation that a file may contain.
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

// An expectation that came with the inputs: value and bound of every output element, without magnitudes.
struct StoredExpectation {
  std::filesystem::path file;
  oracles::Expected expected;
};

// The source of a case's inputs: the generator that its fixture names, or the tensors of a file, read and checked.
class CaseSource {
 public:
  // Throws fixtures::FileError for a file that belongs to another case or is damaged.
  CaseSource(const Case& test_case, const fixtures::Shelf& shelf);
  // Not copyable, because the source points into it.
  CaseSource(const CaseSource&) = delete;
  CaseSource& operator=(const CaseSource&) = delete;

  [[nodiscard]] const families::Source& get() const { return source_; }

 private:
  std::vector<fixtures::Tensor> tensors_;
  families::Source source_;
};

// Only if the source of the inputs is a file that contains an expectation. Throws what CaseSource throws.
[[nodiscard]] std::optional<StoredExpectation> stored_expectation(const Case& test_case, const fixtures::Shelf& shelf);

// The part of the (smaller) bound by which two evaluations of one expectation in double may differ.
//
// A bound covers every order of summation in float, and scales with the unit of rounding. So in double it is 2^-29 of the float bound,
// and 2^-28 for two evaluations. It is 2^-27 for a libm whose exp errs by a whole ulp, where the bound allows half. A bound tightened
// to a variant's shallow tree of sums is at most 2^7 times smaller than that of any order (512 + 5 roundings against at least 1 + 4).
inline constexpr double kAgreement = 0x1p-20;

// The first element in which two expectations differ by more than kAgreement, as a sentence; empty if there is none.
[[nodiscard]] std::string find_disagreement(const oracles::Expected& stored, const oracles::Expected& recomputed);

}  // namespace assay::harness

// What a case computes on: its inputs, made by a generator or read from a file, and what a file expects of them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fixtures/dense.h"
#include "fixtures/generators.h"
#include "fixtures/hdf5_file.h"
#include "fixtures/shelf.h"
#include "harness/cases/case.h"
#include "harness/judge/judge.h"
#include "harness/judge/quantized_rows.h"
#include "harness/run/verdict.h"
#include "oracles/expected.h"
#include "oracles/fwht.h"

namespace assay::harness {

// The axes of a case in the words of fixtures and oracles. Only for cases whose values the launch code accepts.
[[nodiscard]] fixtures::DecodeRequest decode_request(const Case& about);
[[nodiscard]] fixtures::ReduceRequest reduce_request(const Case& about);
[[nodiscard]] fixtures::FwhtRequest fwht_request(const Case& about);
[[nodiscard]] fixtures::QuantizeRequest quantize_request(const Case& about);
[[nodiscard]] fixtures::DequantizeRequest dequantize_request(const Case& about);
[[nodiscard]] fixtures::DenseRequest dense_request(const Case& about);
[[nodiscard]] oracles::FwhtMode fwht_mode(const Case& about);
// The factor on scores that an attention case says.
[[nodiscard]] float score_scale(const Case& about);
// The scale_factor_d512 that a case says.
[[nodiscard]] float scale_factor_d512(const Case& about);

// What the rows of a quantize case's judged output hold.
[[nodiscard]] QuantizedRows quantized_rows(const Case& about);

// An expectation that came with the inputs: value and bound of every output element; no magnitudes.
struct StoredExpectation {
  std::filesystem::path file;
  oracles::Expected expected;
};

template <typename Inputs>
struct CaseData {
  Inputs inputs;
  std::optional<StoredExpectation> stored;  // only of a file, and only if it holds one
};

// Made or read, whichever the case's fixture says. Throws fixtures::FileError for a file that is not the case's, or damaged.
[[nodiscard]] CaseData<fixtures::DecodeInputs> decode_data(const Case& about, const fixtures::Shelf& shelf);
[[nodiscard]] CaseData<std::vector<float>> reduce_data(const Case& about, const fixtures::Shelf& shelf);
[[nodiscard]] CaseData<std::vector<float>> fwht_data(const Case& about, const fixtures::Shelf& shelf);
[[nodiscard]] CaseData<std::vector<float>> quantize_data(const Case& about, const fixtures::Shelf& shelf);
[[nodiscard]] CaseData<fixtures::DequantizeInputs> dequantize_data(const Case& about, const fixtures::Shelf& shelf);
[[nodiscard]] CaseData<fixtures::DenseInputs> dense_data(const Case& about, const fixtures::Shelf& shelf);

// Two evaluations of one expectation in double may differ by this part of the (smaller) bound. A bound covers every order of summation
// in float, and scales with the unit of rounding: in double it is 2^-29 of the float one, for each of the two 2^-28, for a libm whose
// exp errs by a whole ulp, where the bound counts half, 2^-27. A bound tightened to a shallow tree of a variant is at most
// 2^7 times smaller than the one of any order (512 + 5 roundings against 1 + 4 at the least).
inline constexpr double kAgreement = 0x1p-20;

// The first element in which two expectations are not the same up to kAgreement, as a sentence; empty if there is none.
[[nodiscard]] std::string find_disagreement(const oracles::Expected& stored, const oracles::Expected& recomputed);

// Holds the output to a stored expectation as well: `judge_by` is the judgement that the case rests on, with another expectation
// (whose magnitudes are the recomputed ones). A failure is added to the verdict's faults. Throws fixtures::FileError if the stored
// expectation is not the recomputed one: then one of them is wrong, and no output can be judged.
void judge_by_stored(Verdict& verdict, const StoredExpectation& stored, const oracles::Expected& recomputed,
                     const std::function<Judgement(const oracles::Expected&)>& judge_by);

}  // namespace assay::harness

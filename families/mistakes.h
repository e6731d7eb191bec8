// The table of known mistakes, with the output of a kernel that makes each.
//
// A row has the class of a mistake, a description, and the computation of the family's model with the mistake. A new mistake is a new
// row and changes nothing else.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::families {

// The base of each family's model; rows of the table of mistakes know the derived type.
class Model {
 public:
  Model() = default;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // The lengths of rows, whose roots are usual factors.
  [[nodiscard]] virtual std::vector<double> row_lengths() const { return {}; }
  // The table, such as a codebook or signs, that explains the values of an output; empty if it cannot be determined.
  [[nodiscard]] virtual std::vector<double> learn_codebook(std::span<const double> /*actual*/) const { return {}; }
  // The same model, which predicts only these rows of the judged output and what belongs to them in a second one: other elements may be
  // anything. nullptr: the model predicts nothing but whole outputs.
  [[nodiscard]] virtual std::shared_ptr<const Model> only_rows(const std::vector<bool>& /*rows*/) const { return nullptr; }

 protected:
  Model(const Model&) = default;
};

// The classes, in the words of reports.
namespace mistake {
inline constexpr std::string_view kWindow = "window-off-by-one";
inline constexpr std::string_view kRing = "ring-start-off-by-one";
inline constexpr std::string_view kNewest = "newest-key-lost";
inline constexpr std::string_view kOldest = "oldest-key-lost";
inline constexpr std::string_view kChunk = "lost-chunk";
inline constexpr std::string_view kNorm = "wrong-block-norm";
inline constexpr std::string_view kScale = "wrong-scale";
inline constexpr std::string_view kHead = "wrong-head-mapping";
inline constexpr std::string_view kNibbles = "swapped-nibbles";
inline constexpr std::string_view kRescale = "missing-rescale";
inline constexpr std::string_view kWorkgroup = "lost-workgroup";
inline constexpr std::string_view kSimdgroup = "lost-simdgroup";
inline constexpr std::string_view kUnnormalised = "unnormalised-output";
inline constexpr std::string_view kCodebook = "other-codebook";
inline constexpr std::string_view kHalf = "half-accumulator";
inline constexpr std::string_view kMask = "mask-missing";
inline constexpr std::string_view kMaximum = "wrong-maximum-start";
inline constexpr std::string_view kSigns = "sign-pattern";
inline constexpr std::string_view kSoftcap = "softcap";
inline constexpr std::string_view kSinks = "sinks";
inline constexpr std::string_view kStride = "wrong-stride";
inline constexpr std::string_view kCoordinates = "lost-coordinates";
inline constexpr std::string_view kLayout = "permuted-output";
inline constexpr std::string_view kTransform = "wrong-transform";
inline constexpr std::string_view kSkipped = "small-weights-skipped";
inline constexpr std::string_view kEmptyMerge = "nan-of-nothing";
inline constexpr std::string_view kBarrier = "missing-barrier";
inline constexpr std::string_view kDivergence = "divergent-barrier";
inline constexpr std::string_view kNarrow = "narrow-index";
inline constexpr std::string_view kBounds = "out-of-bounds";
inline constexpr std::string_view kUninitialised = "uninitialised";
inline constexpr std::string_view kNotWritten = "not-written";
inline constexpr std::string_view kRounding = "wrong-rounding";
inline constexpr std::string_view kClaim = "broken-claim";
inline constexpr std::string_view kUnknown = "unknown";
}  // namespace mistake

struct Mistake {
  std::string_view kind;  // one of the classes
  std::string says;       // "the window omits its oldest position"; {} is the factor, if the row has one
  // The output with the mistake, in the order of the judged output. The second argument is the factor; 1 if the row has none.
  std::function<std::vector<double>(const Model&, double)> predict;
  // Factors with which the search for the best one starts; empty: the row has none.
  std::function<std::vector<double>(const Model&)> factors = {};
  // Of rows that explain an output equally well, the one with the smallest rank is reported: a small mistake before a large one.
  int rank = 0;
  // Makes the mistake in a change of the model: a std::function<void(Change&, double)>, for predictions of two mistakes at once.
  std::any change = {};
  // The output with this mistake and another one of the same table, with their factors.
  std::function<std::vector<double>(const Model&, double, const Mistake&, double)> predict_both = {};
};

}  // namespace assay::families

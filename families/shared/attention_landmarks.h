// The landmarks of attention rows, for all families of attention.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "families/landmarks.h"

namespace assay::families {

// One row of the output, and all that its kernel reads. Numbers are those that are stored, after decoding.
struct AttentionLandmarkRow {
  std::size_t row = 0;        // of the judged output
  std::size_t kv_head = 0;    // among all key/value heads of all batches: index into `heads`
  std::vector<double> query;  // [Dk]
  // [keys of the row's batch]: what is added to the score; minus infinity hides.
  std::vector<double> bias;
  std::optional<double> sink;
};

// The keys and values of one key/value head of one batch.
struct AttentionLandmarkHead {
  std::vector<double> keys;    // [rows, Dk]
  std::vector<double> values;  // [rows, Dv]
  // Of quantised rows with one norm each, by row: what their centroids are multiplied by. Kernels often do so after the dot product. Empty:
  // rows are not stored so.
  std::vector<double> key_norms, value_norms;      // as they are stored
  std::vector<double> key_factors, value_factors;  // norms by the root of the head size
};

struct AttentionLandmarkShape {
  std::size_t head_dim = 0, value_dim = 0;
  double scale = 1, softcap = 0;
};

// In this order: query, key, norm and factor of a key, dot product without and with that factor, scaled score, score with cap, mask value,
// score, value, norm and factor of a value, weight, weight with that factor, sum of weights, numerator, output.
[[nodiscard]] Landmarks attention_landmarks(const AttentionLandmarkShape& shape, std::span<const AttentionLandmarkRow> rows,
                                            std::span<const AttentionLandmarkHead> heads);

}  // namespace assay::families

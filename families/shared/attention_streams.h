// The online softmax of attention over streams of chunks, one per simdgroup of each workgroup, and its merges.
#pragma once

#include <cstddef>
#include <vector>

#include "families/shared/attention_change.h"

namespace assay::families {

struct AttentionEntry {
  std::size_t slot = 0;
  double score = 0;
  double times = 1;       // how often it counts
  bool is_empty = false;  // has a value of 0
};
using AttentionChunks = std::vector<std::vector<AttentionEntry>>;

struct StreamShape {
  std::size_t workgroups = 1, simdgroups = 1;
  std::size_t head_dim = 256;
  bool partials = false;  // workgroups leave partial results, which another kernel merges and divides
};

// Computes the output row [head_dim] of one query. The slots of the entries are row numbers of `values`. Returns the natural logarithm of
// the sum of all exponentials; minus infinity without a key.
double attend(const AttentionChange& change, const StreamShape& shape, const AttentionChunks& chunks, const double* values, double* output);

}  // namespace assay::families

// The online softmax of attention over streams of chunks, one per simdgroup of each workgroup, and its merges.
#pragma once

#include <cstddef>
#include <vector>

#include "families/shared/attention_change.h"

namespace assay::families {

struct AttentionEntry {
  std::size_t slot = 0;
  double score = 0;
  double times = 1;       // how often it is counted
  bool is_empty = false;  // has a value of 0
};
using AttentionChunks = std::vector<std::vector<AttentionEntry>>;

struct StreamShape {
  std::size_t workgroups = 1, simdgroups = 1;
  std::size_t head_dim = 256;
  bool partials = false;  // workgroups leave partial results, which somebody else merges and divides
};

// The output row [head_dim] of one query. `values` are the rows that the entries' slots number.
void attend(const AttentionChange& change, const StreamShape& shape, const AttentionChunks& chunks, const double* values, double* output);

}  // namespace assay::families

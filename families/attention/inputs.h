// The inputs of family `attention`: what the fixtures contain, as numbers and as bytes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "families/attention/layout.h"
#include "families/attention/memory.h"
#include "families/source.h"

namespace assay::families::attention {

struct Inputs {
  // Exactly the numbers that are stored, in the order of oracles::AnyAttentionInputs. [kv_batches, G, keys, dim] for k and v; keys of a
  // shared page are those of the first batch.
  std::vector<float> q, k, v, sinks;
  std::vector<float> mask;  // [planes, queries, keys]: what is added; minus infinity hides. Empty without a stored mask
  std::vector<float> slopes;
  std::map<std::string, Memory, std::less<>> memory;  // by buffer, gaps and rows behind the keys poisoned

  // What is added to the scores of one query; empty if every key is seen and nothing is added. Refers to this object and `shape`.
  [[nodiscard]] oracles::BiasRow bias(const Shape& shape) const;
  [[nodiscard]] oracles::AnyAttentionInputs tensors(const Shape& shape) const;
};

// From a generator, or from the tensors of a file, whose numbers are rounded to the types of the case. Rows behind the keys are poison,
// except those that the variant may read (reads_padding). Throws fixtures::FileError for a number that is not finite.
[[nodiscard]] Inputs make_inputs(const Shape& shape, const Source& source, const kernels::Variant& variant);

// The tensors of a fixture file of the case, all float32: inputs/q, inputs/k, inputs/v, and where the case has them inputs/sinks and
// inputs/mask [planes, queries, keys].
[[nodiscard]] std::vector<fixtures::TensorSpec> file_tensors(const Shape& shape);

}  // namespace assay::families::attention

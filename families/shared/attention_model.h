// Attention as a kernel computes it, in double, with switches for mistakes.
//
// oracles/ define the exact result. This model computes the output of a kernel that makes a known mistake: which keys it sees, and how
// it decodes, scores, rescales, merges and divides. With all switches off it is the oracle's value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "families/family.h"
#include "families/mistakes.h"
#include "families/shared/attention_change.h"
#include "families/shared/attention_streams.h"
#include "families/shared/cache_edit.h"
#include "fixtures/generators.h"

namespace assay::families {

class AttentionModel final : public Model {
 public:
  // Decode attention.
  AttentionModel(const Case& test_case, const oracles::DecodeShape& shape, fixtures::DecodeInputs inputs);
  // Dense attention; simdgroups process this many keys in turn.
  AttentionModel(const Case& test_case, const fixtures::DenseInputs& inputs, std::size_t simdgroups, std::size_t keys_of_chunk);

  [[nodiscard]] std::vector<double> evaluate(const AttentionChange& change) const;

  [[nodiscard]] bool is_decode() const { return decode_ != nullptr; }
  [[nodiscard]] double score_scale() const { return scale_; }
  [[nodiscard]] std::size_t head_dim() const { return dim_; }
  [[nodiscard]] double norm_divisor() const;
  [[nodiscard]] std::vector<double> row_lengths() const override { return {static_cast<double>(dim_)}; }
  // For a single key, whose weight is 1 whatever its score.
  [[nodiscard]] std::vector<double> learn_codebook(std::span<const double> actual) const override;
  [[nodiscard]] std::shared_ptr<const Model> only_rows(const std::vector<bool>& rows) const override;

 private:
  struct Row {
    std::size_t batch, head, query, key_head, value_head;
  };

  [[nodiscard]] std::vector<double> queries_of(const AttentionChange& change) const;
  [[nodiscard]] std::size_t mapped(HeadMap map, std::size_t head) const;
  // Whether the row sees a key, and what the mask adds to its score.
  [[nodiscard]] bool sees(const AttentionChange& change, const Row& row, std::size_t slot, double& bias) const;
  [[nodiscard]] bool sees_slot(const AttentionChange& change, std::size_t slot) const;
  [[nodiscard]] bool sees_masked(const AttentionChange& change, const Row& row, std::size_t key, double& bias) const;
  [[nodiscard]] std::ptrdiff_t slots_to_head(const Row& row, HeadMap map) const;
  // How many of the places behind the last key of its chunk count.
  [[nodiscard]] std::size_t empty_places(const AttentionChange& change, std::size_t behind) const;
  // Whether the change has an effect in this case.
  [[nodiscard]] bool applies(const AttentionChange& change) const;
  [[nodiscard]] AttentionChunks chunks_of(const AttentionChange& change, const Row& row, const double* query, const double* keys) const;
  [[nodiscard]] StoredSide stored(bool of_keys) const;
  [[nodiscard]] std::vector<double> decoded(const CacheEdit& edit, bool of_keys) const;

  std::size_t batches_ = 1, heads_ = 1, kv_heads_ = 1, queries_ = 1, dim_ = 256, length_ = 1, rows_ = 1;
  std::size_t mask_heads_ = 0, mask_batches_ = 0;
  std::size_t chunk_ = 32, workgroups_ = 1, simdgroups_ = 1;
  double scale_ = 1;
  bool partials_ = false;
  std::vector<float> q_;
  std::vector<double> k_, v_, mask_;
  std::vector<bool> only_;  // by row of the output; empty: all

  std::shared_ptr<const fixtures::DecodeInputs> decode_;
  oracles::DecodeShape shape_;
};

// The tables of attention's mistakes.
[[nodiscard]] std::vector<Mistake> attention_mistakes(bool is_decode);
[[nodiscard]] std::vector<Mistake> attention_mistakes_of_codebook(const std::vector<double>& codebook);

}  // namespace assay::families

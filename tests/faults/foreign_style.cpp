// The table of mistakes in attention kernels of a foreign style.
// Long because it is a table.
#include "tests/faults/foreign_style.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace assay::tests {
namespace {

constexpr Twin kSimd[] = {
    {"scale_missing",
     "the query is not scaled",
     "? scale * static_cast<float>(queries",
     "? static_cast<float>(queries",
     {"float/d64x64/b1/h4x4/q1/k33/nomask/gauss/s1"},
     {}},
    {"kv_head_by_remainder",
     "key/value heads are dealt in turn",
     "head / gqa_factor",
     "head % (heads / gqa_factor)",
     {"float/d64x64/b1/h8x2/q1/k33/nomask/gauss/s1"},
     {}},
    {"values_by_stride_of_keys",
     "rows of values are as far apart as those of keys",
     "v[j * v_seq_stride + d]",
     "v[j * k_seq_stride + d]",
     {"float/d192x128/b1/h4x4/q1/k33/nomask/gauss/s1"},
     {}},
    {"mask_of_first_head",
     "every head uses the first mask",
     "head % heads * mask_head_stride + ",
     "",
     {"half/d64x64/b1/h4x4/q2/k33/additive/planes_head/gauss/s1"},
     {}},
    {"causal_one_late",
     "a query does not see its own position",
     "j + groups.y > n + query",
     "j + groups.y >= n + query",
     {"float/d64x64/b1/h4x4/q2/k33/causal/gauss/s1"},
     {}},
    {"sum_without_factor",
     "partial sums are merged without their maxima",
     "simd_sum(sums[lane] * factor)",
     "simd_sum(sums[lane])",
     {"float/d64x64/b1/h4x4/q1/k65/nomask/gauss/s1"},
     {}},
};

constexpr Twin kTiles[] = {
    {"tiles_end_early",
     "tiles behind the first query of a block are skipped",
     "min(params.kL, first + BQ + params.qL_off)",
     "min(params.kL, first + params.qL_off)",
     {"half/d64x64/b1/h1x1/q32/k65/causal/gauss/s1"},
     {}},
    {"sum_not_rescaled",
     "the sum is not rescaled",
     "sum = sum * factor + more;",
     "sum = sum + more;",
     {"half/d64x64/b1/h1x1/q32/k65/nomask/gauss/s1"},
     {}},
    {"tail_counts",
     "rows behind the last key count",
     "key >= params.kL || (do_causal",
     "(do_causal",
     {"half/d64x64/b1/h1x1/q32/k33/nomask/gauss/s1"},
     {}},
    {"keys_by_stride_of_values",
     "rows of keys are as far apart as those of values",
     "k[row * params.K_strides[2]",
     "k[row * params.V_strides[2]",
     {"half/d64x64/b1/h4x4/q32/k33/nomask/gaps_kv/gauss/s1"},
     {}},
    {"output_by_head_of_query",
     "heads of the output are as far apart as those of the query",
     "head * params.O_strides[1]",
     "head * params.Q_strides[1]",
     {"half/d64x64/b1/h4x4/q33/k33/nomask/packed/gauss/s1"},
     {}},
    {"maximum_from_zero",
     "the maximum is never below 0",
     "float top = -FLT_MAX / 2;",
     "float top = 0.0f;",
     {"half/d64x64/b1/h1x1/q32/k33/nomask/all_negative/s1"},
     {}},
};

constexpr Twin kBlocks[] = {
    {"scale_of_previous_block",
     "the scale is that of an earlier block",
     "float(block.d)",
     "float(data[i / 64].d)",
     {"float/d128x128/b1/h1x1/q1/k33/k_q8_0/nomask/mask_half/blhd/gauss/s1"},
     {}},
    {"value_heads_by_stride_of_keys",
     "value heads are as far apart as key heads",
     "ik2 * args.nb22",
     "ik2 * args.nb12",
     {"float/d64x64/b1/h4x4/q1/k33/k_half/nomask/mask_half/blhd/gaps_kv/gauss/s1"},
     {}},
    {"one_base",
     "every head uses the first base of ALiBi",
     "const float base = iq2 < args.n_head_log2 ? args.m0 : args.m1;",
     "const float base = args.m0;",
     {"float/d64x64/b1/h6x3/q1/k33/k_half/alibi/mask_half/blhd/gauss/s1"},
     {}},
    {"score_not_scaled",
     "scores are not scaled",
     "simd_sum(score) * args.scale",
     "simd_sum(score)",
     {"float/d64x64/b1/h1x1/q1/k33/k_half/nomask/mask_half/blhd/gauss/s1"},
     {}},
    {"output_head_by_head",
     "the output is written head by head",
     "((iq3 * args.ne01 + iq1) * args.ne02 + iq2)",
     "((iq3 * args.ne02 + iq2) * args.ne01 + iq1)",
     {"float/d64x64/b1/h4x4/q2/k33/k_half/nomask/mask_half/blhd/gauss/s1"},
     {}},
};

constexpr Twin kPaged[] = {
    {"value_page_from_zero",
     "a partition reads the values of the first pages",
     "v_cache + block * kv_block_stride + kv * kv_head_stride + j % PAGE * kv_row_stride",
     "v_cache + block * kv_block_stride + kv * kv_head_stride + (j - first + 1) % PAGE * kv_row_stride",
     {"half/d64x64/b1/h1x1/q1/k33/nomask/page16room0/gauss/s1"},
     {}},
    {"keys_by_table_of_first_batch",
     "keys are found by the table of the first batch",
     "block_table[batch * max_pages + j / PAGE];\n        const device T * key",
     "block_table[j / PAGE];\n        const device T * key",
     {"half/d64x64/b2/h1x1/q1/k65/nomask/page16room0/gauss/s1"},
     {}},
    {"sum_without_maximum",
     "sums are merged without their maxima",
     "sum += factor * own.y;",
     "sum += own.y;",
     {"half/d64x64/b1/h1x1/q1/k257/nomask/page16room0/gauss/s1"},
     {}},
    {"every_second_weight",
     "lanes skip every second part of the weights",
     "j < last; j += 32",
     "j < last; j += 64",
     {"half/d64x64/b1/h1x1/q1/k65/nomask/page16room0/gauss/s1"},
     {}},
    {"last_key_lost",
     "the last key of each partition is lost",
     "min(first + partition, context_lens[batch])",
     "min(first + partition, context_lens[batch] - 1)",
     {"half/d64x64/b1/h1x1/q1/k33/nomask/page16room0/gauss/s1"},
     {}},
};

constexpr Twin kSplit[] = {
    {"cap_not_divided",
     "the score is not divided by the cap",
     "precise::tanh(score / params.softcap)",
     "precise::tanh(score)",
     {"float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/cap30/gauss/s1"},
     {}},
    {"mask_batch_by_head_stride",
     "masks of batches are as far apart as those of heads",
     "batch * params.mask_strides[0]",
     "batch * params.mask_strides[1]",
     {"float/d64x64/b2/h4x4/q1/k33/additive/mask_half/planes_both/gauss/s1"},
     {}},
    {"not_normalised",
     "the output is not divided by the sum",
     "o / sum);",
     "o);",
     {"float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/gauss/s1"},
     {}},
    {"key_head_of_query",
     "keys are those of the query's head",
     "k + batch * params.k_strides[0] + kv * params.k_strides[1]",
     "k + batch * params.k_strides[0] + (head % (params.heads / params.gqa)) * params.k_strides[1]",
     {"float/d64x64/b1/h8x2/q1/k33/nomask/mask_half/gauss/s1"},
     {}},
    {"output_not_rescaled",
     "the output so far is not rescaled",
     "o[i] = o[i] * factor + weight",
     "o[i] = o[i] + weight",
     {"float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/gauss/s1"},
     {}},
    {"half_of_the_coordinates",
     "a lane's part of the key begins too early",
     "k_head[j * params.k_strides[2] + lane * kPerLane + i]",
     "k_head[j * params.k_strides[2] + lane * kPerLane]",
     {"float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/gauss/s1"},
     {}},
};

constexpr Twin kNwg[] = {
    {"values_wrap_at_length",
     "slots of values wrap at the number of keys",
     "(params.ring_start + chunk * 32 + j) % params.kv_capacity",
     "(params.ring_start + chunk * 32 + j) % params.kv_len",
     {"float/d256x256/b1/h1x1/q1/k33/k_half/nomask/ring5room9/gauss/s1"},
     {}},
    {"window_one_short",
     "the window is one too short",
     "n - 1 - key < params.sliding_window",
     "n - key < params.sliding_window",
     {"float/d256x256/b1/h1x1/q1/k65/k_half/window31/gauss/s1"},
     {}},
    {"tail_lost",
     "a chunk that is not full is lost",
     "(n + 31) / 32",
     "n / 32",
     {"float/d256x256/b1/h1x1/q1/k33/k_half/nomask/gauss/s1"},
     {}},
    {"total_without_factor",
     "sums of workgroups are added without their maxima",
     "simd_sum(S * factor)",
     "simd_sum(S)",
     {"float/d256x256/b1/h1x1/q1/k129/k_half/nomask/blocks3/gauss/s1"},
     {}},
};

void add(std::vector<ForeignRow>& rows, std::string_view variant, std::span<const Twin> twins) {
  for (const Twin& twin : twins) {
    const bool needs_gigabytes = twin.caught.case_words.find("/far/") != std::string_view::npos ||
                                 twin.caught.case_words.find("h2734") != std::string_view::npos ||
                                 twin.caught.case_words.find("h3859") != std::string_view::npos;
    if (!needs_gigabytes) rows.push_back({variant, &twin});
  }
}

}  // namespace

std::vector<ForeignRow> foreign_style() {
  std::vector<ForeignRow> rows;
  add(rows, "attn_simd_v1", kSimd);
  add(rows, "attn_tiles_v1", kTiles);
  add(rows, "attn_blocks_v1", kBlocks);
  add(rows, "attn_paged_v1", kPaged);
  add(rows, "attn_split_v1", kSplit);
  add(rows, "attn_nwg_v1", kNwg);
  constexpr std::string_view quick[] = {"kv_head_by_remainder", "values_by_stride_of_keys", "sum_not_rescaled", "score_not_scaled",
                                        "output_head_by_head",  "cap_not_divided",          "not_normalised",   "tail_lost"};
  for (ForeignRow& row : rows) row.is_quick = std::ranges::find(quick, row.twin->name) != std::ranges::end(quick);
  return rows;
}

std::vector<ForeignRow> twins_of_foreign_style() {
  std::vector<ForeignRow> rows;
  const std::pair<std::string_view, std::span<const Twin>> tables[] = {
      {"attn_simd_v1", attn_simd_twins()},   {"attn_tiles_v1", attn_tiles_twins()}, {"attn_blocks_v1", attn_blocks_twins()},
      {"attn_paged_v1", attn_paged_twins()}, {"attn_split_v1", attn_split_twins()}, {"attn_nwg_v1", attn_nwg_twins()}};
  for (const auto& [variant, twins] : tables) add(rows, variant, twins);
  return rows;
}

}  // namespace assay::tests

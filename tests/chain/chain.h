// A chain of our kernels as a host runs them: a sequence of tokens is quantised through a ring, a query is rotated and attends to what is
// in the ring, the workgroups' results are reduced, and the rotation is undone.
//
// Every stage is judged by its own oracle on the bits that the stage before it stored, and the whole by attention in double on the rows as
// they were (oracles/source_attention.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "families/fwht/launch.h"
#include "harness/quality/quality.h"

namespace assay::tests {

struct ChainPlan {
  int bits = 4;  // 4: quantize4_v1 and tq4_v2; 5, 6, 8: quantizehb_v1 and tqhb_v2
  std::size_t head_dim = 256;
  std::size_t heads = 4, kv_heads = 2;
  std::size_t capacity = 48;  // slots of the ring
  std::size_t tokens = 100;   // that go through it
  std::size_t window = 0;     // newest positions that the query sees; 0: all that are in the ring
  std::uint32_t nwg = 4;      // workgroups per head, at least 2: a single one needs no reduce
  std::uint32_t nsg = 1;      // simdgroups per workgroup; 1 with 4 bits
  bool fused = false;         // the attention kernel rotates the query itself; not with 4 bits
  std::uint64_t seed = 1;

  [[nodiscard]] std::size_t kv_len() const { return tokens < capacity ? tokens : capacity; }
  [[nodiscard]] std::size_t ring_start() const { return tokens < capacity ? 0 : tokens % capacity; }
};
void PrintTo(const ChainPlan& plan, std::ostream* stream);

// What the host gets wrong, between kernels that are right.
struct ChainMistakes {
  families::FwhtMode rotation = families::FwhtMode::premult;  // of the query
  families::FwhtMode undoing = families::FwhtMode::undo;      // of the output
  std::size_t write_shift = 0;                                // added to every write_pos
  std::size_t ring_shift = 0;                                 // added to ring_start
  bool swaps_block_norms = false;                             // hands the two norms of a key to attention in the other order
  std::optional<int> attention_bits = {};                     // the codebook that attention receives
  bool values_are_late = false;                               // stores with a key the value of the token before
};

// One stage, over all its dispatches.
struct ChainStage {
  std::string name;  // "quantise", "rotate", "attend", "reduce", "undo"
  bool passed = true;
  std::string reason = {};     // of its first dispatch that did not pass
  std::size_t dispatches = 0;  // that were judged
  double largest_ratio = 0;    // error / bound, of all of them
};

struct ChainResult {
  std::vector<ChainStage> stages;
  std::vector<std::string> hazards;
  std::vector<float> attended;     // [H, D], what attention gave, still rotated
  harness::Similarity similarity;  // of the output and attention on the unquantised rows
  // Of each head |output - exact| over what the codebook's distortion allows (oracles::storage_error_bound): their largest.
  double largest_whole_ratio = 0;
  double expected_nrmse = 0;  // the prediction, to first order

  [[nodiscard]] bool whole_passed() const { return largest_whole_ratio <= 1.0; }
  // Names of the stages that did not pass, and "whole" if that did not.
  [[nodiscard]] std::vector<std::string> failures() const;
};

[[nodiscard]] ChainResult run_chain(const ChainPlan& plan, const ChainMistakes& mistakes = {});

}  // namespace assay::tests

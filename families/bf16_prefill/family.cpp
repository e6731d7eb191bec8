// Family `bf16_prefill`: attention over bfloat keys and values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/bf16_prefill/contract.h"
#include "families/bf16_prefill/helpers.h"
#include "families/bf16_prefill/launch.h"
#include "families/bf16_prefill/omissions.h"
#include "families/shared/attention_model.h"
#include "families/shared/dense_cases.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace bf16_prefill {
namespace {

using namespace dense;

std::int64_t prefill_work(std::span<const std::int64_t> v) {
  const std::int64_t tiles = query_rows(v) * round_up(at_least(v, kQueries, 1), kTileQueries) * round_up(at_least(v, kKvLen, 1), kTileKeys);
  return kHeadDim * (tiles + 2 * key_rows(v));
}

}  // namespace
}  // namespace bf16_prefill

Family bf16_prefill_family() {
  using namespace bf16_prefill;
  Family family = dense_family(
      {.contract = kBf16PrefillContract,
       .description = "attention of many queries over bfloat keys and values with head dimension 512, in tiles, with pad and blk",
       .work = prefill_work,
       .launch_values = [](const Case& test_case) { return bf16_fields(dense_parameters(test_case, metal::ScalarType::bfloat16)); },
       .validate = [](const Case& test_case) { validate_bf16_prefill(dense_parameters(test_case, metal::ScalarType::bfloat16)); },
       .simdgroups = [](const Case&) { return std::int64_t{8}; },
       .job = bf16_prefill_job,
       .model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
         return std::make_shared<AttentionModel>(test_case, dense_inputs(test_case, source), 1, kTileKeys);
       }});
  family.omissions = bf16_prefill_omissions();
  family.promises = bf16_prefill_promises();
  family.helper_contracts = {kBf16PadContract, kBf16BlkContract};
  // Sums beyond the range of half. The pairs of the design combine these only with rows of fewer than eight queries.
  family.own_cases = {"b1/h1x1/q8/kv190r0/nomask/broad/s1", "b1/h2x1/q16/kv257r7/causal1x1/broad/s2",
                      // Heads and batches of keys and values on both sides of bytes 2^31 and 2^32.
                      "b2/h4x4/q8/kv40r1048536/nomask/huge/s1", "b1/h6x6/q16/kv128r1048448/causal1x6/huge/s2",
                      // Tiles with a single visible key, at any column. A kernel that searches for visible tiles must
                      // check all columns.
                      "b1/h4x4/q8/kv512r0/single1x4/gauss/s1", "b2/h2x2/q9/kv321r7/single2x2/low/uniform/s2",
                      // Each number that hides keys, in rows in which it hides all of them, and each way to add it.
                      "b1/h4x2/q9/kv65r0/row1x4/bias/s1", "b1/h2x1/q17/kv130r7/row1x2/bias/s2", "b2/h2x2/q8/kv129r0/random2x2/bias/s3",
                      "b1/h4x2/q9/kv64r0/causal1x1/bias/s4", "b1/h2x1/q64/kv96r0/zero1x1/bias/s5",
                      // Masks with some of the heads and batches, which repeat. Keys and values of fewer batches than queries. Many heads.
                      "b2/h6x3/q8/kv128r0/random2x3/gauss/s4", "b4/h4x2/q8/kv256r0/win56m2x2/gauss/s5",
                      "b4/h4x2/q8/kv64r0/nomask/kvb2/gauss/s6", "b2/h2x1/q8/kv70r0/nomask/kvb1/gauss/s8",
                      "b1/h80x8/q8/kv64r0/nomask/gauss/s10",
                      // Masks whose planes, up to eight, all hide other tiles.
                      "b4/h4x2/q8/kv256r0/tiles2x2/gauss/s5", "b2/h6x3/q17/kv250r0/tiles2x3/low/gauss/s12",
                      // Caches laid out token, head, coordinate, with gaps.
                      "b2/h4x2/q8/kv128r0/nomask/kvb1/tokens/gauss/s8", "b2/h6x3/q9/kv192r7/causal1x1/tokens/gauss/s9",
                      // Queries and masks on both sides of bytes 2^31 and 2^32, by heads and batches, and by tokens.
                      "b2/h4x4/q8/kv64r0/random2x4/far/gauss/s1", "b1/h2x1/q17/kv64r0/random1x2/far/gauss/s2",
                      // Tokens of keys and values on both sides of these bytes.
                      "b1/h2x2/q9/kv128r0/nomask/tokens/far/gauss/s1"};
  // Many heads over many keys: pairs that are too expensive for the gate.
  family.long_cases = {
      "b1/h1x1/q1/kv36864r0/nomask/drift/s1", "b1/h1x1/q8/kv36864r0/causal1x1/drift/s2", "b1/h1x1/q1/kv65537r0/nomask/drift/s3",
      "b1/h1x1/q8/kv32768r7/causal1x1/needle/s4", "b1/h32x8/q9/kv1025r0/nomask/gauss/s5", "b1/h32x4/q1/kv4096r7/nomask/uniform/s6",
      "b1/h16x2/q1/kv4096r0/nomask/needle/s7", "b1/h32x8/q8/kv777r0/causal1x1/gauss/s8", "b1/h32x4/q1/kv777r7/nomask/heavy/s9",
      "b1/h32x8/q1/kv1023r0/nomask/outlier/s10", "b1/h32x4/q8/kv1023r0/random1x32/gauss/s11", "b1/h32x8/q8/kv1024r64/win33m1x1/gauss/s12",
      "b1/h32x4/q2/kv1024r0/nomask/cancel/s13", "b1/h32x4/q8/kv1025r0/zero1x32/poisoned/s14", "b1/h32x8/q8/kv2048r0/causal1x32/needle/s15",
      "b1/h32x4/q7/kv2048r0/nomask/gauss/s16", "b1/h32x8/q8/kv4096r0/causal1x1/gauss/s17", "b1/h16x2/q8/kv2048r7/row1x16/gauss/s18",
      "b1/h8x8/q8/kv4096r0/random1x8/heavy/s19", "b1/h8x2/q1/kv4096r0/nomask/large/s20", "b1/h8x1/q8/kv4096r64/causal1x1/uniform/s21",
      // Keys and rows beyond 16 bits.
      "b1/h1x1/q8/kv65600r0/win33m1x1/gauss/s22", "b1/h1x1/q65544/kv64r0/nomask/gauss/s23"};
  family.longest_cases = {"b1/h2x1/q8/kv65536r0/causal1x1/gauss/s1",     "b1/h1x1/q9/kv65573r31/nomask/heavy/s2",
                          "b1/h1x1/q8/kv131072r0/causal1x1/uniform/s3",  "b1/h1x1/q8/kv262144r0/nomask/gauss/s4",
                          "b1/h1x1/q8/kv524288r0/win65536m1x1/gauss/s5", "b1/h1x1/q8/kv1048576r0/win65536m1x1/gauss/s6"};
  return family;
}

}  // namespace assay::families

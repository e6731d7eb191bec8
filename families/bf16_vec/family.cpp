// Family `bf16_vec`: attention over bfloat keys and values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/bf16_vec/contract.h"
#include "families/bf16_vec/inputs.h"
#include "families/bf16_vec/omissions.h"
#include "families/shared/attention_model.h"
#include "families/shared/attention_smaller.h"
#include "families/shared/dense_cases.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace bf16_vec {
namespace {

using namespace dense;

constexpr std::size_t kNsg = kOwnAxis;
constexpr std::size_t kFactorNsg = kOwnFactor;
constexpr std::array<std::int64_t, 3> kSimdgroups = {1, 2, 4};

std::int64_t vec_work(std::span<const std::int64_t> v) {
  const std::int64_t scores = query_rows(v) * at_least(v, kQueries, 1) * round_up(at_least(v, kKvLen, 1), 32);
  return kHeadDim * (scores + 2 * key_rows(v));
}

}  // namespace
}  // namespace bf16_vec

Family bf16_vec_family() {
  using namespace bf16_vec;
  Family family = dense_family(
      {.contract = kBf16VecContract,
       .description = "attention of few queries over bfloat keys and values with head dimension 512, NSG simdgroups per query and head",
       .work = vec_work,
       .launch_values = [](const Case& test_case) { return bf16_vec_values(vec_parameters(test_case)); },
       .validate = [](const Case& test_case) { validate_bf16_vec(vec_parameters(test_case)); },
       .simdgroups = [](const Case& test_case) { return test_case.at("nsg"); },
       .job = bf16_vec_job,
       .model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
         return std::make_shared<AttentionModel>(test_case, dense_inputs(test_case, source), test_case.size("nsg"), kKeysOfChunk);
       }});
  family.axes.push_back({.name = "nsg",
                         .minimum = 0,
                         .maximum = 32,
                         .initial = 4,
                         .is_launch_choice = true,
                         .weight = Weight::repeat,
                         .tried = Tried::counts,
                         .is_simdgroups = true});
  family.words.push_back({{{"nsg{nsg}", {}}}});
  family.factors.push_back({"nsg", labels(kSimdgroups, number_label), kSimdgroups.size(), equal_to(kNsg, kSimdgroups)});
  family.realise = [shared = family.realise](std::span<const int> levels, std::span<std::int64_t> values) {
    const bool is_sensible = shared(levels, values);
    set(values[kNsg], kSimdgroups, levels[kFactorNsg]);
    return is_sensible;
  };
  // A chunk with a single key, and just enough room to complete it.
  family.own_cases = {"b1/h2x2/q1/kv1r31/nomask/nsg1/gauss/s1", "b1/h2x2/q1/kv65r31/nomask/nsg2/poisoned/s2",
                      // Heads and batches of keys and values on both sides of bytes 2^31 and 2^32.
                      "b2/h4x4/q1/kv40r1048536/nomask/nsg2/huge/s1", "b1/h6x6/q2/kv128r1048448/causal1x6/nsg4/huge/s2",
                      // Chunks with a single visible key, and chunks with none.
                      "b1/h4x4/q2/kv512r0/single1x4/nsg2/gauss/s1", "b2/h2x2/q3/kv321r7/single2x2/low/nsg4/uniform/s2",
                      // Each number that hides keys, in rows in which it hides all of them, and each way to add it.
                      "b1/h4x2/q9/kv65r0/row1x4/nsg2/bias/s1", "b1/h2x1/q5/kv130r7/row1x2/nsg4/bias/s2",
                      "b2/h2x2/q4/kv129r0/random2x2/nsg1/bias/s3", "b1/h4x2/q9/kv64r0/causal1x1/nsg2/bias/s4",
                      "b1/h2x1/q4/kv96r0/zero1x1/nsg1/bias/s5",
                      // Masks with some of the heads and batches, which repeat. Keys and values of fewer batches than queries, and in a
                      // cache of tokens with gaps. Many heads.
                      "b2/h6x3/q2/kv96r0/random2x3/nsg2/gauss/s4", "b4/h4x2/q2/kv64r0/random2x2/nsg1/gauss/s5",
                      "b4/h4x2/q2/kv64r7/nomask/kvb2/nsg2/gauss/s6", "b2/h4x2/q1/kv96r0/nomask/kvb1/tokens/nsg4/gauss/s8",
                      "b2/h6x3/q3/kv64r0/causal1x1/tokens/nsg1/gauss/s9", "b1/h80x8/q1/kv32r0/nomask/nsg1/gauss/s10",
                      // Queries that are rounded as ties, to even.
                      "b1/h4x2/q3/kv33r0/nomask/nsg1/query_ties/s1", "b2/h2x1/q2/kv96r0/zero1x1/nsg2/query_ties/s2",
                      // Masks whose planes, up to eight, all hide other chunks.
                      "b4/h4x2/q2/kv256r0/tiles2x2/nsg2/gauss/s5",
                      // Queries and masks on both sides of bytes 2^31 and 2^32, by heads and batches, and by tokens.
                      "b2/h4x4/q2/kv32r0/random2x4/far/nsg1/gauss/s1", "b1/h2x1/q5/kv64r0/random1x2/far/nsg2/gauss/s2",
                      // Tokens of keys and values on both sides of these bytes.
                      "b1/h2x2/q2/kv128r0/nomask/tokens/far/nsg2/gauss/s1"};
  family.long_cases = {"b1/h2x1/q8/kv36864r0/causal1x1/nsg4/drift/s1", "b1/h1x1/q1/kv65537r31/nomask/nsg4/drift/s2",
                       "b1/h2x1/q1/kv32768r0/random1x2/nsg2/uniform/s3", "b1/h32x8/q1/kv2048r0/nomask/nsg4/gauss/s4",
                       "b1/h32x4/q1/kv4096r0/causal1x32/nsg2/needle/s5", "b1/h1x1/q64/kv4096r64/nomask/nsg4/gauss/s6",
                       // Keys and rows beyond 16 bits.
                       "b1/h1x1/q1/kv65600r0/win33m1x1/nsg2/gauss/s8", "b1/h1x1/q65540/kv1r31/nomask/nsg1/gauss/s9"};
  family.longest_cases = {"b1/h2x1/q1/kv65536r0/nomask/nsg4/gauss/s1",        "b1/h1x1/q2/kv65573r31/causal1x1/nsg2/heavy/s2",
                          "b1/h1x1/q1/kv131072r0/nomask/nsg4/uniform/s3",     "b1/h1x1/q1/kv262144r0/nomask/nsg4/gauss/s4",
                          "b1/h1x1/q1/kv524288r0/win65536m1x1/nsg4/gauss/s5", "b1/h1x1/q1/kv1048576r0/win65536m1x1/nsg4/gauss/s6"};
  family.omissions = bf16_vec_omissions();
  family.quantities.push_back({"idle_pairs", idle_pairs});
  return family;
}

}  // namespace assay::families

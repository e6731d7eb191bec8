// Family `tq4`: decode attention over a 4-bit TurboQuant cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/shared/contract_tables.h"
#include "families/shared/decode_cases.h"
#include "families/shared/decode_inputs.h"
#include "families/shared/decode_job.h"
#include "families/shared/levels.h"
#include "families/tq4/contract.h"
#include "families/tq4/omissions.h"

namespace assay::families {
namespace tq4 {
namespace {

using namespace decode;

constexpr std::size_t kBlockNorms = kOwnAxis;

DecodeFormat format_of(const Case& test_case) { return {.has_block_norms = test_case.at("block_norms") != 0}; }

}  // namespace
}  // namespace tq4

Family tq4_family() {
  using namespace tq4;
  Family family =
      decode_family({.contract = kTq4Contract,
                     .description = "decode attention over a 4-bit TurboQuant cache, one query token per head",
                     .norms = kNorms,
                     .has_norms = [](const Norms& norms, Values v) { return (v[kBlockNorms] != 0) == norms.per_block; },
                     .realise_rest =
                         [](std::span<const int> levels, std::span<std::int64_t> values) {
                           const int norms = levels[kFactorNorm];
                           values[kBlockNorms] = norms < 0 ? kOpen : kNorms[static_cast<std::size_t>(norms)].per_block ? 1 : 0;
                         },
                     .banks = [](Values) { return std::int64_t{1}; },
                     .is_4bit = true,
                     .format_of = format_of,
                     .validate = [](const Case& test_case) { families::validate(decode_parameters(test_case, format_of(test_case))); },
                     // The following reduce has more, but family reduce judges that.
                     .simdgroups = [](const Case&) { return std::int64_t{1}; },
                     .job = [](const JobRequest& request) { return decode_job(request, format_of(request.test_case)); },
                     .minimum = [](const Case& test_case, const Source&) { return decode_minimum(test_case, format_of(test_case)); }});
  family.axes[kNormFactor].may_be_absent = true;
  family.axes[kNormFactor].needed_by = "block_norms";
  family.axes.push_back({.name = "block_norms",
                         .minimum = 0,
                         .maximum = 1,
                         .initial = 0,
                         .is_capability = true,
                         .may_be_absent = true,
                         .weight = Weight::choice,
                         .tried = Tried::simplest});
  // A factor in the name implies norms of blocks.
  family.words.back() = {
      {{"sfroot512", {{"block_norms", 1}, {"scale_factor_d512", kScaleFactorRoot}}}, {"sf{scale_factor_d512}", {{"block_norms", 1}}}},
      true};
  family.omissions = tq4_omissions();
  family.tables = [](const Case&) {
    std::vector<ContractTable> tables;
    add_codebook(tables, 4);
    return tables;
  };
  // Caches of slightly less than 2^32 and of exactly 2^32 bytes, and heads on both sides of byte 2^31.
  family.own_cases = {"d256/h32x32/kv40c1048576/ring0/nomask/nwg1/huge/s1", "d256/h2x2/kv65c16777216/ring0/win33/nwg2/huge/s2",
                      "d512/h16x8/kv33c2097152/ring0/nomask/nwg3/huge/s3", "d512/h5x5/kv100c3355443/ring0/causal/nwg1/scale1/huge/s4",
                      "d256/h32x32/kv40c1048576/ring0/nomask/nwg1/sf1/huge/s5", "d512/h16x8/kv33c2097152/ring0/nomask/nwg3/sf16/huge/s6",
                      // Many heads.
                      "d256/h80x8/kv33c33/ring0/nomask/nwg2/gauss/s11", "d512/h72x8/kv33c33/ring0/nomask/nwg1/gauss/s12",
                      "d256/h72x8/kv33c33/ring0/nomask/nwg1/sf1/gauss/s13", "d512/h80x8/kv33c33/ring0/nomask/nwg2/sf1/gauss/s14",
                      // Queries that are rounded as ties, to even.
                      "d256/h4x2/kv33c33/ring0/nomask/nwg1/query_ties/s1", "d512/h2x1/kv65c65/ring3/nomask/nwg2/query_ties/s2",
                      "d512/h2x2/kv33c64/ring0/nomask/nwg1/sf16/query_ties/s3",
                      // Every two entries of the codebook of keys.
                      "d256/h8x8/kv32c32/ring0/nomask/nwg1/one_hot/s1", "d512/h8x8/kv32c32/ring0/nomask/nwg1/one_hot/s2",
                      "d256/h8x8/kv32c32/ring0/nomask/nwg1/sf16/one_hot/s3", "d512/h8x8/kv32c32/ring0/nomask/nwg1/sf16/one_hot/s4"};
  family.long_cases = {"d256/h1x1/kv65537c65537/ring32/nomask/nwg32/drift/s1", "d256/h2x1/kv65537c65537/ring65536/win512/nwg31/gauss/s2",
                       "d512/h2x2/kv65537c65537/ring0/nomask/nwg16/sf16/needle/s3",
                       "d512/h1x1/kv65537c65537/ring32768/win65536/nwg3/faint/s4", "d512/h2x1/kv65537c65538/ring0/causal/nwg1/cancel/s5",
                       // Only slots beyond 16 bits are visible.
                       "d256/h2x1/kv65600c65600/ring0/win40/nwg3/gauss/s6", "d512/h2x1/kv65600c65600/ring0/win40/nwg3/gauss/s7",
                       "d256/h2x1/kv65600c65600/ring0/win40/nwg3/sf1/gauss/s8", "d512/h2x1/kv65600c65600/ring0/win40/nwg3/sf1/gauss/s9"};
  // All keys are visible as long as the bound says something, and 65,536 of them beyond that.
  family.longest_cases = {
      "d256/h2x1/kv65536c65536/ring0/nomask/nwg32/gauss/s1",          "d512/h2x1/kv65573c65573/ring65541/nomask/nwg16/sf16/heavy/s2",
      "d256/h1x1/kv131072c131072/ring131071/causal/nwg32/uniform/s3", "d256/h2x1/kv262144c262144/ring100000/win65536/nwg32/gauss/s4",
      "d512/h1x1/kv524288c524288/ring0/win65536/nwg31/sf16/gauss/s5", "d256/h1x1/kv1048576c1048576/ring1048575/win65536/nwg32/gauss/s6"};
  return family;
}

}  // namespace assay::families

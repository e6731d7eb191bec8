// Family `tqhb`: decode attention over a 5-, 6- or 8-bit TurboQuant cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/shared/contract_tables.h"
#include "families/shared/decode_cases.h"
#include "families/shared/decode_inputs.h"
#include "families/shared/decode_job.h"
#include "families/shared/decode_launch.h"
#include "families/shared/levels.h"
#include "families/tqhb/contract.h"
#include "families/tqhb/omissions.h"

namespace assay::families {
namespace tqhb {
namespace {

using namespace decode;

enum OwnAxis : std::size_t { kBits = kOwnAxis, kNsg, kFuse };
enum OwnFactor : std::size_t { kFactorBits = kOwnFactor, kFactorNsg, kFactorFuse };

constexpr std::array<std::int64_t, 3> kSimdgroups = {1, 2, 4};
constexpr std::array<std::int64_t, 3> kCodebookBits = {5, 6, 8};
constexpr std::array<std::int64_t, 2> kFused = {0, 1};

DecodeFormat format_of(const Case& test_case) {
  return {static_cast<std::uint32_t>(test_case.at("codebook_bits")), true, test_case.at("fuse_fwht_pre") != 0,
          static_cast<std::uint32_t>(test_case.at("nsg"))};
}

}  // namespace
}  // namespace tqhb

// Long because it is one descriptor, member by member.
Family tqhb_family() {
  using namespace tqhb;
  // Only norms of blocks.
  Family family =
      decode_family({.contract = kTqhbContract,
                     .description = "decode attention over a 5-, 6- or 8-bit TurboQuant cache, one query token per head",
                     .norms = std::span(kNorms).subspan(1),
                     .has_norms = {},
                     .realise_rest =
                         [](std::span<const int> levels, std::span<std::int64_t> values) {
                           set(values[kBits], kCodebookBits, levels[kFactorBits]);
                           set(values[kNsg], kSimdgroups, levels[kFactorNsg]);
                           set(values[kFuse], kFused, levels[kFactorFuse]);
                         },
                     .banks = [](Values v) { return v[kNsg]; },
                     .is_4bit = false,
                     .format_of = format_of,
                     .validate =
                         [](const Case& test_case) {
                           const DecodeParameters parameters = decode_parameters(test_case, format_of(test_case));
                           if (parameters.codebook_bits == 4) throw std::invalid_argument("codebook_bits = 4: must be 5, 6 or 8");
                           families::validate(parameters);
                         },
                     // The following reduce has more, but family reduce judges that.
                     .simdgroups = [](const Case& test_case) { return test_case.at("nsg"); },
                     .job = [](const JobRequest& request) { return decode_job(request, format_of(request.test_case)); },
                     .minimum = [](const Case& test_case, const Source&) { return decode_minimum(test_case, format_of(test_case)); }});
  family.axes.insert(
      family.axes.end(),
      {{.name = "codebook_bits", .minimum = 0, .maximum = 16, .initial = 8, .is_capability = true, .received_by = kCodebookReception},
       {.name = "nsg",
        .minimum = 0,
        .maximum = 1024,
        .initial = 1,
        .is_launch_choice = true,
        .is_capability = true,
        .weight = Weight::repeat,
        .tried = Tried::counts,
        .is_simdgroups = true},
       {.name = "fuse_fwht_pre",
        .minimum = 0,
        .maximum = 1,
        .initial = 0,
        .is_capability = true,
        .may_be_absent = true,
        .weight = Weight::choice,
        .tried = Tried::simplest}});
  family.words.insert(family.words.begin() + 1, Word{{{"b{codebook_bits}", {}}}});
  const auto nwg = std::ranges::find_if(family.words, [](const Word& word) { return word.forms.front().pattern.starts_with("nwg"); });
  family.words.insert(nwg + 1, {Word{{{"nsg{nsg}", {}}}}, Word{{{"fuse", {{"fuse_fwht_pre", 1}}}}, true}});
  family.factors.push_back({"codebook_bits", labels(kCodebookBits, number_label), kCodebookBits.size(), equal_to(kBits, kCodebookBits)});
  family.factors.push_back({"nsg", labels(kSimdgroups, number_label), kSimdgroups.size(), equal_to(kNsg, kSimdgroups)});
  family.factors.push_back({"fuse_fwht_pre", labels(kFused, number_label), kFused.size(), equal_to(kFuse, kFused)});
  family.class_factors.push_back(kFactorNsg);
  family.classifiers.push_back(class_of(kNsg, "nsg", kSimdgroups));
  family.omissions = tqhb_omissions();
  family.tables = [](const Case& test_case) {
    std::vector<ContractTable> tables;
    add_codebook(tables, test_case.at("codebook_bits"));
    if (test_case.at("fuse_fwht_pre") != 0) add_signs(tables, test_case.at("head_dim"));
    return tables;
  };
  // Also indices of fewer bits than a byte, with other bits of the byte set.
  family.own_cases = {
      "d256/b8/h2x2/kv65c8388608/ring0/win33/nwg2/nsg2/huge/s2", "d512/b5/h5x5/kv100c1677721/ring0/causal/nwg1/nsg1/huge/s4",
      "d512/b8/h3x3/kv33c2097152/ring0/nomask/nwg2/nsg1/huge/s5", "d256/b6/h2x2/kv40c8388608/ring0/nomask/nwg1/nsg1/huge/s6",
      "d256/b5/h2x1/kv65c65/ring0/nomask/nwg2/nsg1/stray_bits/s1", "d512/b5/h2x1/kv33c64/ring0/win31/nwg1/nsg2/stray_bits/s2",
      "d256/b6/h4x4/kv33c33/ring1/causal/nwg1/nsg4/stray_bits/s3", "d512/b6/h2x1/kv65c65/ring32/nomask/nwg3/nsg1/stray_bits/s4",
      // Many heads.
      "d256/b8/h80x8/kv33c33/ring0/nomask/nwg2/nsg2/gauss/s11", "d512/b5/h72x8/kv33c33/ring0/nomask/nwg1/nsg1/gauss/s12",
      // Queries that are rounded as ties, to even.
      "d256/b8/h4x2/kv33c33/ring0/nomask/nwg1/nsg1/query_ties/s1", "d512/b5/h2x1/kv65c65/ring3/nomask/nwg2/nsg2/query_ties/s2",
      // Every two entries of each codebook of keys.
      "d256/b5/h16x16/kv32c32/ring0/nomask/nwg1/nsg1/one_hot/s1", "d512/b6/h32x32/kv32c32/ring0/nomask/nwg1/nsg1/one_hot/s2",
      "d256/b8/h64x64/kv32c32/ring0/nomask/nwg1/nsg1/one_hot/s3", "d256/b8/h64x64/kv32c32/ring0/nomask/nwg1/nsg1/one_hot/s67"};
  family.long_cases = {
      "d256/b8/h1x1/kv65537c65537/ring32/nomask/nwg32/nsg4/drift/s1", "d256/b5/h2x1/kv65537c65537/ring65536/win512/nwg31/nsg1/gauss/s2",
      "d512/b6/h2x2/kv65537c65537/ring0/nomask/nwg16/nsg2/sf16/needle/s3",
      "d512/b8/h1x1/kv65537c65537/ring32768/win65536/nwg3/nsg1/faint/s4", "d512/b5/h2x1/kv65537c65538/ring0/causal/nwg1/nsg1/cancel/s5",
      // Only slots beyond 16 bits are visible.
      "d256/b5/h2x1/kv65600c65600/ring0/win40/nwg3/nsg1/gauss/s6", "d512/b5/h2x1/kv65600c65600/ring0/win40/nwg3/nsg1/gauss/s7",
      "d256/b6/h2x1/kv65600c65600/ring0/win40/nwg3/nsg2/gauss/s8", "d512/b6/h2x1/kv65600c65600/ring0/win40/nwg3/nsg2/gauss/s9",
      "d256/b8/h2x1/kv65600c65600/ring0/win40/nwg3/nsg4/gauss/s10", "d512/b8/h2x1/kv65600c65600/ring0/win40/nwg3/nsg4/gauss/s11"};
  family.longest_cases = {"d256/b8/h2x1/kv65536c65536/ring0/nomask/nwg32/nsg4/gauss/s1",
                          "d512/b5/h2x1/kv65573c65573/ring65541/nomask/nwg16/nsg2/heavy/s2",
                          "d256/b6/h1x1/kv131072c131072/ring131071/causal/nwg32/nsg1/uniform/s3",
                          "d256/b5/h2x1/kv262144c262144/ring100000/win65536/nwg32/nsg4/gauss/s4",
                          "d512/b8/h1x1/kv524288c524288/ring0/win65536/nwg31/nsg4/gauss/s5",
                          "d256/b6/h1x1/kv1048576c1048576/ring1048575/win65536/nwg32/nsg1/gauss/s6"};
  return family;
}

}  // namespace assay::families

// variant.toml: any bytes are a variant whose values are within the grammar of kernels/variant.h, or a VariantError with file and line.
// Its known findings are read as well, and their predicates evaluated; so are the other texts that users write of a kernel.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/findings/known_finding.h"
#include "kernels/equivalent_mutants.h"
#include "kernels/variant.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCases = {
    {{"tq4", "v/d256/h2x1/kv33c64/ring0/win31/nwg2/gauss/s7"},
     {"tqhb", "v/d256/b5/h2x1/kv33c64/ring0/nomask/nwg2/nsg1/gauss/s7"},
     {"reduce", "v/d256/rows3/nwg7/gauss/s1"},
     {"fwht", "v/d256/h3/premult/gauss/s1"},
     {"quantize", "v/d256/b8/g1/pos0c1/gauss/s0"},
     {"dequantize", "v/d256/b8/g1/pos0c1/gauss/s0"},
     {"bf16_prefill", "v/b1/h2x1/q3/kv33r0/causal1x1/gauss/s7"},
     {"bf16_vec", "v/b1/h2x1/q1/kv33r0/nomask/nsg4/gauss/s7"}}};

const harness::Case& case_of(std::string_view family) {
  static const std::vector<harness::Case> cases = [] {
    std::vector<harness::Case> made;
    for (const auto& [name, text] : kCases) made.push_back(harness::parse_case(text, families::find_family(name)));
    return made;
  }();
  const auto found = std::ranges::find_if(cases, [&](const harness::Case& one) { return one.family->name() == family; });
  require(found != cases.end(), "every family has a case here");
  return *found;
}

bool is_format(const std::string& text) { return text == "float" || text == "half" || text == "bf16"; }

void check_values(const kernels::Variant& variant) {
  const kernels::FamilyContract& contract = families::contract(variant.family);
  require(variant.offset_bits == 32 || variant.offset_bits == 64, "offsets have 32 or 64 bits");
  require(!variant.source.empty(), "there is a source");
  for (const kernels::EntryContract& entry : contract.entries) require(!variant.function(entry.key).empty(), "an entry names a function");
  for (const kernels::AxisLimit& limit : variant.limits) require(!limit.values.empty() && limit.line != 0, "a limit leaves some values");
  for (const kernels::Claim& claim : variant.claims) require(!claim.same_bits_as.empty() && claim.line != 0, "a claim names a variant");
  for (const auto& [name, function] : variant.bind) require(!function.empty(), "a binding names an argument");
  for (const auto& [name, value] : variant.fields) require(contract.find_field(name) == nullptr, "the family's own fields stay its own");
  const kernels::Accuracy& accuracy = variant.accuracy;
  require(accuracy.accumulator == "float" || accuracy.accumulator == "half", "an accumulator is float or half");
  require(!accuracy.dot_depth || (*accuracy.dot_depth >= 1 && *accuracy.dot_depth <= 1'000'000), "a depth is 1 .. 1000000");
  require(!accuracy.accumulator_keys || (*accuracy.accumulator_keys >= 1 && *accuracy.accumulator_keys <= 32), "keys are 1 .. 32");
  require(std::ranges::all_of(accuracy.stores, is_format), "what is stored has a known format");
  require(!accuracy.merge_store || is_format(*accuracy.merge_store), "what is merged has a known format");
}

void check(std::string_view text) {
  const kernels::Variant variant = kernels::parse_variant(text, "mine", "dir/variant.toml", families::contracts());
  check_values(variant);
  note_outcome(variant.family);
  for (const auto& [what, is_there] : {std::pair{"limits", !variant.limits.empty()}, std::pair{"claims", !variant.claims.empty()},
                                       std::pair{"fields", !variant.fields.empty()}, std::pair{"entry", !variant.entry.empty()},
                                       std::pair{"findings", !variant.known_findings.empty()}}) {
    if (is_there) note_outcome(what);
  }
  for (const harness::KnownFinding& finding : harness::known_findings_of(variant)) {
    const bool matches = finding.matches(case_of(variant.family));
    note_outcome(matches ? "matches" : "matches not");
    require(finding.matches(case_of(variant.family)) == matches, "a predicate says the same again");
    static_cast<void>(finding.needs_checked());
  }
}

template <typename Read>
void expect_variant_error(const Read& read, std::string_view start) {
  try {
    read();
  } catch (const kernels::VariantError& error) {
    require(std::string_view(error.what()).starts_with(start), "a message begins with the file");
    note_outcome(error.what());
  }
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text = tests::text_of(data, size);
  tests::expect_variant_error([&] { tests::check(text); }, "dir/variant.toml:");
  tests::expect_variant_error([&] { static_cast<void>(kernels::parse_equivalent_mutants(text, "dir/equivalent.toml")); },
                              "dir/equivalent.toml:");
  const std::string_view word = text.substr(0, text.find('\n'));
  tests::expect_variant_error([&] { static_cast<void>(kernels::parse_limit_assignment(word, families::contract("tq4"))); }, "");
  tests::expect_variant_error([&] { static_cast<void>(kernels::parse_field_assignment(word)); }, "");
  return 0;
}

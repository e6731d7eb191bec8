// Family `attention`: dense attention of any project, with its launch and its arguments described as data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "families/attention/axes.h"
#include "families/attention/contract.h"
#include "families/attention/factors.h"
#include "families/attention/job.h"
#include "families/attention/layout.h"
#include "families/attention/names.h"
#include "families/attention/omissions.h"
#include "families/attention/shape.h"
#include "families/attention/sketch.h"
#include "families/attention/special_cases.h"
#include "families/draw.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace attention {
namespace {

using Values = std::span<std::int64_t>;

// Spellings of one storage type each.
Word storage_word(std::string_view axis, std::string_view prefix, std::span<const std::string_view> names) {
  static std::deque<std::string> spellings;
  Word word{{}, true};
  for (std::size_t i = 0; i < names.size(); ++i)
    word.forms.push_back({spellings.emplace_back(fmt::format("{}{}", prefix, names[i])), {{axis, static_cast<std::int64_t>(i)}}});
  return word;
}

const std::vector<Word>& case_words() {
  static const std::vector<Word> all = [] {
    std::vector<Word> words;
    Word type = storage_word("type", "", kStorageWords);
    type.optional = false;
    words.push_back(type);
    words.push_back({{{"d{dk}x{dv}", {}}}});
    words.push_back({{{"b{b}", {}}}});
    words.push_back({{{"h{h}x{g}", {}}}});
    words.push_back({{{"q{lq}", {}}}});
    words.push_back({{{"k{lk}", {}}}});
    words.push_back(storage_word("k_type", "k_", kKeyTypeWords));
    words.push_back(storage_word("v_type", "v_", kKeyTypeWords));
    words.push_back(storage_word("out_type", "out_", kOutTypeWords));
    words.push_back({{{"nomask", {{"mask", 0}, {"window", 0}}},
                      {"causal", {{"mask", 1}, {"window", 0}}},
                      {"window{window}", {{"mask", 2}}},
                      {"causal_window{window}", {{"mask", 3}}},
                      {"boolean", {{"mask", 4}, {"window", 0}}},
                      {"additive", {{"mask", 5}, {"window", 0}}},
                      {"alibi", {{"mask", 6}, {"window", 0}}},
                      {"causal_alibi", {{"mask", 7}, {"window", 0}}}}});
    words.push_back(storage_word("mask_type", "mask_", kOutTypeWords));
    words.push_back(storage_word("mask_planes", "planes_", kPlaneWords));
    words.push_back({{{"mask_gaps", {{"mask_gaps", 1}}}}, true});
    words.push_back(storage_word("offset", "offset_", kOffsetWords));
    words.push_back({{{"cap{softcap}", {}}}, true});
    words.push_back({{{"sinks", {{"sinks", 1}}}, {"sinks_typed", {{"sinks", 2}}}}, true});
    words.push_back({{{"scale_one", {{"scale", 1}}}}, true});
    words.push_back({{{"room{room}", {{"cache", 1}, {"ring_start", 0}, {"page_size", 16}}},
                      {"ring{ring_start}room{room}", {{"cache", 2}, {"page_size", 16}}},
                      {"page{page_size}room{room}", {{"cache", 3}, {"ring_start", 0}}}},
                     true});
    words.push_back({{{"blhd", {{"layout", 1}}}, {"packed", {{"layout", 2}}}}, true});
    words.push_back({{{"shared_kv", {{"shared_kv", 1}}}}, true});
    words.push_back({{{"ragged", {{"ragged", 1}}}, {"ragged_empty", {{"ragged", 2}}}}, true});
    words.push_back(storage_word("gaps", "gaps_", kGapWords));
    words.push_back({{{"blocks{blocks}", {}}}, true});
    words.push_back({{{"nsg{nsg}", {}}}, true});
    words.push_back({{{"far", {{"far", 1}}}}, true});
    return words;
  }();
  return all;
}

constexpr std::array<std::string_view, 14> kFixtures = {"gauss",        "heavy",          "outlier",      "needle",     "uniform",
                                                        "drift",        "cancel",         "large",        "zero",       "tiny",
                                                        "all_negative", "sink_dominates", "softcap_edge", "one_key_far"};

// Those of special cases only.
constexpr std::array<std::string_view, 7> kSpecialFixtures = {"mask_rows",     "mask_late",     "mask_last",      "mask_ends",
                                                              "one_key_first", "one_key_above", "below_sentinels"};

bool has_fixture(const fixtures::Fixture& fixture) {
  const auto is_among = [&](const auto& names) { return std::ranges::find(names, fixture.name) != names.end(); };
  return is_among(kFixtures) || is_among(kSpecialFixtures);
}

// What mask, queries and keys mean to each other; suites have all triples of these classes.
std::vector<Classifier> classifiers() {
  return {
      {"mask", {kMaskWords.begin(), kMaskWords.end()}, [](std::span<const std::int64_t> v) { return static_cast<int>(v[kMask]); }},
      {"offset", {kOffsetWords.begin(), kOffsetWords.end()}, [](std::span<const std::int64_t> v) { return static_cast<int>(v[kOffset]); }},
      {"queries",
       {"one", "several", "more than keys"},
       [](std::span<const std::int64_t> v) { return v[kQueries] > v[kKeys] ? 2
                                                    : v[kQueries] > 1      ? 1
                                                                           : 0; }},
      {"keys",
       {"one", "below 32", "whole tiles", "a tail"},
       [](std::span<const std::int64_t> v) {
         return v[kKeys] == 1 ? 0 : v[kKeys] < 32 ? 1 : v[kKeys] % 32 == 0 ? 2 : 3;
       }},
      // A sink gives a query without a key its output.
      {"sinks", {"none", "some"}, [](std::span<const std::int64_t> v) { return v[kSinks] != 0 ? 1 : 0; }},
      {"batches", {"one", "several"}, [](std::span<const std::int64_t> v) { return v[kBatch] > 1 ? 1 : 0; }}};
}

Family family_with(const std::vector<FactorTable>& factor_tables) {
  const auto tables = std::make_shared<const std::vector<FactorTable>>(factor_tables);
  Family family{.contract = kAttentionContract,
                .description = "softmax(scale q k + mask) v of any kernel, whose variant.toml describes types, masks, cache and launch",
                .axes = axes(),
                .words = case_words(),
                .factors = {},
                .realise =
                    [tables, first = first_values(*tables), least = least_values(*tables)](std::span<const int> levels, Values values) {
                      std::ranges::fill(values, kOpen);
                      values[kFar] = 0;
                      for (std::size_t factor = 0; factor < tables->size(); ++factor) {
                        if (levels[factor] < 0) continue;
                        for (const auto& [axis, value] : (*tables)[factor].levels[static_cast<std::size_t>(levels[factor])].values)
                          values[axis] = value;
                      }
                      return is_possible(values, first, least);
                    },
                .draw =
                    [](Draw& draw, Values values) {
                      if (values[kLayout] == static_cast<std::int64_t>(Layout::packed)) return;
                      values[kKeys] = draw.between(std::max<std::int64_t>(1, values[kRingStart] + 1), 700);
                    },
                .work =
                    [](std::span<const std::int64_t> values) {
                      const auto least = [&](AxisIndex axis, std::int64_t open) { return values[axis] == kOpen ? open : values[axis]; };
                      return least(kBatch, 1) * least(kHeads, 1) * least(kQueries, 1) * least(kKeys, 1) * (least(kDk, 32) + least(kDv, 32));
                    },
                .classifiers = classifiers(),
                .has_fixture = has_fixture,
                .launch = nullptr,
                .expression_names = [](const Case& test_case, const kernels::Variant& variant) -> std::shared_ptr<const kernels::Names> {
                  return std::make_shared<CaseNames>(shape_of(test_case), variant.setting("max_bias"));
                },
                .sketch = attention::sketch,
                .validate = attention::validate,
                // A launch may have any number; two orders are compared in any case.
                .simdgroups = [](const Case&) { return std::int64_t{2}; },
                .files = attention::files(),
                .job = attention::job,
                .minimum = attention::minimum_of,
                .triage = attention::triage(),
                .bounds_weaker_storage = true,
                .omissions = attention_omissions()};
  for (const FactorTable& table : *tables) {
    constexpr std::array<std::string_view, 6> kClassed = {"batch", "queries", "keys", "mask", "offset", "sinks"};
    if (std::ranges::find(kClassed, table.name) != kClassed.end()) family.class_factors.push_back(family.factors.size());
    std::vector<std::string> labels;
    for (const Level& level : table.levels) labels.push_back(level.label);
    const auto everyday = static_cast<std::size_t>(std::ranges::count_if(table.levels, &Level::is_everyday));
    family.factors.push_back(
        {table.name, std::move(labels), everyday, [&table, tables](std::size_t level, std::span<const std::int64_t> values) {
           return std::ranges::all_of(table.levels[level].values, [&](const Given& given) { return values[given.first] == given.second; });
         }});
  }
  return family;
}

}  // namespace
}  // namespace attention

Family attention_family() {
  using namespace attention;
  Family family = family_with(all_factors());
  family.of_variant = [](const kernels::Variant& variant) {
    const std::vector<FactorTable> tables = factors_within(variant.limits);
    Family own = family_with(tables);
    // A variant that only names the family has no settings.
    if (variant.contract != nullptr) own.triage = attention::triage(static_cast<oracles::LogBase>(variant.setting("lse")));
    const auto has_none = [](const FactorTable& table) { return table.levels.empty(); };
    if (std::ranges::any_of(tables, has_none)) return own;
    const auto special = std::make_shared<const SpecialCases>(special_cases(tables, variant));
    own.own_cases = special->own;
    own.long_cases = special->longer;
    own.longest_cases = special->longest;
    // The names live as long as the family.
    own.has_fixture = [special](const fixtures::Fixture& fixture) { return has_fixture(fixture); };
    return own;
  };
  return family;
}

}  // namespace assay::families

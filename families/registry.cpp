// The families of assay, and those that the program judges.
#include "families/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/nearest_word.h"

// One line per family: the function in families/<name>/family.cpp that makes its descriptor.
#define ASSAY_FAMILIES(ROW) \
  ROW(tq4_family)           \
  ROW(tqhb_family)          \
  ROW(reduce_family)        \
  ROW(fwht_family)          \
  ROW(quantize_family)      \
  ROW(dequantize_family)    \
  ROW(bf16_prefill_family)  \
  ROW(bf16_vec_family)      \
  ROW(attention_family)     \
  ROW(custom_family)

namespace assay::families {

#define ASSAY_DECLARE(make) Family make();
ASSAY_FAMILIES(ASSAY_DECLARE)
#undef ASSAY_DECLARE

namespace {

// What main() gave; empty in programs that judge the families of assay only.
std::vector<Family>& given() {
  static std::vector<Family> families;
  return families;
}

bool is_used = false;

}  // namespace

std::vector<Family> own_families() {
#define ASSAY_MAKE(make) make(),
  return {ASSAY_FAMILIES(ASSAY_MAKE)};
#undef ASSAY_MAKE
}

void use_families(std::vector<Family> families) {
  if (families.empty()) throw std::invalid_argument("a program needs at least one family");
  std::set<std::string_view> names;
  for (const Family& family : families) {
    if (!names.insert(family.name()).second) throw std::invalid_argument(fmt::format("two families have the name '{}'", family.name()));
  }
  if (is_used) throw std::logic_error("use_families() was called after the families were used");
  given() = std::move(families);
}

std::span<const Family> all_families() {
  static const std::vector<Family> families = [] {
    is_used = true;
    return given().empty() ? own_families() : std::move(given());
  }();
  return families;
}

const Family& find_family(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Family& family : all_families()) {
    if (family.name() == name) return family;
    names.push_back(family.name());
  }
  throw std::invalid_argument(
      fmt::format("unknown family '{}'{}; the families are {}", name, base::did_you_mean(name, names), fmt::join(names, ", ")));
}

const Family& family_of(const kernels::Variant& variant) {
  const Family& family = find_family(variant.family);
  if (!family.of_variant) return family;
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::string, std::string>, std::unique_ptr<const Family>> made;  // by name, file and text
  const std::scoped_lock lock(mutex);
  std::unique_ptr<const Family>& own = made[{variant.name, variant.description.string(), variant.text}];
  if (!own) own = std::make_unique<const Family>(family.of_variant(variant));
  return *own;
}

kernels::Contracts contracts() {
  static const std::vector<kernels::FamilyContract> contracts = [] {
    std::vector<kernels::FamilyContract> all;
    for (const Family& family : all_families()) all.push_back(family.contract);
    for (const Family& family : all_families()) all.insert(all.end(), family.helper_contracts.begin(), family.helper_contracts.end());
    return all;
  }();
  return contracts;
}

const kernels::FamilyContract& contract(std::string_view name) { return kernels::require_contract(contracts(), name); }

}  // namespace assay::families

// The table of families.
#include "families/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

// A program with its own families defines this macro as their rows, and includes this file; see tests/families/toy.
#ifndef ASSAY_FURTHER_FAMILIES
#define ASSAY_FURTHER_FAMILIES(ROW)
#endif

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
  ROW(custom_family)        \
  ASSAY_FURTHER_FAMILIES(ROW)

namespace assay::families {

#define ASSAY_DECLARE(make) Family make();
ASSAY_FAMILIES(ASSAY_DECLARE)
#undef ASSAY_DECLARE

std::span<const Family> all_families() {
#define ASSAY_MAKE(make) make(),
  static const std::vector<Family> families = {ASSAY_FAMILIES(ASSAY_MAKE)};
#undef ASSAY_MAKE
  return families;
}

const Family& find_family(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Family& family : all_families()) {
    if (family.name() == name) return family;
    names.push_back(family.name());
  }
  throw std::invalid_argument(fmt::format("unknown family '{}'; the families are {}", name, fmt::join(names, ", ")));
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

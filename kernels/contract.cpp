// Looks up contracts by family name.
#include "kernels/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/nearest_word.h"

namespace assay::kernels {
std::string to_string(const FunctionKey& key) {
  if (key.constants.empty()) return key.entry;
  std::vector<std::string> values;
  for (const auto& [index, value] : key.constants) values.push_back(fmt::format("{} = {}", index, metal::to_string(value)));
  return fmt::format("{} with function constant{} {}", key.entry, values.size() == 1 ? "" : "s", fmt::join(values, ", "));
}

const FieldContract* FamilyContract::find_field(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &FieldContract::name);
  return found == fields.end() ? nullptr : &*found;
}

const EntryContract* FamilyContract::find_entry(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &EntryContract::key);
  return found == entries.end() ? nullptr : &*found;
}

const FamilyContract* find_contract(Contracts contracts, std::string_view family) {
  const auto found = std::ranges::find(contracts, family, &FamilyContract::name);
  return found == contracts.end() ? nullptr : &*found;
}

const FamilyContract& require_contract(Contracts contracts, std::string_view family) {
  if (const FamilyContract* found = find_contract(contracts, family)) return *found;
  const std::vector<std::string_view> names = names_of(contracts);
  throw std::invalid_argument(
      fmt::format("unknown family '{}'{}; the families are {}", family, base::did_you_mean(family, names), fmt::join(names, ", ")));
}

std::vector<std::string_view> names_of(Contracts contracts) {
  std::vector<std::string_view> names;
  for (const FamilyContract& family : contracts) names.push_back(family.name);
  return names;
}

}  // namespace assay::kernels

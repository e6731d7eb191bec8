// Makes the contract's constant tables from those of the oracles.
#include "families/shared/contract_tables.h"

#include <fmt/format.h>

#include <span>

#include "oracles/codebook.h"

namespace assay::families {

void add_codebook(std::vector<ContractTable>& tables, std::int64_t bits) {
  const std::span<const float> centroids = oracles::codebook(static_cast<int>(bits));
  const std::span<const float> upper = centroids.subspan(centroids.size() / 2);
  tables.push_back({fmt::format("the codebook of {} bits", bits), {centroids.begin(), centroids.end()}});
  tables.push_back({fmt::format("the upper half of the codebook of {} bits", bits), {upper.begin(), upper.end()}});
}

void add_boundaries(std::vector<ContractTable>& tables, std::int64_t bits) {
  const std::span<const float> centroids = oracles::codebook(static_cast<int>(bits));
  ContractTable table{fmt::format("the decision boundaries of {} bits", bits), {}};
  for (std::size_t i = 0; i + 1 < centroids.size(); ++i) table.values.push_back(double{0.5F * (centroids[i] + centroids[i + 1])});
  tables.push_back(std::move(table));
}

void add_signs(std::vector<ContractTable>& tables, std::int64_t head_dim) {
  const auto dim = static_cast<int>(head_dim);
  const std::span<const std::uint8_t> bytes = oracles::sign_bits(dim);
  tables.push_back({fmt::format("the sign bits of {} coordinates", dim), {bytes.begin(), bytes.end()}, true});
  ContractTable signs{fmt::format("the signs of {} coordinates", dim), {}};
  for (int j = 0; j < dim; ++j) signs.values.push_back(oracles::rotation_sign(dim, j));
  tables.push_back(std::move(signs));
}

}  // namespace assay::families

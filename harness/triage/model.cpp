#include "harness/triage/model.h"

#include <algorithm>
#include <iterator>

#include "harness/triage/attention_model.h"
#include "harness/triage/mistakes.h"
#include "harness/triage/small_models.h"

namespace assay::harness {
namespace {

template <typename Of>
std::shared_ptr<const Model> made(const Case& about, const fixtures::Shelf& shelf) {
  return std::make_shared<const Of>(about, shelf);
}

struct Row {
  std::string_view family;
  std::shared_ptr<const Model> (*make)(const Case&, const fixtures::Shelf&);
  std::vector<Mistake> (*mistakes)();
  std::vector<Mistake> (*of_codebook)(const std::vector<double>&) = nullptr;
};

constexpr Row kRows[] = {
    {"tq4", made<AttentionModel>, [] { return attention_mistakes(true); }, attention_mistakes_of_codebook},
    {"tqhb", made<AttentionModel>, [] { return attention_mistakes(true); }, attention_mistakes_of_codebook},
    {"bf16_prefill", made<AttentionModel>, [] { return attention_mistakes(false); }},
    {"bf16_vec", made<AttentionModel>, [] { return attention_mistakes(false); }},
    {"reduce", made<ReduceModel>, reduce_mistakes},
    {"fwht", made<FwhtModel>, fwht_mistakes},
    {"quantize", made<QuantizeModel>, quantize_mistakes},
    {"dequantize", made<DequantizeModel>, dequantize_mistakes, dequantize_mistakes_of_codebook},
};

}  // namespace

std::shared_ptr<const Model> make_model(const Case& about, const fixtures::Shelf& shelf) {
  const auto row = std::ranges::find(kRows, about.family->name(), &Row::family);
  return row == std::end(kRows) ? nullptr : row->make(about, shelf);
}

std::vector<Mistake> mistakes_of_codebook(const Family& family, const std::vector<double>& codebook) {
  const auto row = std::ranges::find(kRows, family.name(), &Row::family);
  if (codebook.empty() || row == std::end(kRows) || row->of_codebook == nullptr) return {};
  return row->of_codebook(codebook);
}

std::span<const Mistake> mistakes_of(const Family& family) {
  static std::map<std::string_view, std::vector<Mistake>> tables;
  const auto row = std::ranges::find(kRows, family.name(), &Row::family);
  if (row == std::end(kRows)) return {};
  const auto [table, is_new] = tables.try_emplace(family.name());
  if (is_new) table->second = row->mistakes();
  return table->second;
}

}  // namespace assay::harness

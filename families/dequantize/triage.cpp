// The triage rules of family `dequantize`: its model with mistakes, cases near a failing one, and places in its cache.
#include "families/dequantize/inputs.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/code_bytes.h"
#include "families/mistakes.h"
#include "families/shared/cache_edit.h"
#include "families/shared/cache_mistakes.h"
#include "families/shared/mistake_table.h"
#include "families/shared/probes.h"

namespace assay::families {
namespace {

struct DequantizeChange {
  CacheEdit edit;
  enum class Heads { own, first, next, reversed };
  Heads heads = Heads::own;
  bool fixed_root = false;  // divides norms by 16, whatever the scale factor
};

class DequantizeModel final : public Model {
 public:
  DequantizeModel(const Case& test_case, const Source& source);
  [[nodiscard]] std::vector<double> evaluate(const DequantizeChange& change) const;
  [[nodiscard]] std::vector<double> learn_codebook(std::span<const double> actual) const override;
  [[nodiscard]] double divisor() const;

 private:
  [[nodiscard]] StoredSide stored(double divided_by) const;

  fixtures::DequantizeRequest request_;
  fixtures::DequantizeInputs inputs_;
};

DequantizeModel::DequantizeModel(const Case& test_case, const Source& source)
    : request_(dequantize_request(test_case)), inputs_(dequantize_inputs(test_case, source)) {}

double DequantizeModel::divisor() const { return request_.head_dim == 256 ? 16.0 : static_cast<double>(request_.scale_factor_d512); }

StoredSide DequantizeModel::stored(double divided_by) const {
  return {.heads = request_.kv_heads,
          .capacity = request_.kv_capacity,
          .head_dim = request_.head_dim,
          .bits = request_.bits,
          .norms_per_position = request_.head_dim / 256,
          .divisor = divided_by,
          .codes = inputs_.codes,
          .norms = inputs_.norms,
          .other_norms = {}};
}

std::vector<double> DequantizeModel::learn_codebook(std::span<const double> actual) const {
  return learn_centroids(stored(divisor()), 0, request_.position, actual.first(request_.head_dim));
}

std::vector<double> DequantizeModel::evaluate(const DequantizeChange& change) const {
  using Heads = DequantizeChange::Heads;
  const std::size_t dim = request_.head_dim;
  const StoredSide side = stored(change.fixed_root ? 16.0 : divisor());
  std::vector<double> result(request_.kv_heads * dim);
  for (std::size_t head = 0; head < request_.kv_heads; ++head) {
    std::size_t from = head;
    if (change.heads == Heads::first) from = 0;
    if (change.heads == Heads::next) from = (head + 1) % request_.kv_heads;
    if (change.heads == Heads::reversed) from = request_.kv_heads - 1 - head;
    decode_slot(side, change.edit, from, request_.position, std::span(result).subspan(head * dim, dim));
  }
  return result;
}

std::vector<Mistake> dequantize_mistakes_of_codebook(const std::vector<double>& codebook) {
  MistakeTable<DequantizeModel, DequantizeChange> table;
  constexpr int late = 4;  // ranks after every mistake that does not use the output itself
  table.add(
      mistake::kCodebook, "indices are looked up in another codebook",
      [=](DequantizeChange& c) {
        c.edit.table = CacheEdit::Table::learned;
        c.edit.learned = codebook;
      },
      late);
  return table.take();
}

std::vector<Mistake> dequantize_mistakes() {
  MistakeTable<DequantizeModel, DequantizeChange> table;
  using Change = DequantizeChange;
  add_cache_mistakes([&](std::string_view kind, const std::string& says, const auto& make, int rank) {
    table.add(kind, says, [=](Change& c) { make(c.edit); }, rank);
  });
  table.add(mistake::kUnknown, "the previous position is read", [](Change& c) { c.edit.slots = CacheEdit::Slots::previous; }, 1);
  table.add(mistake::kUnknown, "the next position is read", [](Change& c) { c.edit.slots = CacheEdit::Slots::next; }, 1);
  table.add(mistake::kHead, "every head uses the first key/value head", &Change::heads, Change::Heads::first);
  table.add(mistake::kHead, "every head uses the next key/value head", &Change::heads, Change::Heads::next);
  table.add(mistake::kHead, "heads are used in reverse order", &Change::heads, Change::Heads::reversed);
  table.add(mistake::kScale, "norms are divided by 16, whatever the scale factor", &Change::fixed_root, true);
  table.add_factor(
      mistake::kScale, "the output is scaled by {}",
      [](const Model& model) {
        std::vector<double> factors = usual_factors(model);
        const double divisor = static_cast<const DequantizeModel&>(model).divisor();
        for (const double more : {divisor, 1.0 / divisor, divisor * divisor}) factors.push_back(more);
        return factors;
      },
      [](Change& c, double f) { c.edit.factor = f; });
  return table.take();
}

std::vector<Case> dequantize_probes(const Case& test_case) {
  Probes probes(test_case, {{"num_kv_heads", 1}, {"read_pos", 0}, {"cache_capacity", 1}});
  probes.add({}, "gauss");
  probes.add({{"num_kv_heads", 3}, {"read_pos", 1}, {"cache_capacity", 4}}, "gauss");
  probes.add({{"num_kv_heads", 2}, {"read_pos", 2}, {"cache_capacity", 4}}, "structured");
  probes.add({}, "ladder");
  probes.add({{"head_dim", other_dim(test_case)}, {"num_kv_heads", 2}}, "gauss");
  probes.add({{"head_dim", 512}, {"scale_factor_d512", 16}}, "gauss");
  probes.add({{"num_kv_heads", 2}}, "zero");
  return probes.take();
}

std::vector<Case> smaller_dequantize(const Case& test_case, Smaller how) {
  return how == Smaller::in_one_axis ? smaller_positions(test_case, "read_pos") : std::vector<Case>();
}

Place place_in_codes(const Case& test_case, std::uint64_t byte) {
  const std::uint64_t row_bytes = base::code_bytes(test_case.at("bits"), test_case.size("head_dim"));
  const std::uint64_t row = byte / row_bytes;
  const std::uint64_t capacity = test_case.size("cache_capacity");
  return {fmt::format("byte {} of slot {} of head {}", byte % row_bytes, row % capacity, row / capacity), {}};
}

}  // namespace

TriageRules dequantize_triage() {
  return {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            return std::make_shared<DequantizeModel>(test_case, source);
          },
          .mistakes = dequantize_mistakes,
          .codebook_mistakes = dequantize_mistakes_of_codebook,
          .probes = dequantize_probes,
          .smaller = smaller_dequantize,
          .steps = {steps_of("num_kv_heads", {1, 2}), steps_of("head_dim", {256})},
          .followed = "packed",
          .place = place_in_codes,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"heads", test_case.size("num_kv_heads")}}; }};
}

}  // namespace assay::families

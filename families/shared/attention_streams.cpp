// Computes the online softmax of attention over streams of chunks, with the switches of known mistakes.
#include "families/shared/attention_streams.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/functions.h"
#include "oracles/arithmetic.h"

namespace assay::families {
namespace {

// The state of one simdgroup, or of a workgroup after its merge.
struct Bank {
  double sum = 0, maximum = 0;
  std::vector<double> output;
};

// exp in float: coarse among the subnormal numbers, and 0 below them.
double exp_in_float(double x) { return static_cast<double>(static_cast<float>(math::exp(x))); }

void add_chunk(const AttentionChange& change, const std::vector<AttentionEntry>& chunk, const double* values, Bank& bank) {
  if (chunk.empty()) return;
  const double before = bank.maximum;
  for (const AttentionEntry& entry : chunk) bank.maximum = std::max(bank.maximum, entry.score);
  using Inverted = AttentionChange::Inverted;
  const bool is_inverted = change.inverted == Inverted::nothing || (change.inverted == Inverted::something && bank.sum != 0.0);
  const double rescale = exp_in_float((is_inverted ? bank.maximum - before : before - bank.maximum) * change.rescale_exponent);
  if (!change.keeps_sum) bank.sum *= rescale;
  const auto rescale_output = [&] {
    for (double& value : bank.output) value *= rescale;
  };
  if (!change.keeps_output && !change.rescales_new_output) rescale_output();
  double sum = 0;
  for (const AttentionEntry& entry : chunk) {
    double weight = exp_in_float((entry.score - bank.maximum) * change.weight_exponent) * entry.times;
    if (change.skips_below > 0 && bank.maximum - entry.score > change.skips_below) weight = 0;
    if (change.weights != Precision::full) weight = rounded(weight, change.weights);
    sum += weight;
    if (entry.is_empty || weight == 0.0) continue;
    const double* row = values + entry.slot * bank.output.size();
    for (std::size_t j = 0; j < bank.output.size(); ++j) bank.output[j] += weight * row[j];
  }
  if (change.rescales_new_output) rescale_output();
  bank.sum += sum;
  if (change.sum != Precision::full) bank.sum = rounded(bank.sum, change.sum);
  if (change.output != Precision::full) {
    for (double& value : bank.output) value = rounded(value, change.output);
  }
}

Bank run_stream(const AttentionChange& change, const StreamShape& shape, const AttentionChunks& chunks, const double* values,
                std::size_t workgroup, std::size_t simdgroup) {
  using Order = AttentionChange::Order;
  Bank bank{0.0, change.first_maximum, std::vector<double>(shape.head_dim)};
  std::size_t stride = shape.workgroups * shape.simdgroups;
  std::size_t start = workgroup * shape.simdgroups + simdgroup;
  if (change.order == Order::same_for_simdgroups) start = workgroup * shape.simdgroups;
  if (change.order == Order::stride_without_simdgroups) stride = shape.workgroups;
  if (change.order == Order::stride_one_more) ++stride;
  for (std::size_t c = start; c < chunks.size(); c += stride) {
    if (change.lost == AttentionChange::Lost::behind_hidden && chunks[c].empty()) break;
    add_chunk(change, chunks[c], values, bank);
  }
  return bank;
}

bool is_lost_simdgroup(const AttentionChange& change, const StreamShape& shape, std::size_t simdgroup) {
  using Stream = AttentionChange::Stream;
  if (shape.simdgroups == 1) return false;
  return (change.lost_stream == Stream::first_simdgroup && simdgroup == 0) ||
         (change.lost_stream == Stream::last_simdgroup && simdgroup + 1 == shape.simdgroups) ||
         (change.lost_stream == Stream::odd_simdgroups && simdgroup % 2 != 0) ||
         (change.lost_stream == Stream::upper_simdgroups && simdgroup >= std::max<std::size_t>(shape.simdgroups / 2, 1));
}

bool is_lost_workgroup(const AttentionChange& change, const StreamShape& shape, std::size_t workgroup) {
  using Stream = AttentionChange::Stream;
  if (shape.workgroups == 1) return false;
  return (change.lost_stream == Stream::first_workgroup && workgroup == 0) ||
         (change.lost_stream == Stream::last_workgroup && workgroup + 1 == shape.workgroups);
}

// The factor of a part in a merge.
double factor_in_merge(const AttentionChange& change, double own, double top) {
  return exp_in_float(change.inverted == AttentionChange::Inverted::merges ? top - own : own - top);
}

void merge_into(const AttentionChange& change, Bank& bank, const Bank& other) {
  const double top = std::max(bank.maximum, other.maximum);
  const double own = factor_in_merge(change, bank.maximum, top);
  const double others = factor_in_merge(change, other.maximum, top);
  bank.sum = bank.sum * own + other.sum * others;
  for (std::size_t j = 0; j < bank.output.size(); ++j) bank.output[j] = bank.output[j] * own + other.output[j] * others;
  if (!change.merges_forget_maximum) bank.maximum = top;
}

// By halves, as bf16_vec does, or one after the other.
Bank merged_in_pairs(const AttentionChange& change, std::vector<Bank> banks) {
  if (change.pairs == AttentionChange::Pairs::in_turn) {
    for (std::size_t i = 1; i < banks.size(); ++i) merge_into(change, banks.front(), banks[i]);
    return std::move(banks.front());
  }
  for (std::size_t left = banks.size() / 2; left > 0; left /= 2) {
    for (std::size_t i = 0; i < left; ++i) merge_into(change, banks[i], banks[i + left]);
  }
  return std::move(banks.front());
}

Bank merged_without_sums(std::vector<Bank> banks) {
  Bank result{0.0, -std::numeric_limits<double>::infinity(), std::vector<double>(banks.front().output.size())};
  std::erase_if(banks, [](const Bank& bank) { return bank.sum == 0.0; });
  for (const Bank& bank : banks) result.maximum = std::max(result.maximum, bank.maximum);
  for (const Bank& bank : banks) {
    const double factor = exp_in_float(bank.maximum - result.maximum);
    result.sum += factor;
    for (std::size_t j = 0; j < result.output.size(); ++j) result.output[j] += bank.output[j] / bank.sum * factor;
  }
  return result;
}

Bank merged(const AttentionChange& change, const std::vector<Bank>& banks, double first_maximum, bool output_as_is, bool sum_as_is) {
  Bank result{0.0, first_maximum, std::vector<double>(banks.front().output.size())};
  for (const Bank& bank : banks) result.maximum = std::max(result.maximum, bank.maximum);
  for (const Bank& bank : banks) {
    const double factor = factor_in_merge(change, bank.maximum, result.maximum);
    result.sum += bank.sum * (sum_as_is ? 1.0 : factor);
    for (std::size_t j = 0; j < result.output.size(); ++j) result.output[j] += bank.output[j] * (output_as_is ? 1.0 : factor);
  }
  return result;
}

}  // namespace

double attend(const AttentionChange& change, const StreamShape& shape, const AttentionChunks& chunks, const double* values,
              double* output) {
  std::vector<Bank> of_workgroups;
  for (std::size_t workgroup = 0; workgroup < shape.workgroups; ++workgroup) {
    std::vector<Bank> of_simdgroups;
    for (std::size_t simdgroup = 0; simdgroup < shape.simdgroups; ++simdgroup) {
      if (is_lost_simdgroup(change, shape, simdgroup)) continue;
      of_simdgroups.push_back(run_stream(change, shape, chunks, values, workgroup, simdgroup));
    }
    Bank bank = of_simdgroups.size() == 1    ? std::move(of_simdgroups.front())
                : change.merges_without_sums ? merged_without_sums(std::move(of_simdgroups))
                : change.merges_forget_maximum || change.pairs != AttentionChange::Pairs::none
                    ? merged_in_pairs(change, std::move(of_simdgroups))
                    : merged(change, of_simdgroups, change.first_merge_maximum, change.merges_output_as_is, change.merges_sum_as_is);
    if (change.normalised_early && shape.partials && bank.sum != 0.0) {
      for (double& value : bank.output) value /= bank.sum;
    }
    if (!is_lost_workgroup(change, shape, workgroup)) of_workgroups.push_back(std::move(bank));
  }
  const Bank total = of_workgroups.size() == 1 ? std::move(of_workgroups.front()) : merged(change, of_workgroups, -1.7e38, false, false);
  const bool divides = !change.unnormalised || shape.partials;
  const double inverse = total.sum == 0.0 ? 0.0 : static_cast<double>(1.0F / static_cast<float>(total.sum));
  for (std::size_t j = 0; j < shape.head_dim; ++j) output[j] = total.output[j] * (divides ? inverse : 1.0);
  return total.sum == 0.0 ? -std::numeric_limits<double>::infinity() : total.maximum + math::log(total.sum);
}

}  // namespace assay::families

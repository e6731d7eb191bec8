// Converts a variant's [accuracy] for the oracles of attention and the judge.
#include "families/shared/attention_accuracy.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace assay::families {

oracles::AttentionAccuracy attention_accuracy(const kernels::Accuracy& declared, const oracles::OutputFormat& output, std::int64_t nsg,
                                              const oracles::ArithmeticProfile& profile) {
  // The reader of variant.toml has already rejected other names.
  const auto format = [](std::string_view name) {
    if (name == "half") return oracles::half_format();
    return name == "bf16" ? oracles::bfloat_format() : oracles::float_format();
  };
  oracles::AttentionAccuracy accuracy;
  accuracy.profile = profile;
  if (declared.dot_depth) accuracy.dot_depth = *declared.dot_depth;
  accuracy.output = output;
  accuracy.accumulator = format(declared.accumulator);
  accuracy.keys = format(declared.format("keys"));
  accuracy.values = format(declared.format("values"));
  if (declared.accumulator_keys) accuracy.accumulator_keys = *declared.accumulator_keys;
  for (const std::string& store : declared.stores) accuracy.stores.push_back(format(store));
  if (declared.merge_store) {
    for (std::int64_t merged = nsg; merged > 1; merged /= 2) accuracy.stores.push_back(format(*declared.merge_store));
  }
  return accuracy;
}

double declared_loss(const oracles::AttentionAccuracy& accuracy) {
  return accuracy.values.unit() > oracles::kFloatUnit ? accuracy.values.smallest_subnormal : 0.0;
}

std::optional<double> informative_ratio(const oracles::AttentionAccuracy& accuracy) {
  const double unit = oracles::weakest_unit(accuracy);
  return unit > oracles::kFloatUnit ? std::optional(16.0 * unit) : std::nullopt;
}

}  // namespace assay::families

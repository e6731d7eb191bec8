// Names and values of a case of family `attention`, for the expressions of its launch.
#include "families/attention/names.h"

#include "families/attention/contract.h"

namespace assay::families::attention {
namespace {

// "float", "half", "bfloat", "q8_0", ...
std::string word_of(Storage type) { return std::string(kKeyTypeWords[static_cast<std::size_t>(type) + 1]); }

template <typename Enum>
std::string word_of(std::span<const std::string_view> words, Enum value) {
  return std::string(words[static_cast<std::size_t>(value)]);
}

}  // namespace

CaseNames::CaseNames(const Shape& shape, std::int64_t max_bias) : layouts_(shape) {
  const auto size = [&](std::string_view name, std::size_t value) { values_.emplace(name, static_cast<std::int64_t>(value)); };
  size("b", shape.batches);
  size("h", shape.heads);
  size("g", shape.kv_heads);
  size("lq", shape.queries);
  size("lk", shape.keys);
  size("dk", shape.dk);
  size("dv", shape.dv);
  size("window", shape.window);
  size("capacity", shape.capacity);
  size("ring_start", shape.ring_start);
  size("page_size", shape.page);
  size("pages", shape.pages());
  size("block_count", block_count(shape));
  size("kv_batches", shape.kv_batches);
  size("blocks", shape.blocks);
  size("nsg", shape.nsg);
  values_.emplace("max_bias", shape.has_slopes() ? max_bias : std::int64_t{0});
  values_.emplace("offset", shape.offset);
  values_.emplace("at_end", shape.is_at_end);
  values_.emplace("softcap", shape.softcap);
  values_.emplace("scale", static_cast<double>(shape.scale));
  values_.emplace("sinks", shape.sinks);
  values_.emplace("type", word_of(shape.q));
  values_.emplace("k_type", word_of(shape.k));
  values_.emplace("v_type", word_of(shape.v));
  values_.emplace("out_type", word_of(shape.out));
  values_.emplace("mask_type", word_of(shape.mask_type));
  values_.emplace("mask", word_of(kMaskWords, shape.mask));
  values_.emplace("cache", word_of(kCacheWords, shape.cache));
  values_.emplace("layout", word_of(kLayoutWords, shape.layout));
}

std::optional<kernels::Value> CaseNames::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

const kernels::NamedTensor* CaseNames::tensor(std::string_view name) const {
  const Placed* placed = layouts_.find(name);
  return placed == nullptr ? nullptr : &placed->tensor;
}

std::vector<std::string> CaseNames::all() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  for (const auto& [name, placed] : layouts_.all()) names.push_back(name);
  return names;
}

}  // namespace assay::families::attention

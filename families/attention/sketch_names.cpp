// Finds out what a name of a kernel file means.
#include "families/attention/sketch_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace assay::families::attention {
namespace {

// A name that kernels use, and the expression that says the same.
struct Meaning {
  std::string_view word;
  std::string_view expression;
};

// Buffers. A name matches if it is the word, or begins or ends with it behind or before '_'.
constexpr std::array kBuffers = {
    Meaning{"q", "q"},
    Meaning{"query", "q"},
    Meaning{"queries", "q"},
    Meaning{"k", "k"},
    Meaning{"key", "k"},
    Meaning{"keys", "k"},
    Meaning{"v", "v"},
    Meaning{"value", "v"},
    Meaning{"values", "v"},
    Meaning{"o", "out"},
    Meaning{"out", "out"},
    Meaning{"output", "out"},
    Meaning{"dst", "out"},
    Meaning{"mask", "mask"},
    Meaning{"fmask", "mask"},
    Meaning{"bmask", "mask"},
    Meaning{"sink", "sinks"},
    Meaning{"sinks", "sinks"},
    Meaning{"lse", "lse"},
    Meaning{"block_table", "block_table"},
    Meaning{"block_tables", "block_table"},
    Meaning{"context_lens", "kv_len"},
    Meaning{"seq_lens", "kv_len"},
    Meaning{"slopes", "slopes"},
    Meaning{"alibi_slopes", "slopes"},
};

// Numbers, as arguments or fields. Strides are recognised apart.
constexpr std::array kNumbers = {
    Meaning{"n", "lk"},
    Meaning{"kl", "lk"},
    Meaning{"n_kv", "lk"},
    Meaning{"n_keys", "lk"},
    Meaning{"key_count", "lk"},
    Meaning{"kv_len", "lk"},
    Meaning{"kv_seq_len", "lk"},
    Meaning{"seq_len", "lk"},
    Meaning{"ne11", "lk"},
    Meaning{"num_keys", "lk"},
    Meaning{"ql", "lq"},
    Meaning{"ne01", "lq"},
    Meaning{"q_len", "lq"},
    Meaning{"n_queries", "lq"},
    Meaning{"num_queries", "lq"},
    Meaning{"h", "h"},
    Meaning{"heads", "h"},
    Meaning{"n_heads", "h"},
    Meaning{"num_heads", "h"},
    Meaning{"num_q_heads", "h"},
    Meaning{"n_q_heads", "h"},
    Meaning{"n_query_heads", "h"},
    Meaning{"ne02", "h"},
    Meaning{"kv_heads", "g"},
    Meaning{"n_kv_heads", "g"},
    Meaning{"num_kv_heads", "g"},
    Meaning{"ne_12_2", "g"},
    Meaning{"gqa", "h / g"},
    Meaning{"gqa_factor", "h / g"},
    Meaning{"b", "b"},
    Meaning{"batch", "b"},
    Meaning{"batch_size", "b"},
    Meaning{"d", "dk"},
    Meaning{"head_dim", "dk"},
    Meaning{"head_size", "dk"},
    Meaning{"scale", "scale"},
    Meaning{"softmax_scale", "scale"},
    Meaning{"softcap", "softcap"},
    Meaning{"softcapping", "softcap"},
    Meaning{"logit_softcap", "softcap"},
    Meaning{"soft_cap", "softcap"},
    Meaning{"cap", "softcap"},
    Meaning{"window", "window"},
    Meaning{"sliding_window", "window"},
    Meaning{"window_size", "window"},
    Meaning{"ql_off", "offset"},
    Meaning{"q_offset", "offset"},
    Meaning{"causal_shift", "offset"},
    Meaning{"use_mask", "mask != 'none'"},
    Meaning{"has_mask", "mask != 'none'"},
    Meaning{"use_sinks", "sinks"},
    Meaning{"has_sinks", "sinks"},
    Meaning{"offset", "offset"},
    Meaning{"blocks", "blocks"},
    Meaning{"nwg", "blocks"},
    Meaning{"n_blocks", "blocks"},
    Meaning{"ring_start", "ring_start"},
    Meaning{"page_size", "page_size"},
    Meaning{"capacity", "capacity"},
    Meaning{"kv_capacity", "capacity"},
    Meaning{"block_size", "page_size"},
    Meaning{"max_num_blocks_per_seq", "pages"},
    Meaning{"max_bias", "max_bias"},
};

constexpr std::array kTypes = {Meaning{"float16_t", "half"},  Meaning{"bfloat16_t", "bfloat"}, Meaning{"float16", "half"},
                               Meaning{"bfloat16", "bfloat"}, Meaning{"float32", "float"},     Meaning{"bfloat", "bfloat"},
                               Meaning{"bf16", "bfloat"},     Meaning{"float", "float"},       Meaning{"half", "half"},
                               Meaning{"f16", "half"},        Meaning{"f32", "float"}};

std::optional<std::string> meaning_of(std::span<const Meaning> table, std::string_view name) {
  const std::string plain = lower(name);
  const auto exact = std::ranges::find(table, plain, &Meaning::word);
  if (exact != table.end()) return std::string(exact->expression);
  return std::nullopt;
}

// "k_head_stride" -> "stride(k, 'head')"; nothing for a name that is no stride, or does not say of what.
std::optional<std::string> stride_of(std::string_view name) {
  const std::string plain = lower(name);
  if (plain.find("stride") == std::string::npos) return std::nullopt;
  std::string tensor;
  for (const std::string_view candidate : {"mask", "out", "q", "k", "v", "o"}) {
    if (plain.starts_with(fmt::format("{}_", candidate))) tensor = candidate == "o" ? "out" : candidate;
    if (!tensor.empty()) break;
  }
  if (tensor.empty() && plain.starts_with("m_")) tensor = "mask";
  if (tensor.empty()) return std::nullopt;
  const auto says = [&](std::string_view word) { return plain.find(word) != std::string::npos; };
  const std::string_view row = tensor == "k" || tensor == "v" || (tensor == "mask" && says("kv")) ? "key" : "query";
  const std::string_view axis = says("batch")                                                                 ? "batch"
                                : says("head")                                                                ? "head"
                                : says("seq") || says("row") || says("token") || says("query") || says("key") ? row
                                                                                                              : "";
  return axis.empty() ? std::nullopt : std::optional(fmt::format("stride({}, '{}')", tensor, axis));
}

bool is_whole_word(std::string_view name, std::size_t at, std::size_t length) {
  const auto is_part = [&](std::size_t i) { return i < name.size() && (std::isalnum(static_cast<unsigned char>(name[i])) != 0); };
  return (at == 0 || !is_part(at - 1)) && !is_part(at + length);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view type_word(metal::ScalarType type) {
  if (type == metal::ScalarType::float16) return "half";
  if (type == metal::ScalarType::bfloat16) return "bfloat";
  return type == metal::ScalarType::float32 ? "float" : "";
}

std::optional<std::string> buffer_of(std::string_view name) {
  if (auto exact = meaning_of(kBuffers, name)) return exact;
  const std::string plain = lower(name);
  for (const Meaning& meaning : kBuffers) {
    const std::string before = fmt::format("{}_", meaning.word);
    const std::string behind = fmt::format("_{}", meaning.word);
    if (plain.starts_with(before) || plain.ends_with(behind)) return std::string(meaning.expression);
  }
  return std::nullopt;
}

std::optional<std::string> guess_of(std::string_view name) {
  constexpr std::array<std::string_view, 18> kOfAnyBuffer = {"buffer", "tensor", "matrix", "cache", "input", "data", "proj", "base", "buf",
                                                             "ptr",    "mat",    "src",    "mem",   "in",    "c",    "d",    "g",    "p"};
  std::string stem = lower(name);
  for (bool is_shorter = true; is_shorter;) {
    if (const auto buffer = buffer_of(stem); buffer && (*buffer == "q" || *buffer == "k" || *buffer == "v" || *buffer == "out"))
      return buffer;
    is_shorter = false;
    for (const std::string_view word : kOfAnyBuffer) {
      if (stem.size() <= word.size()) continue;
      if (stem.ends_with(word)) {
        stem.resize(stem.size() - word.size());
      } else if (stem.starts_with(word)) {
        stem.erase(0, word.size());
      } else {
        continue;
      }
      while (stem.ends_with('_')) stem.pop_back();
      stem.erase(0, stem.find_first_not_of('_'));
      is_shorter = true;
      break;
    }
  }
  return std::nullopt;
}

std::optional<std::string> number_of(std::string_view name) {
  if (auto meaning = meaning_of(kNumbers, name)) return meaning;
  return stride_of(name);
}

NameParts parts_of(const std::string& name) {
  NameParts parts{name, {}, {}, {}};
  for (const Meaning& type : kTypes) {
    const std::size_t at = parts.stem.find(type.word);
    if (at == std::string::npos || !is_whole_word(parts.stem, at, type.word.size())) continue;
    parts.type_word = type.word;
    parts.type = type.expression;
    parts.stem.replace(at, type.word.size(), "{type}");
    break;
  }
  constexpr std::array<std::string_view, 2> kPlaces = {"{dk}", "{dv}"};
  for (std::size_t at = 0; at < parts.stem.size(); ++at) {
    std::size_t end = at;
    while (end < parts.stem.size() && std::isdigit(static_cast<unsigned char>(parts.stem[end])) != 0) ++end;
    if (end == at) continue;
    const std::int64_t value = end - at < 5 ? std::stoll(parts.stem.substr(at, end - at)) : 0;
    const bool is_size = value >= 32 && value <= 1024 && value % 8 == 0 && parts.sizes.size() < kPlaces.size();
    if (is_size) {
      parts.stem.replace(at, end - at, kPlaces[parts.sizes.size()]);
      parts.sizes.push_back(value);
      at += kPlaces[0].size() - 1;
    } else {
      at = end;
    }
  }
  return parts;
}

}  // namespace assay::families::attention

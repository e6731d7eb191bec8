// Drafts a variant.toml of family `attention` from the names in a kernel file.
// Long because the names that kernels use stand beside the one class that looks for them.
#include "families/attention/sketch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace assay::families::attention {
namespace {

using metal::ArgumentLayout;
using metal::BoundArgument;
using metal::ScalarType;

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
    Meaning{"kv_len", "lk"},
    Meaning{"kv_seq_len", "lk"},
    Meaning{"seq_len", "lk"},
    Meaning{"ne11", "lk"},
    Meaning{"num_keys", "lk"},
    Meaning{"ql", "lq"},
    Meaning{"ne01", "lq"},
    Meaning{"q_len", "lq"},
    Meaning{"num_queries", "lq"},
    Meaning{"h", "h"},
    Meaning{"heads", "h"},
    Meaning{"n_heads", "h"},
    Meaning{"num_heads", "h"},
    Meaning{"num_q_heads", "h"},
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
    Meaning{"window", "window"},
    Meaning{"sliding_window", "window"},
    Meaning{"ql_off", "offset"},
    Meaning{"offset", "offset"},
    Meaning{"blocks", "blocks"},
    Meaning{"nwg", "blocks"},
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

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::optional<std::string> meaning_of(std::span<const Meaning> table, std::string_view name) {
  const std::string plain = lower(name);
  const auto exact = std::ranges::find(table, plain, &Meaning::word);
  if (exact != table.end()) return std::string(exact->expression);
  return std::nullopt;
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

// "k_head_stride" -> "stride(k, 'head')"; nothing for a name that is no stride, or does not say of what.
std::optional<std::string> stride_of(std::string_view name) {
  const std::string plain = lower(name);
  if (plain.find("stride") == std::string::npos) return std::nullopt;
  std::string tensor;
  for (const std::string_view candidate : {"mask", "out", "q", "k", "v", "o"}) {
    if (plain.starts_with(fmt::format("{}_", candidate))) tensor = candidate == "o" ? "out" : candidate;
    if (!tensor.empty()) break;
  }
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

// The parts of a function's name that say type and head size.
struct NameParts {
  std::string stem;  // with {type} and {dk} in their places
  std::string type_word, type;
  std::vector<std::int64_t> sizes;
};

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

std::string_view word_of(ScalarType type) {
  if (type == ScalarType::float16) return "half";
  if (type == ScalarType::bfloat16) return "bfloat";
  return type == ScalarType::float32 ? "float" : "";
}

class Drafter {
 public:
  explicit Drafter(const SketchSubject& subject) : subject_(subject) {}

  std::optional<Sketch> draft() {
    const ArgumentLayout* main = most_alike();
    if (main == nullptr) return std::nullopt;
    const NameParts parts = parts_of(main->function);
    write_head();
    write_limits(*main, parts);
    write_dispatch(*main, parts);
    sketch_.likeness = found_.size() >= 4 ? 0.9 : 0.5;
    sketch_.toml = std::move(text_);
    return std::move(sketch_);
  }

 private:
  // The function in whose arguments most of q, k, v and out are found; nullptr if none has q, k and v.
  [[nodiscard]] const ArgumentLayout* most_alike() {
    const ArgumentLayout* best = nullptr;
    std::size_t most = 0;
    for (const ArgumentLayout& function : subject_.functions) {
      std::map<std::string, std::string> found;
      for (const BoundArgument& argument : function.arguments) {
        if (argument.space != metal::AddressSpace::device) continue;
        if (const auto buffer = buffer_of(argument.name)) found.emplace(*buffer, argument.name);
      }
      if (!found.contains("q") || !found.contains("k") || !found.contains("v") || found.size() <= most) continue;
      most = found.size();
      best = &function;
      found_ = std::move(found);
    }
    return best;
  }

  void line(const std::string& text) { text_ += text + "\n"; }
  void ask(const std::string& question) {
    line("# QUESTION: " + question);
    sketch_.questions.push_back(question);
  }

  void write_head() {
    line("family = \"attention\"");
    line(fmt::format("source = \"{}\"", subject_.source));
    line("");
  }

  // Head sizes and types of all functions with the same stem.
  void write_limits(const ArgumentLayout& main, const NameParts& parts) {
    std::set<std::int64_t> dk;
    std::set<std::pair<std::int64_t, std::int64_t>> dims;
    for (const ArgumentLayout& function : subject_.functions) {
      const NameParts other = parts_of(function.function);
      if (other.stem != parts.stem) continue;
      if (!other.sizes.empty()) dk.insert(other.sizes.front());
      if (!other.sizes.empty()) dims.emplace(other.sizes.front(), other.sizes.back());
      if (!other.type.empty()) type_words_.emplace(other.type, other.type_word);
    }
    line("[limits]");
    if (dk.empty()) {
      ask("which head sizes is the kernel made for?");
      dk = {128};
    } else {
      sketch_.inferred.push_back(fmt::format("head sizes {} from the names of the functions", fmt::join(dk, ", ")));
    }
    line(fmt::format("dk   = [{}]", fmt::join(dk, ", ")));
    line(fmt::format("dv   = {}", value_sizes(dims)));
    std::vector<std::string> types;
    for (const auto& [type, word] : type_words_) types.push_back(fmt::format("\"{}\"", type));
    if (types.empty()) {
      const BoundArgument* q = main.find(found_.at("q"));
      const std::string_view stored = q == nullptr ? "" : word_of(q->element);
      types.push_back(fmt::format("\"{}\"", stored.empty() ? "half" : stored));
      if (stored.empty())
        ask("in which type are q and the output stored?");
      else
        sketch_.inferred.push_back(fmt::format("type {} from argument '{}'", stored, q->name));
    }
    line(fmt::format("type = [{}]", fmt::join(types, ", ")));
    if (found_.contains("mask"))
      ask("there is a mask: add mask = [\"none\", \"additive\"] or \"boolean\", \"causal\", \"alibi\", and mask_type if it is not the type "
          "of q");
    if (found_.contains("sinks")) ask("there are sinks: add sinks = [\"no\", \"yes\"]");
    if (found_.contains("block_table")) {
      line("cache = [\"paged\"]");
      sketch_.inferred.push_back("a paged cache, because there is a block table");
    } else {
      line("cache = [\"contiguous\", \"capacity\"]");
    }
    ask("how many queries does one launch take? A decode kernel of one query: lq = [1]");
    line("# lq = [1]");
    line("");
  }

  // The limit of dv: the pairs of the functions' names, and the head size of q and k where names have one size or none.
  static std::string value_sizes(const std::set<std::pair<std::int64_t, std::int64_t>>& dims) {
    if (std::ranges::all_of(dims, [](const auto& pair) { return pair.first == pair.second; })) return "\"dk\"";
    std::vector<std::string> pairs;
    for (const auto& [dk, dv] : dims) pairs.push_back(fmt::format("\"{}x{}\"", dk, dv));
    return fmt::format("[{}]", fmt::join(pairs, ", "));
  }

  void write_dispatch(const ArgumentLayout& main, const NameParts& parts) {
    std::string name = parts.stem;
    const bool own_words = std::ranges::any_of(type_words_, [](const auto& entry) { return entry.first != entry.second; });
    if (own_words) {
      line("[let]");
      std::string choice;
      for (const auto& [type, word] : type_words_) choice += fmt::format("type == '{}' ? '{}' : ", type, word);
      line(fmt::format("type_name = \"{}'{}'\"", choice, type_words_.begin()->second));
      line("");
      name.replace(name.find("{type}"), 6, "{type_name}");
    }
    line("[[dispatch]]");
    line(fmt::format("function = \"{}\"", name));
    ask("how many threadgroups does the host launch? One for each query head and query is a guess");
    line("grid     = [\"b * h\", \"lq\"]");
    if (main.max_total_threads < 1024) {
      line(fmt::format("threads  = [{}]", main.max_total_threads));
      sketch_.inferred.push_back(fmt::format("{} threads, as the function declares", main.max_total_threads));
    } else {
      ask("how many threads has a threadgroup?");
      line("threads  = [32]");
    }
    write_memory(main);
    write_constants();
    line("");
    line("[dispatch.arguments]");
    for (const BoundArgument& argument : main.arguments) {
      if (argument.space != metal::AddressSpace::threadgroup) write_argument(argument);
    }
  }

  void write_memory(const ArgumentLayout& main) {
    std::vector<std::string> memory;
    for (const BoundArgument& argument : main.arguments) {
      if (argument.space == metal::AddressSpace::threadgroup) memory.push_back(fmt::format("{} = 16384", argument.index));
    }
    if (memory.empty()) return;
    ask("how many bytes of threadgroup memory does the host set?");
    line(fmt::format("memory   = {{ {} }}", fmt::join(memory, ", ")));
  }

  void write_constants() {
    std::vector<std::string> constants;
    for (const SketchedConstant& constant : subject_.constants) {
      const std::string plain = lower(constant.name);
      const auto says = [&](std::string_view word) { return plain.find(word) != std::string::npos; };
      const std::string_view value = says("causal") ? "mask == 'causal'"
                                     : says("bool") ? "mask == 'boolean'"
                                     : says("mask") ? "mask != 'none' && mask != 'causal'"
                                     : says("sink") ? "sinks"
                                     : says("cap")  ? "softcap > 0"
                                                    : "";
      if (value.empty()) {
        ask(fmt::format("what is function constant {} ({}, index {})?", constant.name, constant.type_name, constant.index));
        if (constant.type_name != "bool") continue;
      }
      constants.push_back(fmt::format("{} = {}", constant.name, value.empty() ? "false" : fmt::format("\"{}\"", value)));
    }
    if (!constants.empty()) line(fmt::format("constants = {{ {} }}", fmt::join(constants, ", ")));
  }

  void write_argument(const BoundArgument& argument) {
    if (argument.layout) return write_struct(argument);
    if (argument.is_const && argument.is_reference) return write_number(argument.name, argument.name, argument.type_name);
    if (const auto buffer = buffer_of(argument.name)) {
      sketch_.inferred.push_back(fmt::format("{} is argument '{}'", *buffer, argument.name));
      if (*buffer != argument.name) line(fmt::format("{} = \"{}\"", argument.name, *buffer));
      return;
    }
    ask(fmt::format("what is argument '{}' ({} {}*)? A tensor, or a buffer of [[scratch]]", argument.name, metal::to_string(argument.space),
                    argument.type_name));
    line(fmt::format("# {} = \"\"", argument.name));
  }

  void write_number(const std::string& key, const std::string& name, const std::string& type_name) {
    std::optional<std::string> value = meaning_of(kNumbers, name);
    if (!value) value = stride_of(name);
    if (!value) {
      ask(fmt::format("what is '{}' ({})?", name, type_name));
      line(fmt::format("# {} = \"\"", key));
      return;
    }
    sketch_.inferred.push_back(fmt::format("{} is {}", name, *value));
    if (*value != name) line(fmt::format("{} = \"{}\"", key, *value));
  }

  void write_struct(const BoundArgument& argument) {
    for (const metal::StructField& field : argument.layout->fields) {
      if (field.type == ScalarType::other) continue;
      const std::string key = fmt::format("{}.{}", argument.name, field.name);
      if (field.count == 1) {
        write_number(key, field.name, field.type_name);
        continue;
      }
      const std::string stem = lower(field.name);
      const std::string_view tensor = stem.starts_with("q")   ? "q"
                                      : stem.starts_with("k") ? "k"
                                      : stem.starts_with("v") ? "v"
                                      : stem.starts_with("o") ? "out"
                                                              : "";
      if (field.count == 3 && !tensor.empty() && stem.find("stride") != std::string::npos) {
        const std::string_view row = tensor == "k" || tensor == "v" ? "key" : "query";
        line(fmt::format("{0} = [\"stride({1}, 'batch')\", \"stride({1}, 'head')\", \"stride({1}, '{2}')\"]", key, tensor, row));
        sketch_.inferred.push_back(fmt::format("{} are strides of {}", field.name, tensor));
      } else {
        ask(fmt::format("what is '{}' ({}) of '{}'?", field.name, field.type_name, argument.name));
        line(fmt::format("# {} = []", key));
      }
    }
  }

  const SketchSubject& subject_;
  std::map<std::string, std::string> found_;       // buffers of the launch: tensor -> argument
  std::map<std::string, std::string> type_words_;  // type -> its word in the functions' names
  std::string text_;
  Sketch sketch_;
};

}  // namespace

std::optional<Sketch> sketch(const SketchSubject& subject) { return Drafter(subject).draft(); }

}  // namespace assay::families::attention

// Drafts a variant.toml of family `attention` from the names in a kernel file.
#include "families/attention/sketch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "families/attention/sketch_guesses.h"
#include "families/attention/sketch_names.h"

namespace assay::families::attention {
namespace {

using metal::ArgumentLayout;
using metal::BoundArgument;
using metal::ScalarType;

class Drafter {
 public:
  explicit Drafter(const SketchSubject& subject) : subject_(subject) {}

  std::optional<Sketch> draft() {
    const ArgumentLayout* main = most_alike();
    if (main == nullptr) return std::nullopt;
    const NameParts parts = parts_of(main->function);
    find_second(*main, parts);
    collect(*main);
    if (second_ != nullptr) collect(*second_);
    write_head();
    write_limits(*main, parts);
    write_features();
    write_let();
    write_scratch();
    write_dispatch(*main, parts);
    if (second_ != nullptr) write_second(parts);
    ask_about_others(parts);
    sketch_.likeness = found_.size() >= 4 && guessed_.empty() ? 0.9 : 0.5;
    sketch_.toml = std::move(text_);
    return std::move(sketch_);
  }

 private:
  // The function in whose arguments most of q, k, v and out are found, by their names before guesses; nullptr if none has q, k and v.
  [[nodiscard]] const ArgumentLayout* most_alike() {
    const ArgumentLayout* best = nullptr;
    for (const bool guesses : {false, true}) {
      std::size_t most = 0;
      for (const ArgumentLayout& function : subject_.functions) {
        std::map<std::string, std::string> guessed = guesses ? guesses_of(function) : std::map<std::string, std::string>();
        std::map<std::string, std::string> found;
        for (const BoundArgument& argument : function.arguments) {
          if (argument.space != metal::AddressSpace::device) continue;
          const auto guess = guessed.find(argument.name);
          const std::optional<std::string> buffer = guess != guessed.end() ? std::optional(guess->second) : buffer_of(argument.name);
          if (buffer) found.emplace(*buffer, argument.name);
        }
        if (!found.contains("q") || !found.contains("k") || !found.contains("v") || found.size() <= most) continue;
        most = found.size();
        best = &function;
        found_ = std::move(found);
        guessed_ = std::move(guessed);
      }
      if (best != nullptr) return best;
    }
    return nullptr;
  }

  // The tensor of a buffer, by its name or as guessed.
  [[nodiscard]] std::optional<std::string> tensor_of(const std::string& argument) const {
    const auto guess = guessed_.find(argument);
    return guess != guessed_.end() ? std::optional(guess->second) : buffer_of(argument);
  }

  // The function that reads what `main` leaves in buffers which are no tensors: the second pass of one computation.
  void find_second(const ArgumentLayout& main, const NameParts& parts) {
    for (const ArgumentLayout& function : subject_.functions) {
      const NameParts other = parts_of(function.function);
      if (other.stem == parts.stem || (second_ != nullptr && other.type != parts.type)) continue;
      std::vector<std::string> shared;
      for (const BoundArgument& argument : main.arguments) {
        const BoundArgument* read = function.find(argument.name);
        const bool is_written = argument.space == metal::AddressSpace::device && !argument.is_const;
        if (is_written && read != nullptr && read->space == metal::AddressSpace::device && read->is_const) shared.push_back(argument.name);
      }
      if (shared.empty()) continue;
      second_ = &function;
      scratch_ = std::move(shared);
      if (other.type == parts.type) return;
    }
  }

  // What arguments, fields and constants say about the features of a launch.
  void collect(const ArgumentLayout& function) {
    const auto add = [&](const std::string& name) { meanings_.insert(number_of(name).value_or(lower(name))); };
    for (const BoundArgument& argument : function.arguments) {
      if (argument.layout) {
        for (const metal::StructField& field : argument.layout->fields) add(field.name);
      } else if (argument.is_reference) {
        add(argument.name);
      } else if (const auto buffer = tensor_of(argument.name); buffer && !is_scratch(argument.name)) {
        buffers_.insert(*buffer);
        const bool is_of_bytes = metal::size_of(argument.element) == 1;
        if (*buffer == "mask") masks_.insert(is_of_bytes ? "boolean" : "additive");
      }
    }
    for (const SketchedConstant& constant : subject_.constants) {
      const std::string name = lower(constant.name);
      meanings_.insert(name);
      // Its value decides which of two arguments there is, and the file was read with one of the values.
      const bool is_kind =
          name.find("mask") != std::string::npos && (name.find("float") != std::string::npos || name.find("bool") != std::string::npos);
      if (is_kind) masks_.insert({"boolean", "additive"});
    }
  }

  [[nodiscard]] bool is_scratch(const std::string& name) const { return std::ranges::find(scratch_, name) != scratch_.end(); }
  [[nodiscard]] bool any_says(std::string_view part) const {
    return std::ranges::any_of(meanings_, [&](const std::string& meaning) { return meaning.find(part) != std::string::npos; });
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
      const std::string_view stored = q == nullptr ? "" : type_word(q->element);
      types.push_back(fmt::format("\"{}\"", stored.empty() ? "half" : stored));
      if (stored.empty())
        ask("in which type are q and the output stored?");
      else
        sketch_.inferred.push_back(fmt::format("type {} from argument '{}'", stored, q->name));
    }
    line(fmt::format("type = [{}]", fmt::join(types, ", ")));
    if (found_.contains("block_table")) {
      line("cache = [\"paged\"]");
      sketch_.inferred.push_back("a paged cache, because there is a block table");
    } else {
      line("cache = [\"contiguous\", \"capacity\"]");
    }
    ask("how many queries does one launch take? A decode kernel of one query: lq = [1]");
    line("# lq = [1]");
  }

  // Features that the file seems to have. Lines of [limits] that no name proves stand as comments: without them no case has the feature.
  void write_features() {
    std::vector<std::string> seen;
    const auto offer = [&](std::string_view feature, const std::string& limit) {
      seen.emplace_back(feature);
      offered_.push_back("# " + limit);
    };
    std::vector<std::string> masks = {"\"none\""};
    const bool has_window = any_says("window");
    if (any_says("causal") || any_says("offset")) masks.emplace_back("\"causal\"");
    if (has_window) masks.insert(masks.end(), {"\"window\"", "\"causal_window\""});
    for (const std::string& mask : masks_) masks.push_back(fmt::format("\"{}\"", mask));
    if (buffers_.contains("slopes")) masks.emplace_back("\"alibi\"");
    if (masks.size() > 1) offer("a mask", fmt::format("mask = [{}]", fmt::join(masks, ", ")));
    if (has_window) offer("a window", "window = [0, 1, 7, 64]");
    if (any_says("offset")) offer("an offset of the queries", "offset = [\"end\", \"zero\", \"other\"]");
    if (meanings_.contains("softcap") || meanings_.contains("capped") || meanings_.contains("has_softcap"))
      offer("softcap", "softcap = [0, 30]");
    if (buffers_.contains("sinks")) offer("sinks", "sinks = [\"no\", \"yes\"]");
    if (buffers_.contains("kv_len")) offer("lengths of each batch", "ragged = [\"no\", \"yes\"]");
    if (any_says("stride(")) {
      offer("strides as arguments", "layout = [\"bhld\", \"blhd\"]");
      offered_.emplace_back("# gaps = [\"no\", \"kv\", \"inputs\", \"all\"]");
    }
    if (meanings_.contains("ring_start")) offer("a ring", "cache = [\"contiguous\", \"capacity\", \"ring\"]  # instead of that above");
    if (meanings_.contains("blocks") || second_ != nullptr) offer("several parts of the keys", "blocks = [1, 3, 32]");
    if (!seen.empty()) {
      ask(fmt::format("the file seems to have {}. As it stands, no case tests them: which of these lines are right?",
                      fmt::join(seen, ", ")));
      for (const std::string& text : offered_) line(text);
    }
    if (masks_.size() > 1) ask("there are boolean and additive masks. Has each an argument of its own? Both then get \"mask\"");
    line("");
  }

  void write_let() {
    if (std::ranges::all_of(type_words_, [](const auto& entry) { return entry.first == entry.second; })) return;
    line("[let]");
    std::string choice;
    for (const auto& [type, word] : type_words_) choice += fmt::format("type == '{}' ? '{}' : ", type, word);
    line(fmt::format("type_name = \"{}'{}'\"", choice, type_words_.begin()->second));
    line("");
    has_type_name_ = true;
  }

  void write_scratch() {
    if (scratch_.empty()) return;
    sketch_.inferred.push_back(
        fmt::format("{} of [[scratch]], because one function writes what {} reads", fmt::join(scratch_, ", "), second_->function));
    ask("how large are the buffers between the two functions? Floats for each part of each query are a guess");
    for (const std::string& name : scratch_) {
      const std::string plain = lower(name);
      const auto says = [&](std::string_view word) { return plain.find(word) != std::string::npos; };
      const bool is_single = says("sum") || says("max") || says("lse");
      line("[[scratch]]");
      line(fmt::format("name  = \"{}\"", name));
      line(fmt::format("bytes = \"b * h * lq * blocks * {}4\"", is_single ? "" : scratch_.size() > 1 ? "dv * " : "(dv + 2) * "));
    }
    line("");
  }

  void write_second(const NameParts& main_parts) {
    NameParts parts = parts_of(second_->function);
    // With one size of two, a function that no longer sees the keys has that of the values.
    const bool is_of_values = parts.sizes.size() == 1 && main_parts.sizes.size() == 2;
    if (const std::size_t at = parts.stem.find("{dk}"); is_of_values && at != std::string::npos) parts.stem.replace(at, 4, "{dv}");
    sketch_.inferred.push_back(fmt::format("{} is a second dispatch", second_->function));
    line("");
    write_dispatch(*second_, parts);
  }

  void ask_about_others(const NameParts& main_parts) {
    std::set<std::string> others;
    for (const ArgumentLayout& function : subject_.functions) {
      const std::string stem = parts_of(function.function).stem;
      const bool is_drafted = stem == main_parts.stem || (second_ != nullptr && stem == parts_of(second_->function).stem);
      if (!is_drafted) others.insert(stem);
    }
    if (others.empty()) return;
    ask(fmt::format("the file also has {}, which this draft does not launch. Are they other sizes of the same kernel, or another pass?",
                    fmt::join(others, ", ")));
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
    if (const std::size_t at = name.find("{type}"); has_type_name_ && at != std::string::npos) name.replace(at, 6, "{type_name}");
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
      const bool is_boolean = says("bool") || says("bmask");
      const bool is_additive = says("float") || says("fmask") || says("additive");
      const std::string_view value = says("causal")                ? "mask == 'causal' || mask == 'causal_window'"
                                     : says("window")              ? "mask == 'window' || mask == 'causal_window'"
                                     : is_boolean                  ? "mask == 'boolean'"
                                     : says("mask") && is_additive ? "mask == 'additive'"
                                     : says("mask")                ? "mask == 'boolean' || mask == 'additive'"
                                     : says("sink")                ? "sinks"
                                     : says("cap")                 ? "softcap > 0"
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
    if (is_scratch(argument.name)) return;  // binds by its name
    if (const auto buffer = tensor_of(argument.name)) {
      if (guessed_.contains(argument.name))
        ask(fmt::format("is argument '{}' {}? That is a guess from its name or place", argument.name, *buffer));
      else
        sketch_.inferred.push_back(fmt::format("{} is argument '{}'", *buffer, argument.name));
      if (*buffer != argument.name) line(fmt::format("{} = \"{}\"", argument.name, *buffer));
      return;
    }
    ask(fmt::format("what is argument '{}' ({} {}*)? A tensor, or a buffer of [[scratch]]", argument.name, metal::to_string(argument.space),
                    argument.type_name));
    line(fmt::format("# {} = \"\"", argument.name));
  }

  void write_number(const std::string& key, const std::string& name, const std::string& type_name) {
    const std::optional<std::string> value = number_of(name);
    if (!value) {
      if (asked_.insert(key).second) ask(fmt::format("what is '{}' ({})?", name, type_name));
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
  const ArgumentLayout* second_ = nullptr;  // reads what the main function leaves in scratch_
  std::vector<std::string> scratch_;
  std::set<std::string> meanings_, buffers_, masks_;
  std::vector<std::string> offered_;  // lines of [limits], as comments
  std::set<std::string> asked_;       // keys of arguments, which two dispatches may share
  bool has_type_name_ = false;
  std::map<std::string, std::string> found_;       // buffers of the launch: tensor -> argument
  std::map<std::string, std::string> guessed_;     // argument -> tensor, where the name does not say it
  std::map<std::string, std::string> type_words_;  // type -> its word in the functions' names
  std::string text_;
  Sketch sketch_;
};

}  // namespace

std::optional<Sketch> sketch(const SketchSubject& subject) { return Drafter(subject).draft(); }

}  // namespace assay::families::attention

// Parses variant.toml, and loads variants from folders and files.
// Long because it has a function for each table of a variant.toml.
#include "kernels/variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <system_error>

#include "base/nearest_word.h"
#include "base/run_time_file.h"
#include "base/text.h"
#include "kernels/compile_toml.h"
#include "kernels/custom_toml.h"
#include "kernels/launch_toml.h"
#include "kernels/toml_reader.h"

namespace assay::kernels {
namespace {

namespace fs = std::filesystem;

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

// Reads one variant.toml; every error starts with `file:line:`.
class VariantReader : private TomlReader {
 public:
  VariantReader(std::string name, const fs::path& file, Contracts contracts) : TomlReader(file), contracts_(contracts) {
    variant_.name = std::move(name);
  }

  Variant read(std::string_view text) {
    const toml::table root = parse_toml(text, file());
    const toml::node* family = root.get("family");
    const FamilyContract* contract = family == nullptr ? nullptr : find_contract(contracts_, family->value_or(std::string_view()));
    std::vector<std::string_view> keys = {"family",       "source",   "about",         "claims", "superseded_by", "offset_bits",
                                          "reads_hidden", "compile",  "entry",         "limits", "fields",        "constants",
                                          "bind",         "accuracy", "known_finding", "let",    "scratch",       "dispatch"};
    if (contract != nullptr && contract->is_custom) keys.insert(keys.end(), std::begin(kCustomKeys), std::end(kCustomKeys));
    if (contract != nullptr && !contract->settings.empty()) keys.push_back(contract->name);
    accept_keys(root, "at the top level", keys);
    read_top(root);
    if (const toml::table* table = subtable(root, "compile")) variant_.compile = read_compile_settings(*this, *table);
    if (const toml::table* table = subtable(root, "entry")) read_entry(*table);
    if (const toml::table* table = subtable(root, "limits")) read_limits(*table);
    add_unmentioned_limits();
    if (!variant_.contract->settings.empty()) {
      if (const toml::table* table = subtable(root, variant_.contract->name)) read_settings(*table);
    }
    if (const toml::table* table = subtable(root, "fields")) read_fields(*table);
    if (const toml::table* table = subtable(root, "constants")) read_constants(*table);
    if (const toml::table* table = subtable(root, "bind")) read_bind(*table);
    if (const toml::table* table = subtable(root, "accuracy")) read_accuracy(*table);
    if (const toml::node* node = root.get("known_finding")) read_known_findings(*node);
    if (root.contains("dispatch")) {
      variant_.launch = read_launch(*this, root);
      variant_.text = text;
      for (const DispatchDescription& dispatch : variant_.launch->dispatches) check_lender(dispatch);
    } else {
      for (const std::string_view key : {"let", "scratch"}) {
        if (const toml::node* node = root.get(key)) fail(*node, fmt::format("'{}' needs a [[dispatch]] that uses it", key));
      }
    }
    if (variant_.contract->is_described && !variant_.launch)
      fail(1, fmt::format("family {} needs at least one [[dispatch]] (docs/LAUNCH.md)", variant_.family));
    if (variant_.contract->is_custom) variant_.custom = read_custom(*this, root);
    return std::move(variant_);
  }

 private:
  // The family of a function that is not the variant's own must have such functions.
  void check_lender(const DispatchDescription& dispatch) const {
    if (dispatch.family.empty()) return;
    const FamilyContract* lender = find_contract(contracts_, dispatch.family);
    if (lender != nullptr && !lender->is_described && lender != variant_.contract) return;
    throw VariantError(
        fmt::format("{}: 'family' is '{}', but is for a function of another family with a contract of its own, such as a merge",
                    dispatch.where, dispatch.family));
  }

  // Features that the variant does not mention keep their first value, so that nothing is tested that the kernel does not claim.
  void add_unmentioned_limits() {
    for (const AxisWords& axis : variant_.contract->axis_words) {
      if (std::ranges::find(variant_.limits, axis.axis, &AxisLimit::axis) != variant_.limits.end()) continue;
      if (axis.is_required) fail(1, fmt::format("[limits] needs '{}', the values for which the kernel is made", axis.axis));
      if (axis.is_feature) variant_.limits.push_back({std::string(axis.axis), {axis.first}});
    }
  }

  // A value of [limits]: an integer, or a word of the family.
  [[nodiscard]] std::int64_t limit_of(std::string_view axis, const toml::node& node) const {
    if (const auto word = node.value_exact<std::string_view>()) {
      const auto is_meant = [&](const NamedValue& named) { return named.axis == axis && named.word == *word; };
      const auto named = std::ranges::find_if(variant_.contract->named_values, is_meant);
      if (named != variant_.contract->named_values.end()) return named->value;
    }
    const auto known = std::ranges::find(variant_.contract->axis_words, axis, &AxisWords::axis);
    if (known == variant_.contract->axis_words.end() || !node.is_string())
      return integer_of(node, fmt::format("an element of [limits] {}", axis));
    return index_of(node, fmt::format("[limits] {}", axis), known->words);
  }

  [[nodiscard]] std::int64_t index_of(const toml::node& node, const std::string& what, std::span<const std::string_view> words) const {
    const std::string word = string_of(node, what);
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) fail(node, fmt::format("{} is '{}'; accepted: {}", what, word, fmt::join(words, ", ")));
    return found - words.begin();
  }

  void read_settings(const toml::table& table) {
    std::vector<std::string_view> keys;
    for (const SettingContract& setting : variant_.contract->settings) keys.push_back(setting.name);
    accept_keys(table, fmt::format("in [{}]", variant_.family), keys);
    for (const SettingContract& setting : variant_.contract->settings) {
      const toml::node* node = table.get(setting.name);
      if (node == nullptr) continue;
      const std::string what = fmt::format("[{}] {}", variant_.family, setting.name);
      const std::int64_t value = setting.words.empty() ? integer_of(*node, what) : index_of(*node, what, setting.words);
      if (setting.words.empty() && (value < 0 || value > setting.largest))
        fail(*node, fmt::format("{} is {}; accepted: 0 .. {}", what, value, setting.largest));
      variant_.settings.emplace(setting.name, value);
    }
  }

  void read_top(const toml::table& root) {
    variant_.description = file();
    variant_.family = required_string(root, "family", "at the top level", 1);
    variant_.contract = find_contract(contracts_, variant_.family);
    if (variant_.contract == nullptr)
      fail(*root.get("family"),
           fmt::format("unknown family '{}'{}; accepted: {}", variant_.family, base::did_you_mean(variant_.family, names_of(contracts_)),
                       fmt::join(names_of(contracts_), ", ")));
    read_source(root);
    if (const toml::node* node = root.get("about")) variant_.about = string_of(*node, "'about'");
    if (const toml::node* node = root.get("claims")) read_claims(*node);
    if (const toml::node* node = root.get("superseded_by")) {
      variant_.superseded_by = Successor{string_of(*node, "'superseded_by'"), node->source().begin.line};
      if (!is_name(variant_.superseded_by->name))
        fail(*node, fmt::format("'superseded_by' is '{}', which is not a variant", variant_.superseded_by->name));
    }
    if (const toml::node* node = root.get("offset_bits")) {
      const std::int64_t bits = integer_of(*node, "'offset_bits'");
      if (bits != 32 && bits != 64) fail(*node, fmt::format("'offset_bits' is {}; accepted: 32, 64", bits));
      variant_.offset_bits = static_cast<std::uint32_t>(bits);
    }
    if (const toml::node* node = root.get("reads_hidden")) {
      if (const std::string rows = string_of(*node, "'reads_hidden'"); rows != "finite")
        fail(*node, fmt::format("'reads_hidden' is '{}'; accepted: finite", rows));
      if (!variant_.contract->skips_hidden) fail(*node, fmt::format("family {} hides no key that a kernel must not read", variant_.family));
      variant_.reads_hidden = true;
    }
  }

  void read_source(const toml::table& root) {
    const toml::node* node = root.get("source");
    std::vector<std::string> names;
    if (node != nullptr && node->is_array()) {
      names = strings_of(*node, "'source'");
      if (names.empty()) fail(*node, "'source' is empty");
    } else {
      names.push_back(required_string(root, "source", "at the top level", 1));
    }
    variant_.source = file().parent_path() / names.front();
    for (std::size_t i = 1; i < names.size(); ++i) variant_.further_sources.push_back(file().parent_path() / names[i]);
  }

  void read_claims(const toml::node& node) {
    static_cast<void>(strings_of(node, "'claims'"));
    for (const toml::node& element : *node.as_array()) variant_.claims.push_back(claim_of(element));
  }

  Claim claim_of(const toml::node& element) const {
    constexpr std::string_view kind = "same_bits_as:";
    Claim claim{*element.value_exact<std::string>(), {}, {}, {}, element.source().begin.line};
    const auto refuse = [&](std::string_view what) {
      fail(element, fmt::format("'claims' contains '{}': {}; accepted: {}VARIANT, or the name of something that the family's contract "
                                "leaves out; either with @AXIS=VALUE,AXIS=VALUE behind it, with integers",
                                claim.text, what, kind));
    };
    std::string_view rest = claim.text;
    const bool is_about_variant = rest.starts_with(kind);
    if (is_about_variant) rest.remove_prefix(kind.size());
    const std::size_t at = std::min(rest.find('@'), rest.size());
    (is_about_variant ? claim.same_bits_as : claim.omission) = rest.substr(0, at);
    if (is_about_variant && !is_name(claim.same_bits_as)) refuse("it does not name a variant");
    if (!is_about_variant && !is_name(claim.omission)) refuse("unknown claim");
    if (claim.same_bits_as == variant_.name) refuse("a variant always has the same bits as itself");
    if (at == rest.size()) return claim;
    for (const std::string_view condition : base::split(rest.substr(at + 1), ',')) {
      const std::size_t equals = condition.find('=');
      if (equals == std::string_view::npos || equals == 0) refuse(fmt::format("'{}' is not AXIS=VALUE", condition));
      const std::string_view number = condition.substr(equals + 1);
      const auto value = base::number_of<std::int64_t>(number);
      if (!value) refuse(fmt::format("'{}' is not an integer", number));
      claim.where.emplace_back(condition.substr(0, equals), *value);
    }
    return claim;
  }

  void read_entry(const toml::table& table) {
    std::vector<std::string_view> keys;
    for (const EntryContract& entry : variant_.contract->entries) keys.push_back(entry.key);
    accept_keys(table, fmt::format("in [entry] of family {}", variant_.contract->name), keys);
    for (const auto& [key, value] : table) {
      const std::string what = fmt::format("[entry] {}", key.str());
      const toml::table* pipeline = value.as_table();
      if (pipeline == nullptr) {
        variant_.entry.emplace(key.str(), string_of(value, what));
        continue;
      }
      accept_keys(*pipeline, fmt::format("in {}", what), {"function", "define"});
      if (const toml::node* node = pipeline->get("function")) variant_.entry.emplace(key.str(), string_of(*node, what + ".function"));
      if (const toml::node* node = pipeline->get("define"))
        variant_.entry_definitions.emplace(key.str(), read_definitions(*this, *node, what + ".define"));
    }
  }

  void read_limits(const toml::table& table) {
    for (const auto& [key, value] : table) {
      if (names_pairs(key.str(), value)) continue;
      const toml::array* array = value.as_array();
      if (array == nullptr || array->empty()) {
        fail(value, fmt::format("[limits] {} must be a non-empty array of integers, the values that are supported", key.str()));
      }
      AxisLimit limit{std::string(key.str()), {}, key.source().begin.line};
      for (const toml::node& element : *array) {
        limit.values.push_back(limit_of(key.str(), element));
      }
      variant_.limits.push_back(std::move(limit));
    }
    for (const auto& [key, value] : table) {
      if (names_pairs(key.str(), value)) read_pairs(key.str(), value);
    }
  }

  // Whether a limit has words about a partner: dv = "dk", dv = ["dk", "192x128"].
  [[nodiscard]] bool names_pairs(std::string_view axis, const toml::node& value) const {
    const auto known = std::ranges::find(variant_.contract->axis_words, axis, &AxisWords::axis);
    if (known == variant_.contract->axis_words.end() || known->partner.empty()) return false;
    const toml::array* array = value.as_array();
    return value.is_string() || (array != nullptr && std::ranges::any_of(*array, [](const toml::node& one) { return one.is_string(); }));
  }

  // A number is admitted with every value of the partner, whose limit has all of them.
  void read_pairs(std::string_view axis, const toml::node& value) {
    const std::string_view partner = std::ranges::find(variant_.contract->axis_words, axis, &AxisWords::axis)->partner;
    const auto others = std::ranges::find(variant_.limits, partner, &AxisLimit::axis);
    if (others == variant_.limits.end()) fail(value, fmt::format("[limits] {} names pairs with {}, which has no limit", axis, partner));
    AxisLimit limit{std::string(axis), {}, value.source().begin.line, false, std::string(partner), {}};
    const auto read = [&](const toml::node& element) {
      const auto add = [&](std::int64_t other, std::int64_t own) {
        if (std::ranges::find(limit.values, own) == limit.values.end()) limit.values.push_back(own);
        if (!limit.admits(own, other) || limit.pairs.empty()) limit.pairs.emplace_back(other, own);
      };
      if (element.is_string() && string_of(element, "") != partner) return add_pair(element, axis, *others, add);
      for (const std::int64_t other : others->values)
        add(other, element.is_string() ? other : integer_of(element, fmt::format("an element of [limits] {}", axis)));
    };
    if (value.is_string()) read(value);
    if (const toml::array* array = value.as_array()) {
      for (const toml::node& element : *array) read(element);
    }
    variant_.limits.push_back(std::move(limit));
  }

  // "192x128": the partner's value, and the own one.
  void add_pair(const toml::node& element, std::string_view axis, const AxisLimit& others, const auto& add) const {
    const std::string text = string_of(element, fmt::format("an element of [limits] {}", axis));
    const std::size_t at = text.find('x');
    const auto other = base::number_of<std::int64_t>(std::string_view(text).substr(0, at));
    const auto own = at == std::string::npos ? std::nullopt : base::number_of<std::int64_t>(std::string_view(text).substr(at + 1));
    if (!other || !own)
      fail(element, fmt::format("[limits] {} is '{}'; accepted: integers, '{}' for the same value, and pairs such as '192x128'", axis, text,
                                others.axis));
    if (std::ranges::find(others.values, *other) == others.values.end())
      fail(element, fmt::format("[limits] {} is '{}', but {} is never {}", axis, text, others.axis, *other));
    add(*other, *own);
  }

  void read_fields(const toml::table& table) {
    for (const auto& [key, value] : table) {
      if (variant_.contract->find_field(key.str()) == nullptr) continue;
      fail(key.source().begin.line, fmt::format("[fields] {} is already set by family {}; [fields] is for fields that the "
                                                "family does not set",
                                                key.str(), variant_.contract->name));
    }
    for (const auto& [key, value] : table) variant_.fields.emplace(key.str(), value_of(value, fmt::format("[fields] {}", key.str())));
    for (const auto& [key, value] : table) variant_.field_lines.emplace(key.str(), key.source().begin.line);
  }

  // A number or a boolean; `more` describes other accepted types in messages.
  [[nodiscard]] metal::FieldValue value_of(const toml::node& node, const std::string& what, std::string_view more = "") const {
    if (const auto integer = node.value_exact<std::int64_t>()) return metal::FieldValue::of(*integer);
    if (const auto floating = node.value_exact<double>()) return metal::FieldValue::of(*floating);
    if (const auto boolean = node.value_exact<bool>()) return metal::FieldValue::of(*boolean);
    fail(node, fmt::format("{} must be an integer, a floating-point number or a boolean{}, but is {}", what, more, type_name(node)));
  }

  // A number, or a list of vector components.
  void read_constants(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string what = fmt::format("[constants] {}", key.str());
      std::vector<metal::FieldValue> values;
      if (const toml::array* list = node.as_array()) {
        for (const toml::node& component : *list) values.push_back(value_of(component, fmt::format("a component of {}", what)));
        if (values.size() < 2 || values.size() > 4)
          fail(node, fmt::format("{} has {} components; a vector has 2 to 4", what, values.size()));
      } else {
        values.push_back(value_of(node, what, " (for a vector, a list of them)"));
      }
      variant_.constants.emplace(key.str(), std::move(values));
    }
  }

  void read_bind(const toml::table& table) {
    std::vector<std::string_view> keys;
    for (const ArgumentContract& argument : variant_.contract->arguments) keys.push_back(argument.name);
    accept_keys(table, fmt::format("in [bind] of family {}", variant_.contract->name), keys);
    for (const auto& [key, value] : table) variant_.bind.emplace(key.str(), string_of(value, fmt::format("[bind] {}", key.str())));
  }

  // "bfloat" is another name of "bf16".
  [[nodiscard]] std::string checked_format(const toml::node& node, std::string format, std::string_view where) {
    if (format == "bfloat") return "bf16";
    if (format != "float" && format != "half" && format != "bf16")
      fail(node, fmt::format("{} '{}'; accepted: float, half, bf16", where, format));
    return format;
  }

  void read_accuracy(const toml::table& table) {
    std::vector<std::string_view> accepted = {"dot_depth", "accumulator", "accumulator_keys", "stores", "merge_store", "reason"};
    const std::span<const std::string_view> formats = variant_.contract->accuracy_formats;
    accepted.insert(accepted.end(), formats.begin(), formats.end());
    accept_keys(table, "in [accuracy]", accepted);
    Accuracy& accuracy = variant_.accuracy;
    if (const toml::node* node = table.get("dot_depth")) {
      const std::int64_t depth = integer_of(*node, "[accuracy] dot_depth");
      if (depth < 1 || depth > 1'000'000) fail(*node, fmt::format("[accuracy] dot_depth is {}; accepted: 1 .. 1000000", depth));
      accuracy.dot_depth = static_cast<std::uint32_t>(depth);
    }
    if (const toml::node* node = table.get("accumulator")) {
      accuracy.accumulator = string_of(*node, "[accuracy] accumulator");
      if (accuracy.accumulator != "float" && accuracy.accumulator != "half") {
        fail(*node, fmt::format("[accuracy] accumulator is '{}'; accepted: float, half", accuracy.accumulator));
      }
    }
    if (const toml::node* node = table.get("accumulator_keys")) {
      const std::int64_t keys = integer_of(*node, "[accuracy] accumulator_keys");
      if (keys < 1 || keys > 32) fail(*node, fmt::format("[accuracy] accumulator_keys is {}; accepted: 1 .. 32", keys));
      accuracy.accumulator_keys = static_cast<std::uint32_t>(keys);
    }
    if (const toml::node* node = table.get("stores")) {
      accuracy.stores = strings_of(*node, "[accuracy] stores");
      for (std::string& format : accuracy.stores) format = checked_format(*node, format, "[accuracy] stores contains");
    }
    if (const toml::node* node = table.get("merge_store")) {
      accuracy.merge_store = checked_format(*node, string_of(*node, "[accuracy] merge_store"), "[accuracy] merge_store is");
    }
    for (const std::string_view key : formats) {
      const toml::node* node = table.get(key);
      if (node == nullptr) continue;
      const std::string what = fmt::format("[accuracy] {}", key);
      std::string format = checked_format(*node, string_of(*node, what), what + " is");
      if (format != "float") accuracy.formats.emplace(key, std::move(format));
    }
    accuracy.reason = required_string(table, "reason", "in [accuracy]: a declared accuracy needs a reason", table.source().begin.line);
  }

  void read_known_findings(const toml::node& node) {
    const toml::array* findings = node.as_array();
    if (findings == nullptr) fail(node, "known_finding must be an array of tables, [[known_finding]]");
    for (const toml::node& element : *findings) {
      const toml::table* table = element.as_table();
      if (table == nullptr) fail(element, "known_finding must be an array of tables, [[known_finding]]");
      accept_keys(*table, "in [[known_finding]]", {"when", "shows", "see"});
      KnownFinding finding;
      finding.line = table->source().begin.line;
      finding.when = required_string(*table, "when", "in [[known_finding]]", finding.line);
      finding.shows = required_string(*table, "shows", "in [[known_finding]]", finding.line);
      if (const toml::node* see = table->get("see")) finding.see = string_of(*see, "[[known_finding]] see");
      variant_.known_findings.push_back(std::move(finding));
    }
  }

  Variant variant_;
  Contracts contracts_;
};

// The name of a variant must be usable as the first word of case names and in globs.
std::string checked_name(const std::string& name, const fs::path& path) {
  if (!is_name(name)) {
    throw VariantError(fmt::format("{}: '{}' cannot name a variant; use letters, digits, '_', '-' and '.'",
                                   base::on_one_line(path.string()), base::on_one_line(name)));
  }
  return name;
}

// A description may come from anybody, so what it names lies in its folder, also behind symbolic links.
void require_inside(const fs::path& folder, const fs::path& path, const fs::path& file, std::string_view what, std::string_view remedy) {
  if (base::is_inside(folder, path)) return;
  throw VariantError(fmt::format("{}: {} '{}' leads to '{}', outside of the folder of this file; {}", file.string(), what, path.string(),
                                 fs::canonical(path).string(), remedy));
}

// `folder` is the absolute folder of the variant. A successor must not be superseded itself: a cycle would leave no variant with a full
// gate.
void check_successor(const Variant& variant, const fs::path& folder, Contracts contracts) {
  const auto& [name, line] = *variant.superseded_by;
  const auto refuse = [&](const std::string& what) {
    throw VariantError(fmt::format("{}:{}: 'superseded_by' is '{}', {}", variant.description.string(), line, name, what));
  };
  if (name == variant.name) refuse("the variant itself");
  const fs::path file = folder.parent_path() / name / "variant.toml";
  if (!fs::is_regular_file(file)) refuse(fmt::format("but there is no '{}'", file.string()));
  const Variant successor = parse_variant(read_text(file), name, file, contracts);
  if (successor.family != variant.family) refuse(fmt::format("which is of family {}, not of {}", successor.family, variant.family));
  if (successor.superseded_by) refuse(fmt::format("which is itself superseded by '{}'", successor.superseded_by->name));
}

}  // namespace

void replace_source(Variant& variant, const fs::path& source) {
  const fs::path folder = fs::absolute(variant.source).parent_path();
  std::vector<fs::path>& searched = variant.compile.include_directories;
  if (folder != fs::absolute(source).parent_path()) searched.insert(searched.begin(), folder);
  variant.source = source;
}

std::string read_text(const fs::path& file) {
  constexpr std::uintmax_t kLargestText = std::uintmax_t{1} << 26;
  if (fs::exists(file)) {
    if (!fs::is_regular_file(file)) throw VariantError(fmt::format("{}: is not a regular file", base::on_one_line(file.string())));
    if (!base::is_inside(file.parent_path(), file))
      throw VariantError(fmt::format("{}: is a link that leads out of its folder: name the file itself", base::on_one_line(file.string())));
    if (fs::file_size(file) > kLargestText) throw VariantError(fmt::format("{}: has more than {} bytes", file.string(), kLargestText));
  }
  std::optional<std::string> text = base::read_file(file);
  if (!text) throw VariantError(fmt::format("{}: cannot be read ({})", file.string(), std::generic_category().message(errno)));
  return *std::move(text);
}

std::string_view Accuracy::format(std::string_view key) const {
  const auto own = formats.find(key);
  return own == formats.end() ? std::string_view("float") : own->second;
}

std::int64_t Variant::setting(std::string_view key) const {
  if (const auto own = settings.find(key); own != settings.end()) return own->second;
  const auto known = std::ranges::find(contract->settings, key, &SettingContract::name);
  if (known == contract->settings.end()) throw std::invalid_argument(fmt::format("family {} has no setting '{}'", family, key));
  return known->initial;
}

std::string Variant::function(std::string_view entry_key) const {
  if (const auto own = entry.find(entry_key); own != entry.end()) return own->second;
  const EntryContract* known = contract->find_entry(entry_key);
  if (known == nullptr && launch) return std::string(entry_key);
  if (known == nullptr) throw std::invalid_argument(fmt::format("family {} has no entry '{}'", family, entry_key));
  return std::string(known->function);
}

std::vector<fs::path> Variant::translation_unit() const {
  std::vector<fs::path> files = {source};
  files.insert(files.end(), further_sources.begin(), further_sources.end());
  return files;
}

std::vector<std::string> Variant::definitions_of(std::string_view entry_key) const {
  const auto own = entry_definitions.find(entry_key);
  return own == entry_definitions.end() ? std::vector<std::string>() : own->second;
}

Variant parse_variant(std::string_view text, std::string name, const fs::path& file, Contracts contracts) {
  return VariantReader(std::move(name), file, contracts).read(text);
}

Variant read_description(const fs::path& file, Contracts contracts) {
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  return parse_variant(read_text(file), checked_name(folder.filename().string(), file), file, contracts);
}

Variant read_variant(const fs::path& file, Contracts contracts) {
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  Variant variant = read_description(file, contracts);
  for (const fs::path& source : variant.translation_unit()) {
    if (!fs::is_regular_file(source)) throw VariantError(fmt::format("{}: source '{}' is not a file", file.string(), source.string()));
    require_inside(folder, source, file, "source", "move it there");
  }
  for (const fs::path& directory : variant.compile.include_directories) {
    if (!fs::is_directory(directory))
      throw VariantError(fmt::format("{}: [compile] include: '{}' is not a folder", file.string(), directory.string()));
    require_inside(folder, directory, file, "[compile] include:", "give other folders with --include");
  }
  if (variant.superseded_by) check_successor(variant, folder, contracts);
  return variant;
}

std::vector<Variant> find_variants(const fs::path& directory, Contracts contracts) {
  std::error_code error;
  std::vector<Variant> variants;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path description = it->path() / "variant.toml";
    if (fs::is_regular_file(description)) variants.push_back(read_variant(description, contracts));
  }
  if (error) throw VariantError(fmt::format("variants directory '{}' cannot be read: {}", directory.string(), error.message()));
  std::ranges::sort(variants, {}, &Variant::name);
  return variants;
}

fs::path default_variants_directory() {
  if (const char* directory = std::getenv("ASSAY_VARIANTS"); directory != nullptr && *directory != '\0') return directory;
  return base::run_time_file("share/assay/variants");
}

Variant variant_from_path(const fs::path& path, std::string_view family, Contracts contracts) {
  fs::path file = path;
  if (fs::is_directory(path)) file = path / "variant.toml";
  if (!fs::is_regular_file(file)) {
    throw VariantError(
        fs::is_directory(path)
            ? fmt::format("'{}' contains no variant.toml; pass the .metal file itself, with --family", path.string())
            : fmt::format("no such kernel: '{}' is neither a .metal file nor a directory with a variant.toml", path.string()));
  }
  if (file.extension() == ".toml") {
    Variant variant = read_variant(file, contracts);
    if (!family.empty() && family != variant.family) {
      throw VariantError(fmt::format("{}: describes family {}, but --family {} was given", file.string(), variant.family, family));
    }
    return variant;
  }
  if (family.empty()) {
    if (const fs::path beside = file.parent_path() / "variant.toml"; fs::is_regular_file(beside)) {
      Variant variant = read_variant(beside, contracts);
      const std::vector<fs::path> sources = variant.translation_unit();
      if (std::ranges::any_of(sources, [&](const fs::path& source) { return fs::equivalent(source, file); })) return variant;
    }
    throw FamilyUnknown(fmt::format("'{}' has no variant.toml; pass the family that it implements with --family", path.string()));
  }
  Variant variant;
  variant.name = file.stem().string();
  // Characters that case names cannot contain become '_'.
  std::ranges::replace_if(variant.name, [](char c) { return !is_name({&c, 1}); }, '_');
  variant.contract = &require_contract(contracts, family);
  variant.family = family;
  variant.source = file;
  variant.about = "a lone file";
  return variant;
}

}  // namespace assay::kernels

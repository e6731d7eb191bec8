// Parses equivalent.toml.
#include "kernels/equivalent_mutants.h"

#include <fmt/format.h>

#include <set>

#include "kernels/toml_reader.h"
#include "kernels/variant.h"

namespace assay::kernels {
namespace {

namespace fs = std::filesystem;

class EquivalentsReader : private TomlReader {
 public:
  explicit EquivalentsReader(const fs::path& file) : TomlReader(file) {}

  std::vector<EquivalentMutant> read(std::string_view text) {
    const toml::table root = parse_toml(text, file());
    for (const auto& [key, value] : root) {
      if (key.str() != "equivalent" || !value.is_array_of_tables()) {
        fail(key.source().begin.line, fmt::format("unknown key '{}'; accepted: [[equivalent]] tables", key.str()));
      }
      for (const toml::node& node : *value.as_array()) read_table(*node.as_table());
    }
    return std::move(mutants_);
  }

 private:
  void read_table(const toml::table& table) {
    const std::uint32_t place = table.source().begin.line;
    accept_keys(table, "in [[equivalent]]", {"line", "ids", "reason"});
    EquivalentMutant mutant;
    mutant.line = text_of(table.get("line"), "line", place);
    mutant.reason = text_of(table.get("reason"), "reason", place);
    const toml::node* ids = table.get("ids");
    if (ids == nullptr || !ids->is_array() || ids->as_array()->empty())
      fail(place, "[[equivalent]] needs ids = [\"operator:line:column:number\", ...]");
    for (const toml::node& id : *ids->as_array()) {
      mutant.id = text_of(&id, "an element of ids", place);
      mutant.place = id.source().begin.line;
      if (!known_.insert(mutant.id).second) fail(mutant.place, fmt::format("'{}' is given twice", mutant.id));
      mutants_.push_back(mutant);
    }
  }

  std::string text_of(const toml::node* node, std::string_view what, std::uint32_t place) const {
    const auto value = node == nullptr ? std::nullopt : node->value_exact<std::string>();
    if (!value || value->empty())
      fail(node == nullptr ? place : node->source().begin.line, fmt::format("[[equivalent]] needs {} as a string that is not empty", what));
    return *value;
  }

  std::vector<EquivalentMutant> mutants_;
  std::set<std::string> known_;
};

}  // namespace

std::vector<EquivalentMutant> parse_equivalent_mutants(std::string_view text, const fs::path& file) {
  return EquivalentsReader(file).read(text);
}

std::vector<EquivalentMutant> read_equivalent_mutants(const fs::path& source) {
  const fs::path file = source.parent_path() / "equivalent.toml";
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  return parse_equivalent_mutants(read_text(file), file);
}

}  // namespace assay::kernels

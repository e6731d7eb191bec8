// Reads [let], [[scratch]] and [[dispatch]] of a variant.toml.
#include "kernels/launch_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"

namespace assay::kernels {
namespace {

class LaunchReader {
 public:
  explicit LaunchReader(const TomlReader& reader) : reader_(reader) {}

  LaunchDescription read(const toml::table& root) {
    if (const toml::table* table = reader_.subtable(root, "let")) read_lets(*table);
    for (const toml::table* table : tables_of(root, "scratch")) read_scratch(*table);
    for (const toml::table* table : tables_of(root, "dispatch")) launch_.dispatches.push_back(dispatch_of(*table));
    return std::move(launch_);
  }

 private:
  [[nodiscard]] std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", base::on_one_line(reader_.file().string()), node.source().begin.line);
  }

  // The tables of [[key]]; none if there is no such key.
  [[nodiscard]] std::vector<const toml::table*> tables_of(const toml::table& root, std::string_view key) const {
    std::vector<const toml::table*> tables;
    const toml::node* node = root.get(key);
    if (node == nullptr) return tables;
    const toml::array* array = node->as_array();
    const auto is_table = [](const toml::node& element) { return element.is_table(); };
    if (array == nullptr || array->empty() || !std::ranges::all_of(*array, is_table))
      reader_.fail(*node, fmt::format("{0} must be an array of tables, [[{0}]]", key));
    for (const toml::node& element : *array) tables.push_back(element.as_table());
    return tables;
  }

  void require_name(const toml::node& node, std::string_view name, std::string_view what) {
    if (!is_identifier(name)) reader_.fail(node, fmt::format("{} '{}' is no name; use letters, digits and '_'", what, name));
    if (name == kNoBuffer) reader_.fail(node, fmt::format("'{}' is the buffer for arguments that a kernel does not use", name));
    if (!names_.insert(std::string(name)).second) reader_.fail(node, fmt::format("the name '{}' is used twice", name));
  }

  // A let may use those above it.
  void read_lets(const toml::table& table) {
    for (const auto& [name, node] : in_file_order(table)) {
      require_name(*node, name, "[let]");
      launch_.lets.push_back({name, read_expression(reader_, *node, fmt::format("[let] {}", name))});
    }
  }

  void read_scratch(const toml::table& table) {
    reader_.accept_keys(table, "in [[scratch]]", {"name", "bytes"});
    const std::string name = reader_.required_string(table, "name", "in [[scratch]]", table.source().begin.line);
    require_name(table, name, "[[scratch]]");
    launch_.scratch.push_back({name, read_expression(reader_, required(table, "bytes", "[[scratch]]"), "[[scratch]] bytes")});
  }

  [[nodiscard]] const toml::node& required(const toml::table& table, std::string_view key, std::string_view where) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) reader_.fail(table, fmt::format("'{}' is missing in {}", key, where));
    return *node;
  }

  // One expression, or a list of at most `most`.
  [[nodiscard]] std::vector<Expression> expressions(const toml::node& node, const std::string& what, std::size_t most) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) return {read_expression(reader_, node, what)};
    if (array->empty() || array->size() > most)
      reader_.fail(node, fmt::format("{} has {} elements; accepted: 1 to {}", what, array->size(), most));
    std::vector<Expression> list;
    for (const toml::node& element : *array) list.push_back(read_expression(reader_, element, fmt::format("an element of {}", what)));
    return list;
  }

  [[nodiscard]] DispatchDescription dispatch_of(const toml::table& table) const {
    reader_.accept_keys(
        table, "in [[dispatch]]",
        {"function", "family", "concurrent", "when", "grid", "threads_in_grid", "threads", "memory", "constants", "arguments"});
    const toml::node* groups = table.get("grid");
    const toml::node* threads = table.get("threads_in_grid");
    if ((groups == nullptr) == (threads == nullptr))
      reader_.fail(table, "[[dispatch]] needs either 'grid', the number of threadgroups, or 'threads_in_grid', the number of threads");
    const toml::node& function = required(table, "function", "[[dispatch]]");
    try {
      DispatchDescription dispatch{.function = TextTemplate(reader_.string_of(function, "[[dispatch]] function"), where(function)),
                                   .family = {},
                                   .when = {},
                                   .grid = expressions(groups != nullptr ? *groups : *threads, "[[dispatch]] grid", 3),
                                   .grid_counts_threads = threads != nullptr,
                                   .threads = expressions(required(table, "threads", "[[dispatch]]"), "[[dispatch]] threads", 3),
                                   .memory = {},
                                   .constants = {},
                                   .arguments = {},
                                   .where = where(table)};
      if (const toml::node* node = table.get("family")) dispatch.family = reader_.string_of(*node, "[[dispatch]] family");
      if (const toml::node* node = table.get("concurrent")) dispatch.concurrent = truth_of(*node, "[[dispatch]] concurrent");
      if (const toml::node* node = table.get("when")) dispatch.when = read_expression(reader_, *node, "[[dispatch]] when");
      if (const toml::table* memory = reader_.subtable(table, "memory")) read_memory(*memory, dispatch);
      if (const toml::table* constants = reader_.subtable(table, "constants")) {
        for (const auto& [key, node] : *constants)
          dispatch.constants.emplace(key.str(), read_expression(reader_, node, fmt::format("function constant {}", key.str())));
      }
      if (const toml::table* arguments = reader_.subtable(table, "arguments")) {
        for (const auto& [key, node] : *arguments) dispatch.arguments.emplace(key.str(), argument_of(key.str(), node));
      }
      return dispatch;
    } catch (const ExpressionError& error) {
      throw VariantError(error.what());
    }
  }

  [[nodiscard]] bool truth_of(const toml::node& node, std::string_view what) const {
    if (const auto truth = node.value_exact<bool>()) return *truth;
    reader_.fail(node, fmt::format("{} must be true or false, but is {}", what, TomlReader::type_name(node)));
  }

  void read_memory(const toml::table& table, DispatchDescription& dispatch) const {
    for (const auto& [key, node] : table) {
      const auto index = base::number_of<std::uint32_t>(key.str());
      if (!index || *index > 30)
        reader_.fail(node, fmt::format("'{}' in 'memory' is not an index of [[threadgroup(n)]]; accepted: 0 .. 30", key.str()));
      dispatch.memory.emplace(*index, read_expression(reader_, node, fmt::format("threadgroup memory {}", key.str())));
    }
  }

  [[nodiscard]] ArgumentDescription argument_of(std::string_view name, const toml::node& node) const {
    constexpr std::size_t kLongestArray = 64;
    ArgumentDescription argument{{}, {}, where(node)};
    const std::string what = fmt::format("argument {}", name);
    const toml::table* fields = node.as_table();
    if (fields == nullptr) {
      argument.elements = expressions(node, what, kLongestArray);
      return argument;
    }
    if (fields->empty())
      reader_.fail(node, fmt::format("{} has no fields; leave it out if all fields have the names of their values", what));
    read_fields(*fields, "", argument, what);
    return argument;
  }

  // A field that is a struct is written as a table or with dots: `strides.row`.
  // NOLINTNEXTLINE(misc-no-recursion): toml++ limits the depth
  void read_fields(const toml::table& table, const std::string& prefix, ArgumentDescription& argument, const std::string& what) const {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      if (const toml::table* inner = node.as_table()) {
        read_fields(*inner, name + ".", argument, what);
      } else {
        argument.fields.emplace(name, expressions(node, fmt::format("field {} of {}", name, what), 64));
      }
    }
  }

  const TomlReader& reader_;
  LaunchDescription launch_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::vector<std::pair<std::string, const toml::node*>> in_file_order(const toml::table& table) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string, const toml::node*>> ordered;
  for (const auto& [key, node] : table) {
    const toml::source_position at = key.source().begin;
    ordered.emplace_back(at.line, at.column, key.str(), &node);
  }
  std::ranges::sort(ordered);
  std::vector<std::pair<std::string, const toml::node*>> entries;
  for (const auto& [line, column, key, node] : ordered) entries.emplace_back(key, node);
  return entries;
}

Expression read_expression(const TomlReader& reader, const toml::node& node, const std::string& what) {
  const std::string where = fmt::format("{}:{}", base::on_one_line(reader.file().string()), node.source().begin.line);
  if (const auto integer = node.value_exact<std::int64_t>()) return Expression::of_value(*integer, where);
  if (const auto floating = node.value_exact<double>()) return Expression::of_value(*floating, where);
  if (const auto truth = node.value_exact<bool>()) return Expression::of_value(*truth, where);
  if (!node.is_string())
    reader.fail(node,
                fmt::format("{} must be a number, a boolean or a text with an expression, but is {}", what, TomlReader::type_name(node)));
  try {
    return Expression(reader.string_of(node, what), where);
  } catch (const ExpressionError& error) {
    throw VariantError(error.what());
  }
}

LaunchDescription read_launch(const TomlReader& reader, const toml::table& root) { return LaunchReader(reader).read(root); }

LaunchDescription parse_launch_of_family(std::string_view text, const std::filesystem::path& file) {
  const TomlReader reader(file);
  const toml::table root = parse_toml(text, file);
  reader.accept_keys(root, "at the top level", {"let", "scratch", "dispatch"});
  LaunchDescription launch = read_launch(reader, root);
  launch.is_of_family = true;
  return launch;
}

}  // namespace assay::kernels

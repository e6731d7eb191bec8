// Finds out what may stand next on a command line, from the tree of commands.
#include "cli/complete.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "kernels/variant.h"

namespace assay::cli {
namespace {

enum class Kind { axes, cases, families, fixtures, suites, variants };

struct Value {
  std::string_view command, name;  // an empty command: any
  Kind kind;
};
// Options and arguments whose values are names that a program knows. Of others, the help lists the values, or they are files and numbers.
constexpr Value kValues[] = {{"", "--family", Kind::families},   {"", "--suite", Kind::suites},
                             {"", "--limit", Kind::axes},        {"quality", "--fixture", Kind::fixtures},
                             {"", "CASE", Kind::cases},          {"", "--case", Kind::cases},
                             {"", "--cases", Kind::cases},       {"compare", "OLD", Kind::variants},
                             {"compare", "NEW", Kind::variants}, {"mutate", "KERNEL", Kind::variants}};

// The command line so far.
struct TypedLine {
  const CLI::App* command = nullptr;  // the innermost that is named
  const CLI::Option* open = nullptr;  // the option whose value is being typed
  std::size_t arguments = 0;          // words before that belong to no option
  std::string family, variants;       // the values of --family and --variants
  std::string typed;                  // the last word
};

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

const CLI::App* command_of(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

TypedLine read_words(const CLI::App& app, std::span<const std::string> words) {
  TypedLine line;
  line.command = &app;
  line.typed = words.back();
  for (const std::string& word : words.first(words.size() - 1)) {
    if (word == "=") continue;  // bash separates --policy=checked into three words
    if (line.open != nullptr) {
      if (line.open->check_lname("family")) line.family = word;
      if (line.open->check_lname("variants")) line.variants = word;
      line.open = nullptr;
    } else if (word.starts_with('-') && word.size() > 1) {
      const CLI::Option* option = line.command->get_option_no_throw(word);
      if (option != nullptr && takes_value(*option)) line.open = option;
    } else if (const CLI::App* next = command_of(*line.command, word); next != nullptr && line.arguments == 0) {
      line.command = next;
    } else {
      ++line.arguments;
    }
  }
  if (line.typed == "=" && line.open != nullptr) line.typed.clear();
  return line;
}

const CLI::Option* argument_at(const CLI::App& command, std::size_t place) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    last = option;
    if (place-- == 0) return option;
  }
  return last != nullptr && last->get_expected_max() > 1 ? last : nullptr;  // the last one may take all that follow
}

std::vector<kernels::Variant> variants_for(const TypedLine& line) {
  std::vector<kernels::Variant> variants = kernels::find_variants(
      line.variants.empty() ? kernels::default_variants_directory() : std::filesystem::path(line.variants), families::contracts());
  if (!line.family.empty()) std::erase_if(variants, [&](const kernels::Variant& variant) { return variant.family != line.family; });
  return variants;
}

// Suites, and names of the gate's cases as far as the next '/'.
std::vector<std::string> cases_for(const TypedLine& line) {
  std::vector<std::string> found;
  if (line.typed.find('/') == std::string::npos) {
    for (const std::string_view suite : harness::suite_names()) found.emplace_back(suite);
    for (const kernels::Variant& variant : variants_for(line)) found.push_back(variant.name + '/');
    return found;
  }
  for (const kernels::Variant& variant : variants_for(line)) {
    if (!line.typed.starts_with(variant.name + '/')) continue;
    for (const harness::Case& test_case : harness::suite_cases(harness::Suite::gate, variant, 0)) {
      const std::string name = harness::format_case(test_case);
      if (!name.starts_with(line.typed)) continue;
      const std::size_t slash = name.find('/', line.typed.size());
      found.push_back(name.substr(0, slash == std::string::npos ? slash : slash + 1));
    }
  }
  return found;
}

std::vector<std::string> values_of(const TypedLine& line, Kind kind) {
  std::vector<std::string> found;
  if (kind == Kind::cases) return cases_for(line);
  if (kind == Kind::suites) {
    for (const std::string_view suite : harness::suite_names()) found.emplace_back(suite);
    return found;
  }
  if (kind == Kind::variants) {
    for (const kernels::Variant& variant : variants_for(line)) found.push_back(variant.name);
    return found;
  }
  for (const families::Family& family : families::all_families()) {
    if (kind == Kind::families) found.emplace_back(family.name());
    if (!line.family.empty() && family.name() != line.family) continue;
    if (kind == Kind::axes) {
      for (const families::Axis& axis : family.axes) found.push_back(fmt::format("{}=", axis.name));
    }
    if (kind == Kind::fixtures) {
      for (const std::string_view fixture : harness::fixtures_of(family)) found.emplace_back(fixture);
    }
  }
  return found;
}

std::vector<std::string> values_of(const TypedLine& line, const CLI::Option& option) {
  for (const Value& value : kValues) {
    const bool is_meant = value.name.starts_with("--") ? option.check_lname(std::string(value.name.substr(2)))
                                                       : option.get_positional() && option.get_name(true) == value.name;
    if (is_meant && (value.command.empty() || line.command->get_name() == value.command)) return values_of(line, value.kind);
  }
  return listed_values(option.get_type_name());
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::vector<std::string> listed_values(const std::string& type_name) {
  const std::size_t open = type_name.find('{');
  const std::size_t close = type_name.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  const std::string_view inside = std::string_view(type_name).substr(open + 1, close - open - 1);
  std::vector<std::string> values;
  for (const std::string_view value : base::split(inside, ',')) values.emplace_back(value);
  return values;
}

std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) return {};
  const TypedLine line = read_words(app, words);
  std::vector<std::string> found;
  if (line.open != nullptr) {
    found = values_of(line, *line.open);
  } else if (line.typed.starts_with('-')) {
    found = names_of_options(*line.command);
  } else if (const auto commands = line.command->get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
             !commands.empty()) {
    for (const CLI::App* command : commands) found.push_back(command->get_name());
  } else if (const CLI::Option* argument = argument_at(*line.command, line.arguments)) {
    found = values_of(line, *argument);
  }
  std::set<std::string> sorted;
  for (std::string& word : found) {
    if (word.starts_with(line.typed)) sorted.insert(std::move(word));
  }
  return {sorted.begin(), sorted.end()};
}

}  // namespace assay::cli

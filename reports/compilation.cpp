// The kernels of a file as a table.
#include "reports/compilation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/compilation_words.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

using harness::InspectedFunction;

constexpr std::size_t kColumns = 100;

// Joins words with spaces, in lines that are indented by `indent`.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent) {
  std::string text;
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      text += fmt::format("{:{}}{}\n", "", indent, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? text : text + fmt::format("{:{}}{}\n", "", indent, line);
}

std::string bytes_words(std::size_t bytes) { return fmt::format("{} byte{}", grouped(bytes), bytes == 1 ? "" : "s"); }

// One argument shared by functions that differ only in types: "const device float|half*".
struct ArgumentRow {
  std::string place;  // "buffer 2"
  std::string name;
  std::vector<std::string> types;  // without duplicates
  std::set<std::size_t> sizes;     // bytes of the pointee
  const metal::StructLayout* layout = nullptr;
};

// As many types as fit, but at least one.
std::string type_words(const ArgumentRow& row, std::size_t room) {
  std::string text = row.types.front();
  for (std::size_t i = 1; i < row.types.size(); ++i) {
    const std::string rest = fmt::format(" | ... ({} types)", row.types.size());
    if (text.size() + 3 + row.types[i].size() + (i + 1 < row.types.size() ? rest.size() : 0) > room) return text + rest;
    text += " | " + row.types[i];
  }
  return text;
}

// Functions with the same bindings.
struct Group {
  std::vector<const InspectedFunction*> functions;
  std::vector<ArgumentRow> arguments;
};

std::vector<Group> groups_of(const std::vector<InspectedFunction>& functions, bool is_listing) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> known;
  for (const InspectedFunction& function : functions) {
    if (!is_listing && !function.is_compiled) continue;
    const auto [found, is_new] = known.emplace(shape_of(function, is_listing), groups.size());
    if (is_new) groups.emplace_back();
    Group& group = groups[found->second];
    group.functions.push_back(&function);
    const std::vector<ArgumentWords> arguments = arguments_of(function, is_listing);
    group.arguments.resize(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      ArgumentRow& row = group.arguments[i];
      row.place = arguments[i].place;
      row.name = arguments[i].name;
      if (std::ranges::find(row.types, arguments[i].type) == row.types.end()) row.types.push_back(arguments[i].type);
      row.sizes.insert(arguments[i].size);
      if (row.layout == nullptr) row.layout = arguments[i].layout;
    }
  }
  return groups;
}

std::string arguments_text(const Group& group) {
  std::size_t place = 0;
  std::size_t name = 0;
  for (const ArgumentRow& row : group.arguments) {
    place = std::max(place, row.place.size());
    name = std::max(name, row.name.size());
  }
  std::string text;
  for (const ArgumentRow& row : group.arguments) {
    text += fmt::format("    {:<{}}  {:<{}}  {}\n", row.place, place, row.name, name,
                        type_words(row, kColumns - std::min(kColumns, 8 + place + name)));
    if (row.layout == nullptr) continue;
    text += fmt::format("      struct {}, {}\n", row.layout->name, bytes_words(row.layout->size));
    std::size_t widest = 0;
    for (const metal::StructField& field : row.layout->fields) widest = std::max(widest, field.name.size());
    for (const metal::StructField& field : row.layout->fields)
      text += fmt::format("        {:>5}  {:<{}}  {}\n", field.offset, field.name, widest, field.type_name);
  }
  return text;
}

std::string memory_text(const Group& group, bool is_listing) {
  if (is_listing) return {};
  std::size_t least = group.functions.front()->layout.static_threadgroup_bytes;
  std::size_t most = least;
  for (const InspectedFunction* function : group.functions) {
    least = std::min(least, function->layout.static_threadgroup_bytes);
    most = std::max(most, function->layout.static_threadgroup_bytes);
  }
  const bool is_sized = std::ranges::any_of(group.functions, [](const InspectedFunction* function) {
    return std::ranges::any_of(function->layout.arguments,
                               [](const metal::BoundArgument& argument) { return argument.space == metal::AddressSpace::threadgroup; });
  });
  if (most == 0 && !is_sized) return {};
  const std::string own = least == most ? bytes_words(most) : fmt::format("{} to {}", grouped(least), bytes_words(most));
  return fmt::format("    threadgroup memory: {} declared in the kernel{}\n", own,
                     is_sized ? ", plus what the host sets for its arguments" : "");
}

// Which functions run lane by lane, and why; names only where others of the group do not.
std::string engine_text(const Group& group, bool is_listing) {
  if (is_listing) return {};
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const InspectedFunction* function : group.functions) {
    const std::string& reason = function->layout.vector_refusal;
    if (!reason.empty()) by_reason[reason].push_back(function->declaration.name);
  }
  std::string text;
  for (const auto& [reason, names] : by_reason) {
    const bool are_all = names.size() == group.functions.size();
    if (!are_all) text += wrapped(names, 4);
    text += fmt::format("    {}runs lane by lane, several times slower than as vectors: {}\n", are_all ? "" : "  ", reason);
  }
  return text;
}

std::string needs_text(const Group& group, const CompiledLibrary& library) {
  if (group.functions.front()->unset.empty()) return {};
  std::vector<std::string> words = {"needs constants:"};
  const auto& unset = group.functions.front()->unset;
  for (const std::uint32_t index : unset) words.push_back(constant_words(library, index) + (index == unset.back() ? "" : ","));
  return wrapped(words, 4);
}

std::string group_text(const Group& group, const CompiledLibrary& library, bool is_listing) {
  std::vector<std::string> names;
  for (const InspectedFunction* function : group.functions) names.push_back(function->declaration.name);
  const metal::FunctionDeclaration& first = group.functions.front()->declaration;
  std::string text = fmt::format("  {} function{}, {}:{}{}\n", names.size(), names.size() == 1 ? "" : "s", first.file, first.line,
                                 names.size() == 1 ? "" : " and elsewhere");
  const bool is_one_place = std::ranges::all_of(group.functions, [&](const InspectedFunction* function) {
    return function->declaration.file == first.file && function->declaration.line == first.line;
  });
  if (names.size() > 1 && is_one_place) text = fmt::format("  {} functions, {}:{}\n", names.size(), first.file, first.line);
  return text + wrapped(names, 4) + needs_text(group, library) + arguments_text(group) + memory_text(group, is_listing) +
         engine_text(group, is_listing);
}

// The errors, each cause once.
std::string failures_text(const CompiledLibrary& library, bool is_listing) {
  std::vector<std::pair<std::string, std::vector<std::string>>> causes;
  const auto add = [&](const std::string& cause, const std::string& function) {
    const auto known = std::ranges::find(causes, cause, &std::pair<std::string, std::vector<std::string>>::first);
    if (known == causes.end()) {
      causes.emplace_back(cause, std::vector{function});
    } else {
      known->second.push_back(function);
    }
  };
  std::map<std::string, std::string> whole;  // the complete first message of each cause
  for (const InspectedFunction& function : library.functions) {
    if (is_listing || function.is_compiled) continue;
    const std::string cause = cause_of(function);
    whole.emplace(cause, function.refusal);
    add(cause, function.declaration.name);
  }
  for (const metal::RefusedFunction& function : library.refused) {
    whole.emplace(function.reason, function.reason);
    add(function.reason, function.name);
  }
  if (causes.empty()) return {};
  std::string text = "do not compile\n";
  for (const auto& [cause, functions] : causes) {
    text += fmt::format("  {} function{}\n{}", functions.size(), functions.size() == 1 ? "" : "s", wrapped(functions, 4));
    text += indented(whole.at(cause), 6);
  }
  return text;
}

std::string constants_text(const CompiledLibrary& library, bool is_listing) {
  if (library.constants.empty()) return {};
  std::size_t name = 4;
  std::size_t type = 4;
  for (const metal::FunctionConstantDeclaration& constant : library.constants) {
    name = std::max(name, constant.name.size());
    type = std::max(type, constant.type_name.size());
  }
  std::string text =
      fmt::format("function constants\n  index  {:<{}}  {:<{}}{}\n", "name", name, "type", type, is_listing ? "" : "  needed by");
  for (const metal::FunctionConstantDeclaration& constant : library.constants) {
    const auto needing = std::ranges::count_if(library.functions, [&](const InspectedFunction& function) {
      return std::ranges::find(function.unset, constant.index) != function.unset.end();
    });
    text += fmt::format("  {:>5}  {:<{}}  {:<{}}", constant.index, constant.name, name, constant.type_name, type);
    if (!is_listing && needing != 0) text += fmt::format("  {} function{}", needing, needing == 1 ? "" : "s");
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text;
}

std::string families_text(const harness::FamilyFits& families) {
  std::string text = "families\n";
  for (const harness::FamilyFit& fit : families.fits) {
    text += fmt::format("  {}{}\n", fit.family, fit.is_named ? "" : ", by arguments only");
    for (const auto& [entry, functions] : fit.functions) {
      text += wrapped({fmt::format("{}:", entry), fmt::format("{}", fmt::join(functions, " or "))}, 4);
      if (functions.size() > 1) text += "      several functions fit; name one in [entry] of a variant.toml\n";
    }
  }
  if (!families.fits.empty()) return text;
  if (!families.nearest) return text + "  none: no function has an argument of any family\n";
  return text + fmt::format("  none; the nearest is {}, with {}\n{}", families.nearest->family, families.nearest->function,
                            indented(families.nearest->obstacle, 6));
}

}  // namespace

std::size_t Compilation::functions() const {
  std::size_t count = 0;
  for (const CompiledLibrary& library : libraries) count += library.functions.size() + library.refused.size();
  return count;
}

std::size_t Compilation::failures() const {
  std::size_t count = 0;
  for (const CompiledLibrary& library : libraries) {
    count += library.refused.size();
    if (!is_listing) count += static_cast<std::size_t>(std::ranges::count(library.functions, false, &InspectedFunction::is_compiled));
  }
  return count;
}

bool Compilation::is_sound() const {
  return functions() != 0 && failures() == 0 && std::ranges::all_of(libraries, [](const auto& one) { return one.failure.empty(); });
}

std::string compilation_text(const Compilation& compilation) {
  std::string text;
  std::size_t needing = 0;
  for (const CompiledLibrary& library : compilation.libraries) {
    if (!library.configuration.empty()) text += fmt::format("with {}\n", fmt::join(library.configuration, ", "));
    if (!library.failure.empty()) {
      text += fmt::format("does not compile\n{}", indented(library.failure, 2));
      continue;
    }
    const std::vector<Group> groups = groups_of(library.functions, compilation.is_listing);
    if (!groups.empty()) text += compilation.is_listing ? "functions\n" : "compile\n";
    for (const Group& group : groups) text += group_text(group, library, compilation.is_listing);
    text += failures_text(library, compilation.is_listing);
    text += constants_text(library, compilation.is_listing);
    if (!library.notes.empty()) text += "notes\n";
    for (const metal::SourceNote& note : library.notes) text += fmt::format("  {}:{}: {}\n", note.file, note.line, note.text);
    if (!compilation.is_listing && !library.functions.empty()) text += families_text(library.families);
    needing += static_cast<std::size_t>(
        std::ranges::count_if(library.functions, [](const InspectedFunction& one) { return one.is_compiled && !one.unset.empty(); }));
  }
  const std::size_t all = compilation.functions();
  const std::size_t failed = compilation.failures();
  text += fmt::format("{}: {} function{}", compilation.file, all, all == 1 ? "" : "s");
  if (!compilation.is_listing)
    text += fmt::format(": {} compile{}, {} {} not", all - failed, all - failed == 1 ? "s" : "", failed, failed == 1 ? "does" : "do");
  if (compilation.is_listing && failed != 0) text += fmt::format(", {} refused", failed);
  if (needing != 0) text += fmt::format("; {} need{} function constants and got placeholder values", needing, needing == 1 ? "s" : "");
  return text + fmt::format("; in {:.1f} s\n", compilation.seconds);
}

}  // namespace assay::reports

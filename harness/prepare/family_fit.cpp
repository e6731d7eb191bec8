// Compares the declarations of a kernel file with the contracts of the families.
#include "harness/prepare/family_fit.h"
#include "families/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "harness/prepare/discovery.h"
#include "harness/prepare/inspection.h"
#include "kernels/binding.h"
#include "metal/errors.h"
#include "metal/translate/lexer.h"

namespace assay::harness {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_buffer(const metal::ArgumentDeclaration& argument) { return argument.space != metal::AddressSpace::threadgroup; }

const metal::ArgumentDeclaration* named(const metal::FunctionDeclaration& function, std::string_view name) {
  const auto found =
      std::ranges::find_if(function.arguments, [&](const auto& one) { return is_buffer(one) && same_letters(one.name, name); });
  return found == function.arguments.end() ? nullptr : &*found;
}

std::size_t common_names(const kernels::FamilyContract& contract, const metal::FunctionDeclaration& function) {
  return static_cast<std::size_t>(
      std::ranges::count_if(contract.arguments, [&](const auto& wanted) { return named(function, wanted.name) != nullptr; }));
}

// Arguments with the family's names, plus a small weight for those at its indices, divided by the arguments that either has.
double resemblance(const kernels::FamilyContract& contract, const metal::FunctionDeclaration& function) {
  constexpr double index_alone = 0.01;
  const auto own = std::ranges::count_if(function.arguments, is_buffer);
  const auto placed = std::ranges::count_if(function.arguments, [&](const auto& argument) {
    return std::ranges::any_of(contract.arguments, [&](const auto& wanted) { return wanted.index == argument.index; });
  });
  const auto common = static_cast<double>(common_names(contract, function));
  const double all = static_cast<double>(own) + static_cast<double>(contract.arguments.size()) - common;
  return (common + index_alone * static_cast<double>(placed)) / std::max(all, 1.0);
}

// The words of a declared type: "const", "device", "float4".
std::set<std::string> words_of_type(std::string_view type) {
  std::set<std::string> words;
  const metal::translate::TokenStream stream = metal::translate::tokenize(std::string(type), {}, metal::translate::Form::compared);
  for (const metal::translate::Token& token : stream.tokens) {
    if (token.kind == metal::translate::TokenKind::identifier) words.emplace(token.text);
  }
  return words;
}

// Whether a word of a type is one of Metal's numbers, or a vector of them.
bool is_numeric_type(std::string_view word) {
  while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.remove_suffix(1);
  constexpr std::array<std::string_view, 12> numbers = {"bool", "char", "uchar", "short", "ushort", "int",
                                                        "uint", "long", "ulong", "half",  "bfloat", "float"};
  return std::ranges::find(numbers, word) != numbers.end();
}

// Whether an argument may have the role, judged by its declaration: an argument that the kernel writes is not const, and a struct is
// not a number.
bool may_play(kernels::ArgumentRole role, const metal::ArgumentDeclaration& argument) {
  const std::set<std::string> words = words_of_type(argument.type_name);
  const bool is_const = argument.space == metal::AddressSpace::constant || words.contains("const");
  const bool is_numeric = std::ranges::any_of(words, is_numeric_type);
  if (role == kernels::ArgumentRole::output) return !is_const;
  if (role == kernels::ArgumentRole::parameters) return is_const && !is_numeric;
  return role == kernels::ArgumentRole::input || is_const;
}

// Why the function does not bind; empty if it does.
std::optional<std::string> obstacle_of(const kernels::FamilyContract& contract, const metal::Library& library,
                                       const metal::FunctionDeclaration& function) {
  const InspectedFunction inspected = inspect_function(library, function, {});
  if (!inspected.is_compiled) return inspected.refusal;
  try {
    kernels::KernelEntry entry;
    entry.pipeline.function = function.name;
    entry.layout = inspected.layout;
    const kernels::BoundKernel bound(contract, std::move(entry));
    return std::nullopt;
  } catch (const metal::Error& error) {
    return error.what();
  }
}

std::string declared(const metal::FunctionDeclaration& function) {
  std::string text;
  for (const metal::ArgumentDeclaration& argument : function.arguments)
    text += fmt::format("{} {} {};", argument.index, argument.name, argument.type_name);
  return text;
}

// Like Finder in discovery.cpp: takes functions of the family's names, else those whose arguments bind and whose names match an entry.
std::optional<FamilyFit> fit(const kernels::FamilyContract& contract, const metal::Library& library) {
  FamilyFit result{std::string(contract.name), {}, false};
  const auto declaration = [&](std::string_view name) {
    return std::ranges::find(library.functions(), name, &metal::FunctionDeclaration::name);
  };
  bool has_names = false;
  for (const kernels::EntryContract& entry : contract.entries) {
    const auto found = declaration(entry.function);
    if (found == library.functions().end()) continue;
    has_names = true;
    result.is_named = true;
    if (!obstacle_of(contract, library, *found)) result.functions[std::string(entry.key)] = {found->name};
  }
  if (!has_names) {
    std::map<std::string, std::size_t> most;
    std::map<std::string, bool> bound;
    for (const metal::FunctionDeclaration& function : library.functions()) {
      if (!may_bind(contract, function)) continue;
      // Functions with equal declarations bind alike.
      const auto [known, is_new] = bound.try_emplace(declared(function), false);
      if (is_new) known->second = !obstacle_of(contract, library, function);
      if (!known->second) continue;
      for (const kernels::EntryContract& entry : contract.entries) {
        const auto words = speaks_for(function.name, entry.key, contract);
        if (!words) continue;
        auto& best = result.functions[std::string(entry.key)];
        auto& words_of_best = most[std::string(entry.key)];
        if (best.empty() || *words > words_of_best) best.clear();
        if (best.empty() || *words == words_of_best) best.push_back(function.name);
        words_of_best = std::max(words_of_best, *words);
      }
    }
  }
  if (result.functions.empty()) return std::nullopt;
  return result;
}

}  // namespace

bool may_bind(const kernels::FamilyContract& contract, const metal::FunctionDeclaration& function) {
  const auto required = std::ranges::count_if(contract.arguments, [](const auto& argument) { return !argument.optional; });
  const auto buffers = std::ranges::count_if(function.arguments, is_buffer);
  const auto sure = std::ranges::count_if(function.arguments, [](const auto& one) { return is_buffer(one) && !one.is_conditional; });
  const auto threadgroup =
      std::ranges::count_if(function.arguments, [](const auto& one) { return !is_buffer(one) && !one.is_conditional; });
  if (buffers < required || sure > static_cast<std::ptrdiff_t>(contract.arguments.size())) return false;
  if (threadgroup > (contract.has_threadgroup_memory ? 1 : 0)) return false;
  const auto is_placed = [&](const kernels::ArgumentContract& wanted) {
    if (const auto* argument = named(function, wanted.name); argument != nullptr) return may_play(wanted.role, *argument);
    return wanted.optional || std::ranges::any_of(function.arguments, [&](const metal::ArgumentDeclaration& argument) {
             return is_buffer(argument) && argument.index == wanted.index && may_play(wanted.role, argument);
           });
  };
  return std::ranges::all_of(contract.arguments, is_placed);
}

const metal::FunctionDeclaration& nearest_function(const kernels::FamilyContract& contract,
                                                   std::span<const metal::FunctionDeclaration> functions) {
  return *std::ranges::max_element(functions, {}, [&](const auto& function) { return resemblance(contract, function); });
}

FamilyFits fit_families(const metal::Library& library) {
  FamilyFits result;
  for (const kernels::FamilyContract& contract : families::contracts()) {
    if (contract.is_described) continue;  // every function fits
    if (auto found = fit(contract, library)) result.fits.push_back(std::move(*found));
  }
  if (!result.fits.empty() || library.functions().empty()) return result;
  const kernels::FamilyContract* nearest = nullptr;
  double most = 0;
  for (const kernels::FamilyContract& contract : families::contracts()) {
    const metal::FunctionDeclaration& function = nearest_function(contract, library.functions());
    const double alike = resemblance(contract, function);
    if (alike > most && common_names(contract, function) != 0) {
      most = alike;
      nearest = &contract;
    }
  }
  if (nearest == nullptr) return result;
  const metal::FunctionDeclaration& function = nearest_function(*nearest, library.functions());
  result.nearest = {std::string(nearest->name), function.name,
                    obstacle_of(*nearest, library, function).value_or("its name matches no entry")};
  return result;
}

std::string families_sentence(const metal::Library& library, std::string_view file) {
  FamilyFits found = fit_families(library);
  // Helpers of families have no cases.
  const auto has_cases = [](std::string_view family) {
    return std::ranges::any_of(families::all_families(), [&](const families::Family& one) { return one.name() == family; });
  };
  std::erase_if(found.fits, [&](const FamilyFit& fit) { return !has_cases(fit.family); });
  if (found.nearest && !has_cases(found.nearest->family)) found.nearest.reset();
  std::string text;
  for (const FamilyFit& one : found.fits) {
    std::vector<std::string> entries;
    for (const auto& [entry, functions] : one.functions) entries.push_back(fmt::format("{}: {}", entry, fmt::join(functions, " or ")));
    text += fmt::format("{} {} ({})", text.empty() ? "its arguments match family" : ", and family", one.family, fmt::join(entries, ", "));
  }
  if (found.fits.empty()) {
    text = found.nearest ? fmt::format("it matches no family; the nearest is {}, with '{}':\n  {}\n", found.nearest->family,
                                       found.nearest->function, found.nearest->obstacle)
                         : std::string("it matches no family");
  }
  return fmt::format("{}{}`assay compile {}` lists everything in the file", text, text.ends_with('\n') ? "" : "; ", file);
}

}  // namespace assay::harness

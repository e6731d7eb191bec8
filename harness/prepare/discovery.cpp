// Finds the functions of a source that a variant uses, and binds them to the contracts of its family.
#include "harness/prepare/discovery.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "families/registry.h"
#include "harness/prepare/family_fit.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

// "premult_d256" -> {"premult", "256"}: the words that relate a function's name to an entry.
std::set<std::string> words_of(std::string_view key) {
  std::set<std::string> words;
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('_'), key.size());
    std::string_view word = key.substr(0, end);
    if (word.size() > 1 && word[0] == 'd' && word[1] >= '0' && word[1] <= '9') word.remove_prefix(1);
    words.emplace(word);
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return words;
}

bool is_number(const std::string& word) { return word[0] >= '0' && word[0] <= '9'; }

std::string list_functions(const metal::Library& library) {
  std::vector<std::string_view> names;
  for (const metal::FunctionDeclaration& function : library.functions()) names.push_back(function.name);
  return names.empty() ? "no kernel function at all" : fmt::format("{}", fmt::join(names, ", "));
}

class Finder {
 public:
  Finder(const kernels::Variant& variant, const metal::Library& library)
      : variant_(variant), library_(library), contract_(families::contract(variant.family)) {}

  Discovery find(const std::set<kernels::FunctionKey>& keys) {
    std::set<std::string> open;
    for (const kernels::FunctionKey& key : keys) {
      specialisations_[key.entry].push_back(key);
      if (!library_.has_function(variant_.function(key.entry))) open.insert(key.entry);
    }
    for (const auto& [entry, specialised] : specialisations_) {
      if (!open.contains(entry)) bind_entry(entry, variant_.function(entry));
    }
    if (open.empty()) return std::move(result_);
    if (!variant_.description.empty()) {
      const std::string& key = *open.begin();
      if (variant_.launch)
        throw metal::PipelineError(
            fmt::format("{}: no function '{}', which a [[dispatch]] names; {} has {}. [limits] excludes cases without a "
                        "function{}{}",
                        variant_.description.string(), key, variant_.source.string(), list_functions(library_), advice_about_pairs(),
                        advice_about_trust()));
      throw metal::PipelineError(fmt::format(
          "{}: no function '{}' for entry {} of family {}; {} has {}. [entry] maps entries to functions of other names, [limits] excludes "
          "cases "
          "without a function{}",
          variant_.description.string(), variant_.function(key), key, contract_.name, variant_.source.string(), list_functions(library_),
          advice_about_trust()));
    }
    // If a file uses the family's names for some entries, it has no functions of other names for the rest.
    if (std::ranges::any_of(contract_.entries,
                            [&](const kernels::EntryContract& entry) { return library_.has_function(entry.function); })) {
      for (const std::string& key : open) mark_absent(key);
    } else {
      find_by_arguments(open);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string_view advice_about_trust() const {
    return variant_.has_untrusted_limits ? "; under --strict, those of this file do not count: --trust FILE names a description whose do"
                                         : "";
  }

  // Lists of two axes that may form pairs mean all pairs, which those who wrote them may not have meant.
  [[nodiscard]] std::string advice_about_pairs() const {
    for (const kernels::AxisWords& own : contract_.axis_words) {
      if (own.partner.empty()) continue;
      const auto limit = std::ranges::find(variant_.limits, own.axis, &kernels::AxisLimit::axis);
      const auto other = std::ranges::find(variant_.limits, own.partner, &kernels::AxisLimit::axis);
      if (limit == variant_.limits.end() || other == variant_.limits.end()) continue;
      if (limit->values.size() < 2 || other->values.size() < 2 || !limit->pairs.empty()) continue;
      return fmt::format(
          ". {0} = [{1}] and {2} = [{3}] mean all {4} pairs; {2} = \"{0}\" admits equal values only, and {2} = [\"{5}x{6}\", ...] pairs",
          own.partner, fmt::join(other->values, ", "), own.axis, fmt::join(limit->values, ", "),
          other->values.size() * limit->values.size(), other->values.front(), limit->values.front());
    }
    return {};
  }

  void mark_absent(const std::string& key) {
    result_.absent.emplace(
        key,
        fault::NoFunction{.entry = key, .source = variant_.source.filename().string(), .function = variant_.function(key), .others = {}});
  }

  void bind_entry(const std::string& entry, const std::string& function) {
    for (const kernels::FunctionKey& key : specialisations_.at(entry))
      result_.kernels.emplace(key, bind_function(contract_, variant_, library_, function, key));
  }

  void find_by_arguments(const std::set<std::string>& keys) {
    // The values of constants do not decide whether a function's arguments bind, but some values are needed to compile it.
    const kernels::FunctionKey& some = specialisations_.at(*keys.begin()).front();
    std::vector<std::string> binding;
    for (const metal::FunctionDeclaration& function : library_.functions()) {
      if (!may_bind(contract_, function)) continue;
      try {
        static_cast<void>(bind_function(contract_, variant_, library_, function.name, some));
        binding.push_back(function.name);
      } catch (const metal::CompileError&) {
        throw;
      } catch (const metal::EnvironmentError&) {
        throw;
      } catch (const metal::Error&) {
      }
    }
    if (binding.empty()) refuse_family(some);
    for (const std::string& key : keys) choose(key, binding);
    if (result_.kernels.empty()) {
      throw metal::PipelineError(
          fmt::format("{}: the arguments of {} match family {}, but their names do not tell which of {} each one implements",
                      variant_.source.string(), fmt::join(binding, ", "), contract_.name, fmt::join(keys, ", ")));
    }
  }

  // Reports why the nearest function does not bind, and which family the file implements instead. `assay compile` reports
  // the other functions.
  [[noreturn]] void refuse_family(const kernels::FunctionKey& some) const {
    const auto error_of = [&](const std::string& why) {
      return metal::PipelineError(fmt::format("{}: not a kernel of family {}: {}", variant_.source.string(), contract_.name, why));
    };
    if (library_.functions().empty()) throw error_of("the file has no kernel function");
    std::vector<std::string_view> wanted;
    for (const kernels::EntryContract& entry : contract_.entries) wanted.push_back(entry.function);
    const metal::FunctionDeclaration& nearest = nearest_function(contract_, library_.functions());
    std::string refusal;
    try {
      static_cast<void>(bind_function(contract_, variant_, library_, nearest.name, some));
    } catch (const metal::EnvironmentError&) {
      throw;
    } catch (const metal::Error& error) {
      refusal = error.what();
    }
    const std::size_t count = library_.functions().size();
    throw error_of(fmt::format(
        "no function is called {}, and {}:\n  {}\n{}", fmt::join(wanted, " or "),
        count == 1 ? fmt::format("'{}' does not have the arguments of the family", nearest.name)
                   : fmt::format("none of the {} functions has the arguments of the family; the nearest is '{}'", count, nearest.name),
        refusal, families_sentence(library_, variant_.source.string())));
  }

  void choose(const std::string& key, const std::vector<std::string>& binding) {
    std::vector<std::string> best;
    std::size_t most = 0;
    for (const std::string& function : binding) {
      const auto words = speaks_for(function, key, contract_);
      if (!words) continue;
      if (best.empty() || *words > most) {
        best = {function};
        most = *words;
      } else if (*words == most) {
        best.push_back(function);
      }
    }
    if (best.empty()) {
      result_.absent.emplace(
          key, fault::NoFunction{.entry = key, .source = variant_.source.filename().string(), .function = {}, .others = binding});
      return;
    }
    if (best.size() > 1) {
      throw metal::PipelineError(
          fmt::format("{}: each of {} could be entry {} of family {}; choose one in a variant.toml: [entry] {} = \"...\"",
                      variant_.source.string(), fmt::join(best, ", "), key, contract_.name, key));
    }
    result_.notes.push_back(fmt::format("{}: function '{}' was chosen for {} {}, because its arguments match",
                                        variant_.source.filename().string(), best.front(), contract_.name, key));
    bind_entry(key, best.front());
  }

  const kernels::Variant& variant_;
  const metal::Library& library_;
  const kernels::FamilyContract& contract_;
  std::map<std::string, std::vector<kernels::FunctionKey>> specialisations_;  // by entry
  Discovery result_;
};

}  // namespace

std::optional<std::size_t> speaks_for(std::string_view function, std::string_view key, const kernels::FamilyContract& contract) {
  const std::set<std::string> wanted = words_of(key);
  std::size_t count = 0;
  for (const kernels::EntryContract& entry : contract.entries) {
    for (const std::string& word : words_of(entry.key)) {
      if (function.find(word) != std::string_view::npos && !wanted.contains(word)) return std::nullopt;
    }
  }
  const bool one_part =
      std::ranges::all_of(contract.entries, [](const kernels::EntryContract& entry) { return words_of(entry.key).size() == 1; });
  for (const std::string& word : wanted) {
    const bool spoken = function.find(word) != std::string_view::npos;
    if (!spoken && !one_part && !is_number(word)) return std::nullopt;
    count += spoken ? 1U : 0U;
  }
  return count;
}

namespace {

using ConstantKind = metal::FunctionConstantType::Scalar;

std::string value_text(const metal::FieldValue& value) {
  if (value.kind == metal::FieldValue::Kind::floating) return fmt::format("{}", std::bit_cast<double>(value.bits));
  return value.kind == metal::FieldValue::Kind::unsigned_integer ? fmt::format("{}", value.bits)
                                                                 : fmt::format("{}", std::bit_cast<std::int64_t>(value.bits));
}

// Empty if a number of that kind cannot represent the value.
std::optional<metal::ConstantScalar> scalar_of(const metal::FieldValue& value, ConstantKind kind) {
  const bool is_floating = value.kind == metal::FieldValue::Kind::floating;
  const bool is_unsigned = value.kind == metal::FieldValue::Kind::unsigned_integer;
  const auto integer = std::bit_cast<std::int64_t>(value.bits);
  if (kind == ConstantKind::floating) {
    if (is_floating) return std::bit_cast<double>(value.bits);
    return is_unsigned ? static_cast<double>(value.bits) : static_cast<double>(integer);
  }
  if (is_floating || (is_unsigned && integer < 0)) return std::nullopt;
  if (kind != ConstantKind::boolean) return integer;
  if (integer != 0 && integer != 1) return std::nullopt;
  return integer == 1;
}

}  // namespace

metal::FunctionConstant constant_of(std::span<const metal::FieldValue> values, const metal::FunctionConstantDeclaration& declared) {
  if (values.size() != declared.type.components) {
    std::vector<std::string> texts;
    for (const metal::FieldValue& value : values) texts.push_back(value_text(value));
    throw std::invalid_argument(fmt::format("{} {} given ({}), but its type, {}, has {}", values.size(),
                                            values.size() == 1 ? "value is" : "values are", fmt::join(texts, ", "), declared.type_name,
                                            declared.type.components));
  }
  std::vector<metal::ConstantScalar> components;
  for (const metal::FieldValue& value : values) {
    const auto component = scalar_of(value, declared.type.scalar);
    if (!component)
      throw std::invalid_argument(fmt::format("the value does not fit its type, {}: {}", declared.type_name, value_text(value)));
    components.push_back(*component);
  }
  return metal::constant_of_components(components);
}

namespace {

// Sets function constants that a description names, each once.
class ConstantSetter {
 public:
  ConstantSetter(const kernels::FamilyContract& contract, const kernels::Variant& variant, const metal::Library& library,
                 metal::PipelineDescriptor& function)
      : contract_(contract), variant_(variant), library_(library), function_(function) {}

  // `name` is a name or an index; `place` is where the description has it. `family_sets`: the launch sets those of the contract itself.
  void set(std::string_view place, const std::string& name, std::span<const metal::FieldValue> values, bool family_sets) {
    const auto refuse = [&](const std::string& what) {
      throw kernels::VariantError(fmt::format(
          "{}: {} {}: {}", (variant_.description.empty() ? variant_.source : variant_.description).string(), place, name, what));
    };
    const auto& all = library_.function_constants();
    const auto declared = std::ranges::find_if(
        all, [&](const metal::FunctionConstantDeclaration& one) { return one.name == name || std::to_string(one.index) == name; });
    if (declared == all.end()) {
      std::vector<std::string> known;
      for (const metal::FunctionConstantDeclaration& one : all) known.push_back(fmt::format("{} ({})", one.name, one.index));
      refuse(fmt::format("the file has no such function constant; it has {}",
                         known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    for (const kernels::FamilyContract* owner : {&contract_, &families::contract(variant_.family)}) {
      for (const kernels::ConstantContract& own : owner->constants) {
        if (family_sets && own.index == declared->index)
          refuse(fmt::format("family {} sets function constant {} for each case: {}", owner->name, own.index, own.meaning));
      }
    }
    if (!set_.insert(declared->index).second) refuse("set twice, by name and by index");
    try {
      function_.constants.insert_or_assign(declared->index, constant_of(values, *declared));
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
  }

 private:
  const kernels::FamilyContract& contract_;
  const kernels::Variant& variant_;
  const metal::Library& library_;
  metal::PipelineDescriptor& function_;
  std::set<std::uint32_t> set_;
};

}  // namespace

metal::PipelineDescriptor pipeline_of(const kernels::FamilyContract& contract, const kernels::Variant& variant,
                                      const metal::Library& library, std::string function, const kernels::FunctionKey& key) {
  metal::PipelineDescriptor pipeline{std::move(function), key.constants, library.configuration()};
  std::erase_if(pipeline.constants, [&](const auto& constant) {
    return std::ranges::none_of(library.function_constants(), [&](const auto& declared) { return declared.index == constant.first; });
  });
  ConstantSetter setter(contract, variant, library, pipeline);
  for (const auto& [name, value] : key.named) setter.set("[[dispatch]] constants", name, {&value, 1}, false);
  for (const auto& [name, values] : variant.constants)
    setter.set(variant.description.empty() ? "--constant" : "[constants]", name, values, !variant.launch);
  return pipeline;
}

kernels::BoundKernel bind_function(const kernels::FamilyContract& contract, const kernels::Variant& variant, const metal::Library& library,
                                   std::string function, const kernels::FunctionKey& key) {
  kernels::KernelEntry entry;
  entry.pipeline = pipeline_of(contract, variant, library, std::move(function), key);
  // An error inside a helper may have no place, so file and function are added here.
  const auto placed = [&](const std::string& what) {
    return what.starts_with(":") ? fmt::format("{}: function '{}'{}", variant.source.string(), entry.pipeline.function, what) : what;
  };
  try {
    entry.layout = library.pipeline(entry.pipeline)->layout();
  } catch (const metal::CompileError& error) {
    throw metal::CompileError(placed(error.what()));
  } catch (const metal::PipelineError& error) {
    throw metal::PipelineError(placed(error.what()));
  }
  entry.fields = variant.fields;
  entry.describes_launch = contract.name == variant.family && variant.launch;
  if (contract.name == variant.family)
    std::ranges::copy_if(variant.limits, std::back_inserter(entry.limits), [](const kernels::AxisLimit& limit) { return !limit.is_found; });
  const auto declared = std::ranges::find(library.functions(), entry.pipeline.function, &metal::FunctionDeclaration::name);
  // The limits of the variant's author may also give the size for which the function is made, as does a function constant.
  const auto is_told = [&](const kernels::AxisLimit& limit) {
    return !limit.is_found && std::ranges::any_of(families::family_of(variant).axes, [&](const families::Axis& axis) {
      return axis.is_simdgroups && axis.name == limit.axis;
    });
  };
  entry.reads_threadgroup_size =
      std::ranges::any_of(variant.limits, is_told) || (declared != library.functions().end() && declared->reads_threadgroup_size);
  // [bind] applies to the variant's own family. A helper in the same file uses the names of its own family.
  if (contract.name == variant.family) entry.bind = variant.bind;
  return {contract, std::move(entry)};
}

Discovery discover(const kernels::Variant& variant, const metal::Library& library, const std::set<kernels::FunctionKey>& keys) {
  return Finder(variant, library).find(keys);
}

}  // namespace assay::harness

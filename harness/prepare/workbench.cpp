// Prepares variants: finds and compiles the functions that the selected cases need, and checks their arguments and fields.
#include "harness/prepare/workbench.h"
#include "families/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "families/described_launch.h"
#include "harness/cases/suite.h"
#include "harness/prepare/discovery.h"
#include "harness/prepare/libraries.h"
#include "harness/prepare/linked_code.h"
#include "metal/compile/ptx.h"
#include "metal/devices/cuda/encoder.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

using Keys = std::set<kernels::FunctionKey>;
using Kernels = std::map<kernels::FunctionKey, kernels::BoundKernel>;

// The functions that the selected cases of one variant need.
struct Demand {
  Keys functions;
  std::map<std::string, Keys, std::less<>> helpers;  // by family
  const Case* some_case = nullptr;
};

// The name of a function of a family in a variant's file; [entry] applies to the variant's own family only.
std::string function_name(const kernels::FamilyContract& contract, const kernels::Variant& variant, const std::string& entry) {
  return variant.family == contract.name ? variant.function(entry) : std::string(contract.find_entry(entry)->function);
}

bool has_functions(const metal::Library& library, const kernels::FamilyContract& contract, const kernels::Variant& variant,
                   const Keys& keys) {
  return std::ranges::all_of(
      keys, [&](const kernels::FunctionKey& key) { return library.has_function(function_name(contract, variant, key.entry)); });
}

// Compiles the functions that will be needed, several at a time. Ignores failures: the later request reports them, with context.
void compile_ahead(const metal::Library& library, const std::vector<metal::PipelineDescriptor>& functions,
                   const WorkbenchOptions& options) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < functions.size(); i = next++) {
      try {
        static_cast<void>(library.pipeline(functions[i]));
        if (options.device.is_gpu())
          static_cast<void>(metal::compile::compile_ptx(library, functions[i], metal::ptx_options(options.device)));
      } catch (const std::exception&) {
      }
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min<std::size_t>(options.jobs, functions.size()); ++i) threads.emplace_back(work);
  work();
}

// "accumulator half, stores bf16, bf16 (reason)"; empty if everything is stored as the contract says. Throws kernels::VariantError if
// no bound has terms for it.
std::string weaker_storage(const kernels::Variant& variant) {
  const kernels::Accuracy& accuracy = variant.accuracy;
  const Family& family = family_of(variant);
  const auto simdgroups = std::ranges::find_if(family.axes, &Axis::is_simdgroups);
  if (accuracy.merge_store && simdgroups == family.axes.end())
    throw kernels::VariantError(fmt::format("{}: [accuracy] merge_store is only for families with an axis of simdgroups; {} has none",
                                            variant.description.string(), variant.family));
  std::string text;
  if (accuracy.accumulator != "float") text = fmt::format("accumulator {}", accuracy.accumulator);
  if (accuracy.accumulator_keys) text += fmt::format(" after every {} keys", *accuracy.accumulator_keys);
  if (!accuracy.stores.empty()) text += fmt::format("{}stores {}", text.empty() ? "" : ", ", fmt::join(accuracy.stores, ", "));
  if (accuracy.merge_store)
    text += fmt::format("{}{} with every halving of {}", text.empty() ? "" : ", ", *accuracy.merge_store, simdgroups->name);
  for (const auto& [key, format] : accuracy.formats) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, format);
  if (text.empty()) return text;
  if (!family.bounds_weaker_storage) {
    throw kernels::VariantError(
        fmt::format("{}: [accuracy] declares a weaker storage ({}), but the bounds of family {} have no terms for it",
                    variant.description.string(), text, variant.family));
  }
  return fmt::format("{} ({})", text, accuracy.reason);
}

// The deviations that the kernels report, each once. Deviations that differ only in their last word, such as the name of a field,
// share a line.
std::vector<std::string> merged_notes(const Kernels& kernels) {
  std::set<std::string> printed;
  std::vector<std::pair<std::string, std::string>> lines;  // all but the last word; last words
  for (const auto& [key, kernel] : kernels) {
    for (const std::string& note : kernel.notes()) {
      if (!printed.insert(note).second) continue;
      const std::size_t last = note.rfind(' ') + 1;
      const auto same = std::ranges::find(lines, note.substr(0, last), &std::pair<std::string, std::string>::first);
      if (same == lines.end()) {
        lines.emplace_back(note.substr(0, last), note.substr(last));
      } else {
        same->second += ", " + note.substr(last);
      }
    }
  }
  std::vector<std::string> notes;
  for (const auto& [start, words] : lines) notes.push_back(start + words);
  return notes;
}

// The functions that a case's launch needs. A case whose expressions have no values needs none; its verdict says why. Neither does one with
// a function that the family does not have, which its launch code will reject.
void add_functions(Demand& demand, const Case& value, const kernels::Variant& variant) {
  try {
    const families::DescribedLaunch launch(value, variant);
    if (!variant.launch && value.family->contract.find_entry(launch.main_function().entry) == nullptr) return;
    for (families::LaunchedFunction& function : launch.functions()) {
      Keys& keys = function.family.empty() ? demand.functions : demand.helpers[std::string(function.family)];
      keys.insert(std::move(function.key));
    }
  } catch (const kernels::ExpressionError&) {
  } catch (const std::invalid_argument&) {
  }
}

// Kernels as PTX, by the variant whose source they are of: nothing of a stranger may be compiled in one process with what others use.
using KernelsBySource = std::map<std::string, std::vector<metal::cuda::Kernel>>;

// What cannot be compiled is left out: the first case that needs it reports it.
void add_ptx(KernelsBySource& sources, const PreparedVariant& prepared, const metal::DeviceChoice& device) {
  const auto add = [&](const std::string& owner, const auto& bound) {
    for (const auto& [key, kernel] : bound) {
      try {
        const auto ptx = metal::compile::compile_ptx(prepared.libraries, kernel.entry().pipeline, metal::ptx_options(device));
        sources[owner].push_back(metal::cuda::kernel_of(kernel.entry().layout.function, ptx.text));
      } catch (const metal::Error&) {
      }
    }
  };
  add(prepared.variant.name, prepared.kernels);
  for (const auto& [family, helpers] : prepared.helpers) add(helpers.owner, helpers.kernels);
}

// Returns why not, if the driver does not link.
std::string link_ahead(const std::map<std::string, PreparedVariant, std::less<>>& variants, const WorkbenchOptions& options) {
  if (options.device.code_for.empty()) return {};
  KernelsBySource by_source;
  std::filesystem::path cache;
  for (const auto& [name, prepared] : variants) {
    if (prepared.libraries.empty()) continue;
    cache = prepared.libraries.front()->options().cache_directory;
    add_ptx(by_source, prepared, options.device);
  }
  if (by_source.empty()) return {};
  std::vector<std::vector<metal::cuda::Kernel>> sources;
  for (auto& [owner, kernels] : by_source) sources.push_back(std::move(kernels));
  LinkedCode linked(options.device, cache);
  linked.make_ahead(sources, options.jobs);
  return linked.problem();
}

class Preparation {
 public:
  Preparation(std::span<const kernels::Variant> catalogue, const WorkbenchOptions& options) : catalogue_(catalogue), options_(options) {}

  // A single variant gains nothing.
  void make_ahead(std::span<const kernels::Variant* const> variants) {
    if (variants.size() > 1) libraries_.make_ahead(variants, options_.jobs);
  }

  PreparedVariant prepare(const kernels::Variant& described, const Demand& demand) {
    PreparedVariant prepared;
    prepared.variant = described;
    if (options_.user_variant.empty() || options_.user_variant == described.name) {
      for (const auto& [name, value] : options_.fields) {
        const auto names = demand.some_case->family->expression_names(*demand.some_case, described);
        if (names->value(name) || families::contract(described.family).find_field(name) != nullptr) {
          throw kernels::VariantError(fmt::format("--set {}: family {} sets this value itself", name, described.family));
        }
        prepared.variant.fields.insert_or_assign(name, value);
      }
    }
    const kernels::Variant& variant = prepared.variant;
    prepared.weaker_storage = weaker_storage(variant);
    prepared.known_findings = known_findings_of(variant);

    find_functions(prepared, demand.functions);
    if (!prepared.kernels.empty()) {
      for (const auto& [family, keys] : demand.helpers) add_helpers(prepared, family, keys);
    }

    for (const std::string& note : merged_notes(prepared.kernels)) prepared.notes.push_back(fmt::format("{}: {}", variant.name, note));
    if (options_.same_layout) require_same_layout(prepared);
    check_fields(prepared);
    return prepared;
  }

 private:
  // Entries with their own macros come from separate libraries.
  void find_functions(PreparedVariant& prepared, const Keys& functions) {
    const kernels::Variant& variant = prepared.variant;
    std::map<std::vector<std::string>, Keys> by_configuration;
    for (const kernels::FunctionKey& key : functions) by_configuration[variant.definitions_of(key.entry)].insert(key);
    if (functions.empty() && variant.entry_definitions.empty()) by_configuration[{}];
    for (const auto& [configuration, keys] : by_configuration) {
      const auto library = libraries_.of(variant, configuration);
      prepared.libraries.push_back(library);
      compile_ahead(*library, functions_of(variant, *library, keys), options_);
      Discovery found = discover(variant, *library, keys);
      prepared.kernels.merge(std::move(found.kernels));
      prepared.absent.merge(std::move(found.absent));
      prepared.notes.insert(prepared.notes.end(), found.notes.begin(), found.notes.end());
    }
  }

  static std::vector<metal::PipelineDescriptor> functions_of(const kernels::Variant& variant, const metal::Library& library,
                                                             const Keys& keys) {
    std::vector<metal::PipelineDescriptor> functions;
    for (const kernels::FunctionKey& key : keys) {
      if (library.has_function(variant.function(key.entry)))
        functions.push_back(pipeline_of(families::contract(variant.family), variant, library, variant.function(key.entry), key));
    }
    return functions;
  }

  // Takes the helpers from the variant's own file if it has all of them. Otherwise from the first variant that has them: of the
  // helper's family, else of the variant's family.
  void add_helpers(PreparedVariant& prepared, const std::string& family, const Keys& keys) {
    const kernels::FamilyContract& contract = families::contract(family);
    const std::string& name = prepared.variant.name;
    PreparedHelpers& helpers = prepared.helpers[family];
    const auto has_them = [&](const auto& library) { return has_functions(*library, contract, prepared.variant, keys); };
    if (const auto own = std::ranges::find_if(prepared.libraries, has_them); own != prepared.libraries.end()) {
      helpers.owner = name;
      bind_helpers(helpers, contract, prepared.variant, **own, keys);
      const bool has_suite = std::ranges::any_of(all_families(), [&](const Family& one) { return one.name() == family; });
      prepared.notes.push_back(fmt::format("{} brings its own {}{}", name, family,
                                           has_suite ? fmt::format("; use --family {} to test it", family) : std::string()));
      return;
    }
    for (const std::string& wanted : {family, prepared.variant.family}) {
      for (const kernels::Variant& lender : catalogue_) {
        if (lender.family != wanted || lender.name == name) continue;
        if (!lend(prepared, helpers, contract, lender, keys)) continue;
        helpers.owner = lender.name;
        prepared.notes.push_back(fmt::format("{} has no {} of its own; {} is used", name, family, lender.name));
        return;
      }
    }
    std::set<std::string> functions;
    for (const kernels::FunctionKey& key : keys) functions.insert(function_name(contract, prepared.variant, key.entry));
    throw kernels::VariantError(
        fmt::format("{} needs a {}, but neither its file nor any variant has one: add {} to the file, put a variant that has {} into the "
                    "folder of variants, or omit --variants and pass the kernel with --kernel; then ours is used",
                    name, family, fmt::join(functions, ", "), functions.size() == 1 ? "it" : "them"));
  }

  // Returns false if the lender lacks a function. A variant of another family whose entries have their own macros lends nothing.
  bool lend(PreparedVariant& prepared, PreparedHelpers& helpers, const kernels::FamilyContract& contract, const kernels::Variant& lender,
            const Keys& keys) {
    if (lender.family != contract.name && !lender.entry_definitions.empty()) return false;
    std::map<std::vector<std::string>, Keys> by_configuration;
    for (const kernels::FunctionKey& key : keys)
      by_configuration[lender.family == contract.name ? lender.definitions_of(key.entry) : std::vector<std::string>()].insert(key);
    for (const auto& [configuration, some] : by_configuration) {
      if (!has_functions(*libraries_.of(lender, configuration), contract, lender, some)) return false;
    }
    for (const auto& [configuration, some] : by_configuration) {
      const auto library = libraries_.of(lender, configuration);
      bind_helpers(helpers, contract, lender, *library, some);
      prepared.libraries.push_back(library);
    }
    return true;
  }

  void bind_helpers(PreparedHelpers& helpers, const kernels::FamilyContract& contract, const kernels::Variant& variant,
                    const metal::Library& library, const Keys& keys) {
    std::vector<metal::PipelineDescriptor> functions;
    for (const kernels::FunctionKey& key : keys)
      functions.push_back(pipeline_of(contract, variant, library, function_name(contract, variant, key.entry), key));
    compile_ahead(library, functions, options_);
    for (const kernels::FunctionKey& key : keys)
      helpers.kernels.emplace(key, bind_function(contract, variant, library, function_name(contract, variant, key.entry), key));
  }

  static void require_same_layout(const PreparedVariant& prepared) {
    for (const auto& [key, kernel] : prepared.kernels) {
      if (kernel.layout_differences().empty()) continue;
      const metal::ArgumentLayout& layout = kernel.entry().layout;
      throw kernels::VariantError(fmt::format("{}:{}: --abi: the parameters of '{}' have another layout than the contract's:\n  {}",
                                              layout.file, layout.line, layout.function, fmt::join(kernel.layout_differences(), "\n  ")));
    }
  }

  // A field that neither a struct, an argument nor the launch has is a misspelt name.
  static void check_fields(const PreparedVariant& prepared) {
    // Without a kernel (no case has an existing head_dim) there is no struct to compare with.
    if (prepared.kernels.empty()) return;
    const kernels::LaunchDescription& launch = prepared.variant.launch ? *prepared.variant.launch : *family_of(prepared.variant).launch;
    std::set<std::string> known = kernels::names_in(launch);
    const auto collect = [&](const auto& kernels) {
      for (const auto& [key, kernel] : kernels) {
        for (const metal::BoundArgument& argument : kernel.entry().layout.arguments) {
          if (!argument.layout) known.insert(argument.name);
          if (!argument.layout) continue;
          for (const metal::StructField& field : argument.layout->fields) known.insert(field.name);
        }
      }
    };
    collect(prepared.kernels);
    for (const auto& [family, helpers] : prepared.helpers) {
      if (helpers.owner == prepared.variant.name) collect(helpers.kernels);
    }
    for (const auto& [name, value] : prepared.variant.fields) {
      if (known.contains(name)) continue;
      // A --set of the same name has replaced the value of the file.
      const kernels::Variant& variant = prepared.variant;
      const auto line = variant.field_lines.find(name);
      const bool is_said = line != variant.field_lines.end();
      throw kernels::VariantError(fmt::format("{}: {} sets '{}', but no struct, argument or launch of {} has it; they have {}",
                                              is_said ? fmt::format("{}:{}", variant.description.string(), line->second) : variant.name,
                                              is_said ? "[fields]" : "--set", name, variant.source.string(), fmt::join(known, ", ")));
    }
  }

  std::span<const kernels::Variant> catalogue_;
  const WorkbenchOptions& options_;
  Libraries libraries_{options_.fp_contract};
};

}  // namespace

const kernels::BoundKernel* PreparedVariant::kernel(const kernels::FunctionKey& key) const {
  const auto found = kernels.find(key);
  return found == kernels.end() ? nullptr : &found->second;
}

const kernels::BoundKernel* PreparedVariant::helper(std::string_view family, const kernels::FunctionKey& key) const {
  const auto of_family = helpers.find(family);
  if (of_family == helpers.end()) return nullptr;
  const auto found = of_family->second.kernels.find(key);
  return found == of_family->second.kernels.end() ? nullptr : &found->second;
}

std::string PreparedVariant::helper_owner(std::string_view family) const {
  const auto found = helpers.find(family);
  return found == helpers.end() ? std::string() : found->second.owner;
}

Workbench::Workbench(std::span<const kernels::Variant> catalogue, std::span<const Case> cases, const WorkbenchOptions& options) {
  std::map<std::string, Demand> demands;
  const auto add = [&](const Case& value) {
    Demand& demand = demands[value.variant];
    // Such a case is skipped, so the variant needs no function for it.
    const auto described = std::ranges::find(catalogue, value.variant, &kernels::Variant::name);
    if (described == catalogue.end() || declared_limit_against(*described, value) != nullptr) return;
    add_functions(demand, value, *described);
  };
  for (const Case& value : cases) {
    add(value);
    demands[value.variant].some_case = &value;
    const auto described = std::ranges::find(catalogue, value.variant, &kernels::Variant::name);
    if (value.beyond.empty() || described == catalogue.end()) continue;
    for (const Case& other : cases_of_same_bits(*described, value)) add(other);
  }

  Preparation preparation(catalogue, options);
  std::vector<const kernels::Variant*> needed_variants;
  for (const auto& [name, needed] : demands) {
    const auto variant = std::ranges::find(catalogue, name, &kernels::Variant::name);
    if (variant != catalogue.end() && !needed.functions.empty()) needed_variants.push_back(&*variant);
  }
  preparation.make_ahead(needed_variants);
  for (const auto& [name, needed] : demands) {
    const auto variant = std::ranges::find(catalogue, name, &kernels::Variant::name);
    if (variant == catalogue.end()) throw std::invalid_argument(fmt::format("no variant '{}'", name));
    variants_.emplace(name, preparation.prepare(*variant, needed));
  }
  link_problem_ = link_ahead(variants_, options);
}

const PreparedVariant& Workbench::find(std::string_view variant) const {
  const auto found = variants_.find(variant);
  if (found == variants_.end()) throw std::invalid_argument(fmt::format("variant '{}' was not prepared", variant));
  return found->second;
}

}  // namespace assay::harness

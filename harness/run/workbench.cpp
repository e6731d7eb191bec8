#include "harness/run/workbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/run/discovery.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

// The reduce family's entry for a key of a decode family: both are told apart by head dimension alone.
bool has_reduce(const metal::Library& library, const std::set<std::string>& keys) {
  const kernels::FamilyContract& reduce = kernels::family_contract("reduce");
  return std::ranges::all_of(keys, [&](const std::string& key) {
    const kernels::EntryContract* entry = reduce.find_entry(key);
    return entry != nullptr && library.has_function(entry->function);
  });
}

// Compiles the functions that will be asked for, several at a time. A failure is left for the one who asks: there it has
// a context.
void compile_ahead(const metal::Library& library, const std::vector<std::string>& functions, unsigned jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < functions.size(); i = next++) {
      try {
        static_cast<void>(library.pipeline({functions[i], {}}));
      } catch (const std::exception&) {
      }
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min<std::size_t>(jobs, functions.size()); ++i) threads.emplace_back(work);
  work();
}

// "accumulator half, stores bf16, bf16 (reason)"; empty if everything is stored as the contract has it. Throws kernels::VariantError
// where no bound has terms for it.
std::string weaker_storage(const kernels::Variant& variant) {
  const kernels::Accuracy& accuracy = variant.accuracy;
  std::string text;
  if (accuracy.accumulator != "float") text = fmt::format("accumulator {}", accuracy.accumulator);
  if (!accuracy.stores.empty()) text += fmt::format("{}stores {}", text.empty() ? "" : ", ", fmt::join(accuracy.stores, ", "));
  if (text.empty()) return text;
  if (variant.family != "tq4") {
    throw kernels::VariantError(fmt::format("{}: [accuracy] declares a weaker storage ({}), which no bound of family {} has terms for",
                                            variant.description.string(), text, variant.family));
  }
  return fmt::format("{} ({})", text, accuracy.reason);
}

// Takes what it is given and does nothing with it.
class IdleEncoder final : public metal::ComputeEncoder {
 public:
  void set_pipeline(const metal::PipelineDescriptor&) override {}
  void set_buffer(std::uint32_t, metal::BufferView) override {}
  void set_bytes(std::uint32_t, std::span<const std::byte>) override {}
  void set_threadgroup_memory_length(std::uint32_t, std::size_t) override {}
  void memory_barrier() override {}
  void dispatch_threadgroups(metal::Size3, metal::Size3) override {}
  void dispatch_threads(metal::Size3, metal::Size3) override {}
};

// What the kernels deviate in, each deviation once; those that differ in their last word only, as one field after the other does,
// share a line.
std::vector<std::string> merged_notes(const std::map<std::string, kernels::BoundKernel, std::less<>>& kernels) {
  std::set<std::string> told;
  std::vector<std::pair<std::string, std::string>> lines;  // all but the last word; last words
  for (const auto& [key, kernel] : kernels) {
    for (const std::string& note : kernel.notes()) {
      if (!told.insert(note).second) continue;
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

class Preparation {
 public:
  Preparation(std::span<const kernels::Variant> catalogue, const WorkbenchOptions& options) : catalogue_(catalogue), options_(options) {}

  PreparedVariant prepare(const kernels::Variant& described, const std::set<std::string>& keys) {
    PreparedVariant prepared;
    prepared.variant = described;
    if (options_.user_variant.empty() || options_.user_variant == described.name) {
      for (const auto& [name, value] : options_.fields) {
        if (kernels::family_contract(described.family).find_field(name) != nullptr) {
          throw kernels::VariantError(fmt::format("--set {}: family {} sets this field itself", name, described.family));
        }
        prepared.variant.fields.insert_or_assign(name, value);
      }
    }
    const kernels::Variant& variant = prepared.variant;
    prepared.weaker_storage = weaker_storage(variant);
    prepared.known_findings = known_findings_of(variant);

    const auto library = load(variant);
    prepared.libraries.push_back(library);
    compile_ahead(*library, functions_of(variant, *library, keys), options_.jobs);
    Discovery found = discover(variant, *library, keys);
    prepared.kernels = std::move(found.kernels);
    prepared.absent = std::move(found.absent);
    prepared.notes = std::move(found.notes);
    if (variant.family == "tq4" && !prepared.kernels.empty()) add_reduce(prepared, *library);

    for (const std::string& note : merged_notes(prepared.kernels)) prepared.notes.push_back(fmt::format("{}: {}", variant.name, note));
    check_fields(prepared);
    check_values(prepared, prepared.kernels);
    if (prepared.reduce_owner == variant.name) check_values(prepared, prepared.reduce);
    return prepared;
  }

 private:
  std::shared_ptr<metal::Library> load(const kernels::Variant& variant) {
    auto& library = libraries_[variant.source.string()];
    if (!library) {
      metal::CompileOptions compile;
      compile.fp_contract = options_.fp_contract;
      library = metal::Library::from_file(variant.source, compile);
    }
    return library;
  }

  static std::vector<std::string> functions_of(const kernels::Variant& variant, const metal::Library& library,
                                               const std::set<std::string>& keys) {
    std::vector<std::string> functions;
    for (const std::string& key : keys) {
      if (std::string function = variant.function(key); library.has_function(function)) functions.push_back(std::move(function));
    }
    return functions;
  }

  void add_reduce(PreparedVariant& prepared, const metal::Library& own) {
    const kernels::FamilyContract& contract = kernels::family_contract("reduce");
    std::set<std::string> keys;
    for (const auto& [key, kernel] : prepared.kernels) keys.insert(key);
    if (has_reduce(own, keys)) {
      prepared.reduce_owner = prepared.variant.name;
      for (const std::string& key : keys) {
        prepared.reduce.emplace(key, bind_function(contract, prepared.variant, own, std::string(contract.find_entry(key)->function)));
      }
      prepared.notes.push_back(fmt::format("{} brings its own reduce; it is judged with --family reduce", prepared.variant.name));
      return;
    }
    const auto lender = std::ranges::find(catalogue_, "reduce", &kernels::Variant::family);
    if (lender == catalogue_.end()) {
      throw kernels::VariantError(
          fmt::format("{} needs a reduce for nwg > 1, and there is no variant of family reduce", prepared.variant.name));
    }
    const auto library = load(*lender);
    compile_ahead(*library, functions_of(*lender, *library, keys), options_.jobs);
    Discovery found = discover(*lender, *library, keys);
    prepared.reduce = std::move(found.kernels);
    prepared.reduce_owner = lender->name;
    prepared.libraries.push_back(library);
    prepared.notes.push_back(fmt::format("{} has no reduce of its own and borrows {}", prepared.variant.name, lender->name));
  }

  // A value that no struct takes is a misspelt name.
  static void check_fields(const PreparedVariant& prepared) {
    // Without a kernel (no case has a head_dim that exists) there is no struct to ask.
    if (prepared.kernels.empty()) return;
    std::set<std::string> known;
    const auto collect = [&](const auto& kernels) {
      for (const auto& [key, kernel] : kernels) {
        for (const metal::BoundArgument& argument : kernel.entry().layout.arguments) {
          if (!argument.layout) continue;
          for (const metal::StructField& field : argument.layout->fields) known.insert(field.name);
        }
      }
    };
    collect(prepared.kernels);
    if (prepared.reduce_owner == prepared.variant.name) collect(prepared.reduce);
    for (const auto& [name, value] : prepared.variant.fields) {
      if (known.contains(name)) continue;
      throw kernels::VariantError(
          fmt::format("{}: a value is given for field '{}', but its structs have {}", prepared.variant.name, name, fmt::join(known, ", ")));
    }
  }

  // Fills every struct once with the values of the user and harmless ones of the family's, so that a value that does not fit,
  // which is the same for all cases, is told once and before any of them.
  static void check_values(const PreparedVariant& prepared, const std::map<std::string, kernels::BoundKernel, std::less<>>& kernels) {
    IdleEncoder encoder;
    for (const auto& [key, kernel] : kernels) {
      kernels::FieldValues own;
      const kernels::FamilyContract& contract = kernels::family_contract(&kernels == &prepared.reduce ? "reduce" : prepared.variant.family);
      for (const kernels::FieldContract& field : contract.fields) {
        const bool floating = field.type == metal::ScalarType::float32;
        own.emplace(field.name, floating ? metal::FieldValue::of(0.0F) : metal::FieldValue::of(std::uint32_t{0}));
      }
      try {
        kernel.set_parameters(encoder, own);
      } catch (const metal::AbiMismatch& mismatch) {
        const metal::ArgumentLayout& layout = kernel.entry().layout;
        throw kernels::VariantError(fmt::format("{}:{}: function '{}': a value of [fields] or --set cannot be used: {}", layout.file,
                                                layout.line, layout.function, mismatch.what()));
      }
    }
  }

  std::span<const kernels::Variant> catalogue_;
  const WorkbenchOptions& options_;
  std::map<std::string, std::shared_ptr<metal::Library>> libraries_;
};

}  // namespace

const kernels::BoundKernel* PreparedVariant::kernel(std::string_view entry_key) const {
  const auto found = kernels.find(entry_key);
  return found == kernels.end() ? nullptr : &found->second;
}

Workbench::Workbench(std::span<const kernels::Variant> catalogue, std::span<const Case> cases, const WorkbenchOptions& options) {
  std::map<std::string, std::set<std::string>> keys;
  for (const Case& value : cases) {
    std::set<std::string>& needed = keys[value.variant];
    // A head_dim that no kernel has gets as far as the launch code, which refuses it.
    if (std::string key = value.family->entry_key(value.values); value.family->contract->find_entry(key) != nullptr)
      needed.insert(std::move(key));
  }

  Preparation preparation(catalogue, options);
  for (const auto& [name, needed] : keys) {
    const auto variant = std::ranges::find(catalogue, name, &kernels::Variant::name);
    if (variant == catalogue.end()) throw std::invalid_argument(fmt::format("no variant '{}'", name));
    variants_.emplace(name, preparation.prepare(*variant, needed));
  }
}

const PreparedVariant& Workbench::find(std::string_view variant) const {
  const auto found = variants_.find(variant);
  if (found == variants_.end()) throw std::invalid_argument(fmt::format("variant '{}' was not prepared", variant));
  return found->second;
}

}  // namespace assay::harness

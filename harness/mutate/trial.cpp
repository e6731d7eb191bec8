// Compiles a mutant, runs cases on it until one fails, and caches the result.
#include "harness/mutate/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "families/described_launch.h"
#include "harness/cases/suite.h"
#include "harness/mutate/source.h"
#include "harness/prepare/libraries.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "metal/compile/cache.h"
#include "metal/compile/library.h"
#include "metal/errors.h"
#include "metal/translate/lexer.h"

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

// Number of short cases of each function that are tried first.
constexpr std::size_t kProbes = 8;
constexpr std::string_view kSourceName = "kernel.metal";
constexpr const char* kSameCode = "compiles to the same code as the original";

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// The stages of Trial::run(). Functions for larger head dimensions come first, because they use more of the tables.
std::vector<std::vector<Case>> make_stages(const std::vector<Case>& cases, const kernels::Variant& variant,
                                           const std::set<std::string>& short_cases) {
  const auto is_short = [&](const Case& value) { return short_cases.contains(format_case(value)); };

  std::map<std::string, std::vector<Case>, std::greater<>> probes;
  std::vector<Case> rest;
  for (const Case& value : cases) {
    std::vector<Case>& own = probes[families::functions_text(value, variant)];
    if (own.size() < kProbes && is_short(value)) {
      own.push_back(value);
    } else {
      rest.push_back(value);
    }
  }
  std::vector<std::vector<Case>> stages;
  for (auto& [key, own] : probes) {
    if (!own.empty()) stages.push_back(std::move(own));
  }
  if (!rest.empty()) stages.push_back(std::move(rest));
  return stages;
}

std::set<std::string> names_of_short_cases(const kernels::Variant& variant) {
  std::set<std::string> names;
  for (const Case& value : suite_cases(Suite::smoke, variant, 0)) names.insert(format_case(value));
  return names;
}

// The cases for policies that cost many times as much as `native`.
std::vector<Case> short_ones(const std::vector<Case>& cases, const std::set<std::string>& short_cases) {
  std::vector<Case> found;
  std::ranges::copy_if(cases, std::back_inserter(found), [&](const Case& value) { return short_cases.contains(format_case(value)); });
  return found.empty() ? cases : found;
}

// The stages, with a first stage of only the killer's case; unchanged if no stage contains it.
std::vector<std::vector<Case>> with_first(std::vector<std::vector<Case>> stages, const std::string& name) {
  for (std::vector<Case>& stage : stages) {
    const auto found = std::ranges::find_if(stage, [&](const Case& value) { return format_case(value) == name; });
    if (found == stage.end()) continue;
    std::vector<Case> first = {std::move(*found)};
    stage.erase(found);
    stages.insert(stages.begin(), std::move(first));
    std::erase_if(stages, [](const std::vector<Case>& rest) { return rest.empty(); });
    break;
  }
  return stages;
}

metal::Instrumentation instrumentation_of(metal::Policy policy) {
  if (policy == metal::Policy::checked) return metal::Instrumentation::checked;
  return policy == metal::Policy::shadow ? metal::Instrumentation::shadowed : metal::Instrumentation::none;
}

// Compiles before workers are forked, because otherwise each would compile during its first case. Failures are left to the case that
// needs the function.
void compile_ahead(const Workbench& workbench, metal::Policy policy) {
  if (policy == metal::Policy::native) return;
  const auto compile = [policy](const PreparedVariant& prepared, const metal::PipelineDescriptor& function) {
    for (const auto& library : prepared.libraries) {
      if (!library->offers(function)) continue;
      try {
        static_cast<void>(library->pipeline(function, instrumentation_of(policy)));
      } catch (const metal::EnvironmentError&) {
        throw;
      } catch (const metal::Error&) {
      }
      return;
    }
  };
  for (const auto& [name, prepared] : workbench.variants()) {
    for (const auto& [key, kernel] : prepared.kernels) compile(prepared, kernel.entry().pipeline);
    for (const auto& [family, helpers] : prepared.helpers) {
      for (const auto& [key, kernel] : helpers.kernels) compile(prepared, kernel.entry().pipeline);
    }
  }
}

// Keeps the first verdict that is not a success, and the time of the slowest case.
class Watch final : public RunListener {
 public:
  explicit Watch(TrialResult& result) : result_(result) {}

  void started(const Case&) override { start_ = Clock::now(); }
  void finished(const Verdict& verdict, const Summary&) override {
    ++result_.cases;
    result_.slowest_seconds = std::max(result_.slowest_seconds, std::chrono::duration<double>(Clock::now() - start_).count());
    if (is_success(verdict.status) || result_.fate == Fate::killed) return;
    result_.fate = Fate::killed;
    result_.verdict = verdict.status;
    result_.case_name = format_case(verdict.test_case);
    result_.faults = verdict.faults;
  }

 private:
  using Clock = std::chrono::steady_clock;
  TrialResult& result_;
  Clock::time_point start_ = Clock::now();
};

// Writes the mutant's source. The path does not depend on the process: compiled objects contain it, and later runs find them
// in the cache.
fs::path write_source(const fs::path& folder, const std::string& text) {
  const fs::path file = folder / kSourceName;
  write_whole(file, text);
  return file;
}

// Libraries of texts, all under one name, so that equal code is equal to the last byte.
class TextLibraries {
 public:
  TextLibraries(const std::string& text, const kernels::Variant& variant) : text_(text), variant_(variant) {}

  // The library of a function.
  const metal::Library& of(const metal::PipelineDescriptor& function) {
    auto& library = libraries_[function.definitions];
    if (library == nullptr) {
      metal::CompileOptions options = compile_options(variant_, function.definitions);
      options.include_directories.insert(options.include_directories.begin(), fs::absolute(variant_.source).parent_path());
      library = metal::Library::from_source(text_, std::string(kSourceName), options, variant_.further_sources);
    }
    return *library;
  }

 private:
  const std::string& text_;
  const kernels::Variant& variant_;
  std::map<std::vector<std::string>, std::shared_ptr<metal::Library>> libraries_;
};

}  // namespace

Trial::Trial(TrialSubject subject) : subject_(std::move(subject)) {
  const auto found = std::ranges::find(subject_.catalogue, subject_.variant, &kernels::Variant::name);
  if (found == subject_.catalogue.end()) throw std::invalid_argument(fmt::format("no variant '{}' to mutate", subject_.variant));
  if (subject_.cases.empty()) throw std::invalid_argument(fmt::format("no case to judge mutants of {} with", subject_.variant));
  if (subject_.policies.empty()) throw std::invalid_argument(fmt::format("no policy to judge mutants of {} under", subject_.variant));
  original_ = kernels::read_text(found->source);
  has_includes_ =
      metal::translate::has_quoted_include(original_) || !found->compile.include_directories.empty() || !found->further_sources.empty();
  const std::set<std::string> short_cases = names_of_short_cases(*found);
  for (const metal::Policy policy : subject_.policies) {
    stages_[policy] =
        make_stages(policy == metal::Policy::native ? subject_.cases : short_ones(subject_.cases, short_cases), *found, short_cases);
  }

  for (const Case& value : subject_.cases) {
    for (const families::LaunchedFunction& function : families::DescribedLaunch(value, *found).functions())
      helper_families_.emplace(function.family);
  }
  TextLibraries libraries(original_, *found);
  for (const metal::PipelineDescriptor& function : own_functions()) {
    const metal::Library& library = libraries.of(function);
    toolchain_ = library.toolchain();
    for (const metal::Policy policy : subject_.policies)
      code_digests_.emplace(std::pair(policy, function), library.pipeline(function, instrumentation_of(policy))->code_digest());
  }
}

std::set<metal::PipelineDescriptor> Trial::own_functions() const {
  const Workbench workbench(subject_.catalogue, subject_.cases, bench_options());
  const PreparedVariant& prepared = workbench.find(subject_.variant);
  std::set<metal::PipelineDescriptor> functions;
  for (const auto& [key, kernel] : prepared.kernels) functions.insert(kernel.entry().pipeline);
  for (const auto& [family, helpers] : prepared.helpers) {
    if (helpers.owner != subject_.variant) continue;
    for (const auto& [key, kernel] : helpers.kernels) functions.insert(kernel.entry().pipeline);
  }
  return functions;
}

WorkbenchOptions Trial::bench_options() const {
  WorkbenchOptions options;
  options.fields = subject_.fields;
  options.user_variant = subject_.variant;
  return options;
}

const kernels::Variant& Trial::variant() const { return *std::ranges::find(subject_.catalogue, subject_.variant, &kernels::Variant::name); }

TrialResult Trial::run(const std::string& mutated, std::chrono::duration<double> timeout) const {
  const std::optional<Killer> killer = recall_killer(mutated);
  std::vector<metal::Policy> policies = subject_.policies;
  if (killer) {
    const auto first = std::ranges::find(policies, killer->policy);
    if (first != policies.end()) std::rotate(policies.begin(), first, first + 1);
  }

  TrialResult total;
  total.fate = Fate::survived;
  total.is_cached = true;
  std::map<metal::Policy, Fate> fates;
  for (const metal::Policy policy : policies) {
    TrialResult own = run_under(policy, mutated, killer, timeout);
    fates[policy] = own.fate;
    own.cases += total.cases;
    own.slowest_seconds = std::max(own.slowest_seconds, total.slowest_seconds);
    own.is_cached = own.is_cached && total.is_cached;
    if (own.fate == Fate::killed && !own.is_cached) remember_killer(mutated, {own.policy, own.case_name});
    if (own.fate == Fate::equivalent) own.fate = Fate::survived;
    total = std::move(own);
    if (total.fate != Fate::survived) return total;
  }
  const auto native = fates.find(metal::Policy::native);
  const bool is_same = native == fates.end()
                           ? std::ranges::all_of(fates, [](const auto& known) { return known.second == Fate::equivalent; })
                           : native->second == Fate::equivalent;
  if (is_same) {
    total.fate = Fate::equivalent;
    total.reason = kSameCode;
  }
  return total;
}

TrialResult Trial::run_under(metal::Policy policy, const std::string& mutated, const std::optional<Killer>& killer,
                             std::chrono::duration<double> timeout) const {
  if (has_includes_) return run_uncached(policy, mutated, killer, timeout);
  bool is_cached = true;
  const fs::path entry = metal::compile::Cache({}).get(cache_key(mutated, policy) + ".mutant", [&](const fs::path& output) {
    is_cached = false;
    const base::Bytes bytes = base::to_bytes(run_uncached(policy, mutated, killer, timeout));
    std::ofstream(output, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  const std::string text = kernels::read_text(entry);
  auto result = base::from_bytes<TrialResult>(std::as_bytes(std::span(text)).first(metal::compile::content_size(text)));
  result.is_cached = is_cached;
  return result;
}

std::string Trial::cache_key(const std::string& mutated, metal::Policy policy) const {
  base::Hash hash;
  hash.add(subject_.judge_version).add(toolchain_).add(mutated).add(to_string(policy)).add(subject_.profile.name);
  for (const kernels::Variant& known : subject_.catalogue) {
    if (known.name == subject_.variant || helper_families_.contains(known.family)) {
      hash.add(known.name).add(known.description.empty() ? std::string() : kernels::read_text(known.description));
      if (known.name != subject_.variant) hash.add(kernels::read_text(known.source));
    }
  }
  for (const auto& [name, value] : subject_.fields) hash.add(fmt::format("{}={}:{}", name, static_cast<int>(value.kind), value.bits));
  for (const auto& [name, values] : variant().constants) {
    for (const metal::FieldValue& value : values)
      hash.add(fmt::format("constant {}={}:{}", name, static_cast<int>(value.kind), value.bits));
  }
  // For a described variant the description contains them, but the command line may add some.
  for (const std::string& definition : variant().compile.definitions) hash.add(definition);
  if (variant().compile.metal_version) hash.add(fmt::format("metal {}", *variant().compile.metal_version));
  for (const Case& value : subject_.cases) hash.add(format_case(value));
  return hash.hex();
}

TrialResult Trial::run_uncached(metal::Policy policy, const std::string& mutated, const std::optional<Killer>& killer,
                                std::chrono::duration<double> timeout) const {
  TrialResult result;
  result.policy = policy;
  std::vector<kernels::Variant> catalogue = subject_.catalogue;
  kernels::Variant& mutant = *std::ranges::find(catalogue, subject_.variant, &kernels::Variant::name);
  kernels::replace_source(mutant, write_source(mutant_folder(mutated), mutated));

  RunOptions options;
  options.execution.policy = policy;
  options.execution.profile = subject_.profile;
  options.fail_fast = true;
  options.timeout = timeout;
  const std::atomic<bool> stop = false;
  Watch watch(result);
  const bool is_hinted = killer && killer->policy == policy;
  const Stages stages = is_hinted ? with_first(stages_.at(policy), killer->case_name) : stages_.at(policy);
  const auto is_the_same = [&] {
    if (mutated == original_ || !compiles_to_the_same(mutated, policy)) return false;
    result.fate = Fate::equivalent;
    result.reason = kSameCode;
    return true;
  };
  // Native cases kill most mutants faster than all of their functions compile. So native cases run first; under other policies, which
  // kill few of the remaining mutants, equal code is checked first.
  if (policy != metal::Policy::native && !is_hinted && is_the_same()) return result;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    try {
      const Workbench workbench(catalogue, stages[i], bench_options());
      compile_ahead(workbench, policy);
      static_cast<void>(run_cases(stages[i], workbench, options, stop, watch));
    } catch (const metal::EnvironmentError&) {
      throw;
    } catch (const metal::Error& refusal) {
      result.fate = Fate::stillborn;
      result.reason = first_line(refusal.what());
    } catch (const kernels::VariantError& refusal) {
      result.fate = Fate::stillborn;
      result.reason = first_line(refusal.what());
    }
    if (result.fate == Fate::killed || result.fate == Fate::stillborn) return result;
    if (i == 0 && (policy == metal::Policy::native || is_hinted) && is_the_same()) return result;
  }
  result.fate = Fate::survived;
  return result;
}

bool Trial::compiles_to_the_same(const std::string& mutated, metal::Policy policy) const {
  try {
    TextLibraries libraries(mutated, variant());
    return std::ranges::all_of(code_digests_, [&](const auto& known) {
      const auto& [own_policy, function] = known.first;
      if (own_policy != policy) return true;
      const metal::Library& library = libraries.of(function);
      return library.has_function(function.function) &&
             library.pipeline(function, instrumentation_of(policy))->code_digest() == known.second;
    });
  } catch (const metal::EnvironmentError&) {
    throw;
  } catch (const metal::Error&) {
    return false;  // a function that no case has used yet
  }
}

}  // namespace assay::harness

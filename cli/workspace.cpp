// Loads variants, applies options to the user's kernel, and selects cases.
#include "cli/workspace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>

#include "base/processors.h"
#include "base/text.h"
#include "cli/say.h"
#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/file_case.h"
#include "harness/cases/file_contents.h"
#include "harness/cases/suite.h"
#include "harness/execute/expectation_store.h"
#include "harness/execute/lone_limits.h"
#include "harness/ledger/shell_line.h"
#include "harness/prepare/family_fit.h"
#include "harness/prepare/libraries.h"
#include "kernels/trust.h"
#include "metal/errors.h"
#include "reports/replay.h"

namespace assay::cli {
namespace {

fixtures::Shelf shelf_of(const Options& options) {
  fixtures::Shelf shelf;
  for (const std::string& file : options.fixtures) shelf.add(file);
  return shelf;
}

// The cases of the --fixture files. Reads the files in full, so that a damaged one is reported before anything runs.
std::vector<harness::Case> fixture_cases(const Options& options) {
  std::vector<harness::Case> cases;
  static_cast<void>(shelf_of(options));  // reports invalid file names
  for (const std::string& file : options.fixtures) cases.push_back(harness::load_file(file).file_case.value);
  return cases;
}

// The family of a --kernel file: --family, or that of the captured inputs.
std::string kernel_family(const Options& options, const std::vector<harness::Case>& captured) {
  if (!options.family.empty() || captured.empty()) return options.family;
  return std::string(captured.front().family->name());
}

// The captured cases for every variant that supports them; if none does, for the whole family, so that each verdict says why.
std::vector<std::string> words_for(const std::vector<harness::Case>& captured, std::span<const kernels::Variant> variants) {
  std::vector<std::string> words;
  std::vector<std::string> outside;
  for (harness::Case value : captured) {
    for (const kernels::Variant& variant : variants) {
      if (variant.family != value.family->name()) continue;
      value.variant = variant.name;
      (harness::within_limits(variant, value) ? words : outside).push_back(harness::format_case(value));
    }
  }
  if (words.empty()) words = std::move(outside);
  if (words.empty() && !captured.empty()) {
    throw std::invalid_argument(
        fmt::format("there is no variant of family {}, the family of the --fixture file", captured.front().family->name()));
  }
  return words;
}

// A case that names a fixture file must match that file; checked before anything runs.
void require_files(const std::vector<harness::Case>& cases, const fixtures::Shelf& shelf) {
  std::map<std::string, harness::FileCase, std::less<>> known;
  for (const harness::Case& value : cases) {
    const auto stem = harness::file_stem(value.fixture);
    if (!stem) continue;
    const std::filesystem::path file = shelf.find(*stem);
    auto found = known.find(*stem);
    if (found == known.end()) found = known.emplace(*stem, harness::read_file_case(file, fixtures::describe_file(file))).first;
    harness::require_agreement(value, file, found->second);
  }
}

// Applies --limit and --constant to a --kernel file; with a variant.toml, they are rejected, because they belong there.
void take_lone_options(kernels::Variant& user, const Options& options) {
  if (!user.description.empty()) {
    const auto refuse = [&](std::string_view option, std::string_view table, const std::vector<std::string>& given) {
      if (given.empty()) return;
      throw std::invalid_argument(
          fmt::format("{} {}: {} describes the kernel; set it there, in {}", option, given.front(), user.description.string(), table));
    };
    refuse("--limit", "[limits]", options.limits);
    refuse("--constant", "[constants]", options.constants);
    return;
  }
  for (const std::string& assignment : options.limits) {
    kernels::AxisLimit limit = kernels::parse_limit_assignment(assignment, *user.contract);
    if (std::ranges::find(user.limits, limit.axis, &kernels::AxisLimit::axis) != user.limits.end())
      throw std::invalid_argument(fmt::format("--limit {}: {} is limited twice; separate its values by commas", assignment, limit.axis));
    user.limits.push_back(std::move(limit));
  }
  harness::check_axis_names(user);
  for (const std::string& assignment : options.constants) {
    auto [name, values] = kernels::parse_constant_assignment(assignment);
    if (!user.constants.emplace(name, std::move(values)).second)
      throw std::invalid_argument(fmt::format("--constant {}: '{}' is set twice", assignment, name));
  }
}

// Without --family, the error lists the families that fit the file.
kernels::Variant user_kernel(const Options& options, const std::string& family, const kernels::CompileSettings& settings) {
  try {
    return kernels::variant_from_path(options.kernel, family, families::contracts());
  } catch (const kernels::FamilyUnknown& unknown) {
    kernels::Variant lone;
    lone.name = options.kernel;
    lone.source = options.kernel;
    lone.compile = settings;
    std::string hint;
    try {
      hint = harness::families_sentence(*harness::Libraries(false).of(lone, {}), harness::shell_quoted(options.kernel));
    } catch (const metal::Error& error) {
      hint = error.what();
    }
    std::vector<std::string_view> names;
    for (const families::Family& one : families::all_families()) names.push_back(one.name());
    throw kernels::VariantError(fmt::format("{} ({}); {}", unknown.what(), fmt::join(names, ", "), hint));
  }
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// Selects the shard of --shard, else of the environment. The environment may be meant for another program, so it never removes a case that
// is named explicitly, and a note reports what it removes. That note is not part of the run's own notes, which `merge` keeps.
harness::Shard shard_of(const Options& options, const std::vector<std::string>& words) {
  if (!options.shard.empty()) return harness::parse_shard(options.shard);
  const harness::Shard shard = harness::parse_shard(environment("GTEST_SHARD_INDEX"), environment("GTEST_TOTAL_SHARDS"));
  if (shard.count == 1 || (!words.empty() && std::ranges::all_of(words, harness::names_one_case))) return {};
  say(stderr, "note: only shard {} of {} is run, because GTEST_SHARD_INDEX and GTEST_TOTAL_SHARDS are set in the environment\n",
      shard.index + 1, shard.count);
  return shard;
}

// The descriptions of --trust. A single file describes the --kernel, regardless of the name of its folder.
std::vector<kernels::Variant> trusted_variants(const Options& options, std::string_view user_variant) {
  std::vector<kernels::Variant> trusted;
  for (const std::string& given : options.trust) {
    std::filesystem::path file = given;
    if (given == "none") continue;
    if (std::filesystem::is_directory(file)) {
      if (!std::filesystem::exists(file / "variant.toml")) {
        for (const auto& folder : std::filesystem::directory_iterator(file)) {
          const std::filesystem::path inner = folder.path() / "variant.toml";
          if (std::filesystem::is_regular_file(inner)) trusted.push_back(kernels::read_description(inner, families::contracts()));
        }
        continue;
      }
      file /= "variant.toml";
    }
    trusted.push_back(kernels::read_description(file, families::contracts()));
  }
  if (trusted.size() == 1 && options.trust.size() == 1 && !user_variant.empty()) trusted.front().name = user_variant;
  return trusted;
}

// Under --strict, what a description of the base does not say excuses nothing. Our own variants are not under test beside a --kernel.
void restrict_to_base(Workspace& workspace, const Options& options) {
  if (!is_strict(options)) return;
  const std::vector<kernels::Variant> trusted = trusted_variants(options, workspace.user_variant);
  for (kernels::Variant& variant : workspace.catalogue) {
    if (!workspace.user_variant.empty() && options.variants.empty() && variant.name != workspace.user_variant) continue;
    if (!options.family.empty() && variant.family != options.family) continue;
    const auto base = std::ranges::find(trusted, variant.name, &kernels::Variant::name);
    for (std::string& sentence : kernels::restrict_to_base(variant, base == trusted.end() ? nullptr : &*base))
      workspace.notes.push_back("strict: " + std::move(sentence));
  }
}

}  // namespace

bool is_strict(const Options& options) { return options.strict || !options.trust.empty(); }

Options with_strict_policy(Options options) {
  if (!is_strict(options) || options.device != Options{}.device) return options;
  if (options.is_policy_chosen && options.policy != "checked")
    throw std::invalid_argument(fmt::format(
        "--strict needs --policy checked, because policy {} sees no remarks, which fail a case under --strict: omit --policy {}",
        options.policy, options.policy));
  options.policy = "checked";
  return options;
}

std::string strict_note(const Options& options) {
  if (!is_strict(options)) return {};
  return options.device == Options{}.device
             ? "strict: policy checked, and a case with a remark fails"
             : "strict: on a GPU no remarks are seen; run the cases on the simulator too, where a remark fails a case";
}

kernels::CompileSettings compile_settings(const Options& options) {
  kernels::CompileSettings settings;
  for (const std::string& folder : options.includes) settings.include_directories.push_back(kernels::parse_include_directory(folder));
  for (const std::string& definition : options.defines) settings.definitions.push_back(kernels::parse_definition(definition));
  if (!options.metal_version.empty()) settings.metal_version = kernels::parse_metal_version(options.metal_version);
  return settings;
}

Workspace open_workspace(const Options& options) {
  Workspace workspace;
  const kernels::CompileSettings settings = compile_settings(options);
  workspace.captured = fixture_cases(options);
  workspace.catalogue = kernels::find_variants(
      options.variants.empty() ? kernels::default_variants_directory() : std::filesystem::path(options.variants), families::contracts());
  if (!options.kernel.empty()) {
    kernels::Variant user = user_kernel(options, kernel_family(options, workspace.captured), settings);
    take_lone_options(user, options);
    workspace.user_variant = user.name;
    const auto same_name = std::ranges::find(workspace.catalogue, user.name, &kernels::Variant::name);
    if (same_name != workspace.catalogue.end()) {
      if (!std::filesystem::equivalent(same_name->source, user.source)) {
        workspace.replaced_note = fmt::format("{} is your {}; the variant of the same name in {} is not used", user.name,
                                              user.source.string(), same_name->description.parent_path().string());
        workspace.notes.push_back(workspace.replaced_note);
      }
      workspace.catalogue.erase(same_name);
    }
    workspace.catalogue.insert(workspace.catalogue.begin(), std::move(user));
    restrict_to_base(workspace, options);
    workspace.catalogue.front().compile.lay(settings);
    return workspace;
  }
  restrict_to_base(workspace, options);
  for (kernels::Variant& variant : workspace.catalogue) variant.compile.lay(settings);
  if (!options.limits.empty() || !options.constants.empty()) {
    const bool is_limit = !options.limits.empty();
    throw std::invalid_argument(fmt::format("--{} {} needs --kernel with a single .metal file", is_limit ? "limit" : "constant",
                                            (is_limit ? options.limits : options.constants).front()));
  }
  return workspace;
}

void find_limits(Workspace& workspace, const Options& options) {
  if (workspace.user_variant.empty() || !workspace.catalogue.front().description.empty()) return;
  kernels::Variant& user = workspace.catalogue.front();
  for (auto& [limit, reason] : harness::limits_of_lone(user, workspace.catalogue, workbench_options(options, workspace))) {
    if (is_strict(options)) {
      const auto said = std::ranges::find(user.limits, limit.axis, &kernels::AxisLimit::axis);
      const bool is_asked_for = said != user.limits.end() && std::ranges::all_of(said->values, [&](std::int64_t value) {
                                  return std::ranges::find(limit.values, value) != limit.values.end();
                                });
      if (is_asked_for) continue;
      throw kernels::VariantError(fmt::format(
          "{} supports only {} {}: {}; under --strict, the kernel under test does not choose its cases: if that is meant, say so "
          "with --limit {}={}",
          user.name, limit.axis, fmt::join(limit.values, ", "), reason, limit.axis, fmt::join(limit.values, ",")));
    }
    workspace.notes.push_back(fmt::format("{} supports only {} {}, and suites omit other values: {}", user.name, limit.axis,
                                          fmt::join(limit.values, ", "), reason));
    // Replaces a wider limit given by the user.
    std::erase_if(user.limits, [&](const kernels::AxisLimit& said) { return said.axis == limit.axis; });
    user.limits.push_back(std::move(limit));
  }
}

void select(Workspace& workspace, const Options& options, const std::vector<std::string>& words) {
  harness::SelectionRequest request;
  request.family = options.family;
  request.seed = options.seed;
  if (const std::string note = random_seed_note(options); !note.empty()) workspace.notes.push_back(note);
  request.shard = shard_of(options, words);
  if (options.is_seed_random && request.shard.count > 1)
    throw std::invalid_argument("--seed random gives every shard other cases: give all of them the same number");
  const bool of_files = words.empty() && !workspace.captured.empty();
  if (workspace.user_variant.empty()) {
    request.words = of_files ? words_for(workspace.captured, workspace.catalogue) : words;
    workspace.selection = harness::select_cases(request, workspace.catalogue);
    require_files(workspace.selection.cases, shelf_of(options));
    return;
  }
  kernels::Variant& user = workspace.catalogue.front();
  request.family = user.family;
  find_limits(workspace, options);
  for (const std::string& word : of_files ? words_for(workspace.captured, std::span(&user, 1)) : words) {
    const std::string_view named = harness::variant_of(word);
    // Cases named for the family or another variant of it are run with the user's kernel.
    const bool other =
        named != user.name && (named == user.family || std::ranges::any_of(workspace.catalogue, [&](const kernels::Variant& variant) {
                                 return variant.name == named && variant.family == user.family;
                               }));
    request.words.push_back(other ? user.name + word.substr(named.size()) : word);
  }
  workspace.selection = harness::select_cases(request, std::span(&user, 1));
  require_files(workspace.selection.cases, shelf_of(options));
}

void select_one(Workspace& workspace, const Options& options, const std::vector<std::string>& words, std::string_view command) {
  Options one = options;
  if (one.shard.empty()) one.shard = "1/1";  // the environment's shard applies only to several cases
  select(workspace, one, words);
  if (const std::size_t count = workspace.selection.cases.size(); count != 1)
    throw std::invalid_argument(
        fmt::format("{} runs one case; this selects {} (`assay list --cases SELECTION` prints their names)", command, count));
}

unsigned job_count(const Options& options) { return options.jobs == 0 ? base::usable_processors() : options.jobs; }

harness::WorkbenchOptions workbench_options(const Options& options, const Workspace& workspace) {
  harness::WorkbenchOptions result;
  result.fp_contract = options.fp_contract == "fast";
  result.jobs = job_count(options);
  for (const std::string& assignment : options.fields) {
    auto [name, value] = kernels::parse_field_assignment(assignment);
    if (!result.fields.emplace(name, value).second)
      throw std::invalid_argument(fmt::format("--set {}: '{}' is set twice", assignment, name));
  }
  result.user_variant = workspace.user_variant;
  result.same_layout = options.same_layout;
  return result;
}

harness::RunOptions run_options(const Options& options) {
  harness::RunOptions result;
  if (!options.schedule.empty()) {
    for (const std::string_view schedule : base::split(options.schedule, ','))
      result.execution.schedules.push_back(metal::Schedule::parse(schedule));
  }
  // A random order is only useful compared with another order.
  std::vector<metal::Schedule>& schedules = result.execution.schedules;
  if (schedules.size() == 1 && schedules.front().kind == metal::Schedule::Kind::random)
    schedules.insert(schedules.begin(), metal::Schedule{});
  result.execution.policy = metal::parse_policy(options.policy);
  result.execution.both_engines = options.engine == "both";
  if (!result.execution.both_engines) result.execution.engine = metal::parse_engine(options.engine);
  result.execution.threads = options.threads;
  result.execution.shelf = shelf_of(options);
  result.execution.profile = oracles::profile_named(profile_of(options));
  result.execution.expectations = harness::expectations_in_cache();
  result.jobs = job_count(options);
  result.fail_fast = options.fail_fast;
  result.remarks_fail = is_strict(options);
  result.timeout = std::chrono::duration<double>(options.timeout);
  constexpr double kGiB = 0x1p30;
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  result.memory = static_cast<std::uint64_t>(options.memory > 0 ? options.memory * kGiB : 0.75 * machine / result.jobs);
  return result;
}

std::string replay_line(const Options& options, const std::string& case_name, const std::string& case_schedules) {
  const std::string_view variant = harness::variant_of(case_name);
  if (const auto own = options.own_kernels.find(variant); own != options.own_kernels.end()) {
    Options alone = options;
    alone.own_kernels.clear();
    alone.kernel = own->second.path;
    return replay_line(alone, own->second.name + case_name.substr(variant.size()), case_schedules);
  }
  std::vector<std::string> words = replay_options(options);
  reports::add_schedule(words, options.schedule, case_schedules);
  return reports::replay_line(case_name, std::move(words));
}

}  // namespace assay::cli

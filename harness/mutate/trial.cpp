#include "harness/mutate/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/cases/suite.h"
#include "harness/run/discovery.h"
#include "harness/run/runner.h"
#include "harness/run/workbench.h"
#include "metal/compile/cache.h"
#include "metal/errors.h"
#include "metal/library.h"

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

// Short cases of each function that are tried before anything else.
constexpr std::size_t kProbes = 8;
constexpr std::string_view kSourceName = "kernel.metal";

constexpr std::array<Fate, 5> kFates = {Fate::killed, Fate::survived, Fate::equivalent, Fate::stillborn, Fate::unjudged};
constexpr std::array<Status, 8> kStatuses = {Status::passed,  Status::failed,   Status::hazard,     Status::crashed,
                                             Status::timeout, Status::rejected, Status::mistrusted, Status::skipped};

template <typename Value, std::size_t N>
Value named(const std::array<Value, N>& values, std::string_view name) {
  const auto found = std::ranges::find_if(values, [&](Value value) { return to_string(value) == name; });
  if (found == values.end()) throw std::invalid_argument(fmt::format("'{}' is no fate or status of a mutant", name));
  return *found;
}

template <typename Number>
Number number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) throw std::invalid_argument(fmt::format("'{}' is no number", text));
  return value;
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw kernels::VariantError(fmt::format("{}: cannot be read", file.string()));
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// The order of Trial::run(). Functions for larger head dimensions come first: they use more of the tables.
std::vector<std::vector<Case>> make_stages(const std::vector<Case>& cases, const kernels::Variant& variant) {
  std::set<std::string> short_cases;
  for (const Case& value : suite_cases(Suite::smoke, variant, 0)) short_cases.insert(format_case(value));
  const auto is_short = [&](const Case& value) { return short_cases.contains(format_case(value)); };

  std::map<std::string, std::vector<Case>, std::greater<>> probes;
  std::vector<Case> rest;
  for (const Case& value : cases) {
    std::vector<Case>& own = probes[kernels::to_string(value.family->function_key(value.values))];
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

// Keeps the first verdict that is no success, and the time of the slowest case.
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
    result_.case_name = format_case(verdict.about);
    result_.reason = first_line(verdict.reason);
  }

 private:
  using Clock = std::chrono::steady_clock;
  TrialResult& result_;
  Clock::time_point start_ = Clock::now();
};

// The mutant's source where the compiler finds it. Its path does not depend on who runs: compiled objects, which carry the path, are found
// again when results must be judged anew.
fs::path write_source(const fs::path& directory, const std::string& key, const std::string& text) {
  const fs::path folder = directory / "mutants" / key;
  fs::create_directories(folder);
  const fs::path file = folder / kSourceName;
  const fs::path temporary = folder / fmt::format("{}.{}", kSourceName, std::chrono::steady_clock::now().time_since_epoch().count());
  std::ofstream stream(temporary, std::ios::binary);
  stream << text;
  stream.close();
  std::error_code error;
  if (stream) fs::rename(temporary, file, error);
  if (!stream || error) throw metal::EnvironmentError(fmt::format("cannot write {}; is the disk full?", file.string()));
  return file;
}

// What `#include "..."` of the source would find beside it.
void link_neighbours(const fs::path& folder, const fs::path& source) {
  const fs::path home = fs::absolute(source).parent_path();
  for (const auto& entry : fs::directory_iterator(home)) {
    std::error_code ignored;  // there already
    if (entry.path().filename() != kSourceName) fs::create_symlink(entry.path(), folder / entry.path().filename(), ignored);
  }
}

// The same name for every text, so that equal code is equal to the last byte.
std::shared_ptr<metal::Library> library_of(const std::string& text, const kernels::Variant& variant) {
  metal::CompileOptions options;
  options.include_directories = {variant.source.parent_path()};
  return metal::Library::from_source(text, std::string(kSourceName), options);
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::killed:
      return "killed";
    case Fate::survived:
      return "survived";
    case Fate::equivalent:
      return "equivalent";
    case Fate::stillborn:
      return "stillborn";
    case Fate::unjudged:
      return "unjudged";
  }
  return "unknown";
}

std::string TrialResult::encode() const {
  return fmt::format("fate {}\nverdict {}\ncase {}\nreason {}\ncases {}\nslowest {}\n", to_string(fate), to_string(verdict), case_name,
                     reason, cases, slowest_seconds);
}

TrialResult TrialResult::decode(std::string_view text) {
  std::map<std::string_view, std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t space = text.find(' ');
    if (end == std::string_view::npos || space == std::string_view::npos || space > end)
      throw std::invalid_argument("half a line of a mutant's result");
    lines.emplace(text.substr(0, space), text.substr(space + 1, end - space - 1));
    text.remove_prefix(end + 1);
  }
  const auto value = [&](std::string_view key) {
    const auto found = lines.find(key);
    if (found == lines.end()) throw std::invalid_argument(fmt::format("a mutant's result without '{}'", key));
    return found->second;
  };
  TrialResult result;
  result.fate = named(kFates, value("fate"));
  result.verdict = named(kStatuses, value("verdict"));
  result.case_name = value("case");
  result.reason = value("reason");
  result.cases = number<std::size_t>(value("cases"));
  result.slowest_seconds = number<double>(value("slowest"));
  return result;
}

Trial::Trial(TrialSubject subject) : subject_(std::move(subject)) {
  const auto found = std::ranges::find(subject_.catalogue, subject_.variant, &kernels::Variant::name);
  if (found == subject_.catalogue.end()) throw std::invalid_argument(fmt::format("no variant '{}' to mutate", subject_.variant));
  if (subject_.cases.empty()) throw std::invalid_argument(fmt::format("no case to judge mutants of {} by", subject_.variant));
  original_ = read_text(found->source);
  has_includes_ = original_.find("#include \"") != std::string::npos;
  stages_ = make_stages(subject_.cases, *found);
  const auto library = library_of(original_, *found);

  for (const Case& value : subject_.cases) {
    const kernels::FunctionKey key = value.family->function_key(value.values);
    metal::PipelineDescriptor function{found->function(key.entry), key.constants};
    add_constants(*value.family->contract, *found, *library, function);
    functions_.insert(std::move(function));
    if (!value.family->helpers) continue;
    for (const HelperKey& helper : value.family->helpers(value.values)) helper_families_.emplace(helper.family);
  }
  toolchain_ = library->toolchain();
  for (const metal::PipelineDescriptor& function : functions_) {
    if (library->has_function(function.function)) code_digests_.emplace(function, library->pipeline(function)->code_digest());
  }
}

const kernels::Variant& Trial::variant() const { return *std::ranges::find(subject_.catalogue, subject_.variant, &kernels::Variant::name); }

TrialResult Trial::run(const std::string& mutated, std::chrono::duration<double> timeout) const {
  if (has_includes_) return run_uncached(mutated, timeout);
  bool is_cached = true;
  const fs::path entry = metal::compile::Cache({}).get(cache_key(mutated) + ".mutant", [&](const fs::path& output) {
    is_cached = false;
    std::ofstream(output, std::ios::binary) << run_uncached(mutated, timeout).encode();
  });
  std::string text = read_text(entry);
  text.resize(metal::compile::content_size(text));
  TrialResult result = TrialResult::decode(text);
  result.is_cached = is_cached;
  return result;
}

std::string Trial::cache_key(const std::string& mutated) const {
  metal::compile::Hash hash;
  hash.add(subject_.judge_version).add(toolchain_).add(mutated);
  for (const kernels::Variant& known : subject_.catalogue) {
    if (known.name == subject_.variant || helper_families_.contains(known.family)) {
      hash.add(known.name).add(known.description.empty() ? std::string() : read_text(known.description));
      if (known.name != subject_.variant) hash.add(read_text(known.source));
    }
  }
  for (const auto& [name, value] : subject_.fields) hash.add(fmt::format("{}={}:{}", name, static_cast<int>(value.kind), value.bits));
  for (const auto& [name, value] : variant().constants)
    hash.add(fmt::format("constant {}={}:{}", name, static_cast<int>(value.kind), value.bits));
  for (const Case& value : subject_.cases) hash.add(format_case(value));
  return hash.hex();
}

TrialResult Trial::run_uncached(const std::string& mutated, std::chrono::duration<double> timeout) const {
  TrialResult result;
  const metal::compile::Cache cache({});
  const std::string key = metal::compile::Hash().add(mutated).hex();
  std::vector<kernels::Variant> catalogue = subject_.catalogue;
  kernels::Variant& mutant = *std::ranges::find(catalogue, subject_.variant, &kernels::Variant::name);
  const fs::path home = mutant.source;
  mutant.source = write_source(cache.directory(), key, mutated);
  if (has_includes_) link_neighbours(mutant.source.parent_path(), home);

  WorkbenchOptions bench_options;
  bench_options.fields = subject_.fields;
  bench_options.user_variant = subject_.variant;
  RunOptions options;
  options.fail_fast = true;
  options.timeout = timeout;
  const std::atomic<bool> stop = false;
  Watch watch(result);
  bool is_new = mutated != original_;
  for (const std::vector<Case>& stage : stages_) {
    try {
      const Workbench workbench(catalogue, stage, bench_options);
      static_cast<void>(run_cases(stage, workbench, options, stop, watch));
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
    if (is_new && compiles_to_the_same(mutated)) {
      result.fate = Fate::equivalent;
      result.reason = "compiles to the same code as the original";
      return result;
    }
    is_new = false;
  }
  result.fate = Fate::survived;
  return result;
}

bool Trial::compiles_to_the_same(const std::string& mutated) const {
  try {
    const auto library = library_of(mutated, variant());
    return std::ranges::all_of(code_digests_, [&](const auto& known) {
      return library->has_function(known.first.function) && library->pipeline(known.first)->code_digest() == known.second;
    });
  } catch (const metal::EnvironmentError&) {
    throw;
  } catch (const metal::Error&) {
    return false;  // a function that no case has asked for yet
  }
}

}  // namespace assay::harness

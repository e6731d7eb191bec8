// Runs the reference of a variant in a sandbox: a command that reads and writes HDF5 files, or a function of a shared object.
#include "families/custom/custom_ask.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "base/command.h"
#include "base/sandbox.h"
#include "base/server.h"
#include "base/text.h"
#include "fixtures/hdf5_file.h"

namespace assay::families {
namespace {

namespace fs = std::filesystem;
using fixtures::FileError;

constexpr std::uint64_t kMemory = std::uint64_t{16} << 30;  // address space

// Removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "assay_reference_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(fmt::format("cannot make a folder like {}", name));
    path_ = name;
    fs::create_directory(questions());
    fs::create_directory(answers());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] fs::path questions() const { return path_ / "questions"; }
  [[nodiscard]] fs::path answers() const { return path_ / "answers"; }

 private:
  fs::path path_;
};

void write_question(const CustomCase& asked, const CustomInputs& inputs, const fs::path& file) {
  fixtures::Attributes attributes = {{"case", asked.name()}, {"seed", static_cast<std::int64_t>(asked.seed())}};
  for (std::size_t i = 0; i < asked.values().size(); ++i)
    attributes.insert_or_assign(asked.variant().description().axes[i].name, asked.values()[i]);
  std::vector<fixtures::Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const CustomLayout& layout = asked.layouts()[i];
    if (layout.tensor->is_output) continue;
    tensors.push_back(
        fixtures::make_tensor<double>({"inputs/" + layout.tensor->name, fixtures::Element::float64, layout.shape}, inputs[i]));
  }
  fixtures::write_file(file, attributes, tensors);
}

// Words that name files of the folder, with their whole paths.
std::vector<std::string> resolved(const CustomVariant& of) {
  std::vector<std::string> words = of.description().reference.command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 0 && words[i].find('/') == std::string::npos) continue;  // a program of the system
    const fs::path file = of.folder / words[i];
    std::error_code error;
    if (!fs::exists(file, error)) {
      if (i == 0) fail_reference(of, fmt::format("there is no '{}' in the folder", words[i]));
      continue;
    }
    if (!base::is_inside(of.folder, file)) fail_reference(of, fmt::format("'{}' leads out of the folder", words[i]));
    words[i] = fs::absolute(file).string();
  }
  return words;
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> lines;
  for (const std::string_view line : base::lines_of(text)) {
    if (!base::trimmed(line).empty()) lines.push_back(fixtures::shown(line));
  }
  if (lines.size() > kMost) lines.erase(lines.begin(), lines.end() - kMost);
  return lines.empty() ? "it printed nothing" : fmt::format("it printed\n  {}", fmt::join(lines, "\n  "));
}

// A reference is a program of a stranger, and unlike a kernel nothing checks its code: without the layers that keep it from files and from
// other system calls it does not run, unless the user has switched the sandbox off.
void require_layers(const CustomVariant& of) {
  if (base::sandbox_mode() == base::SandboxMode::off) return;
  static const std::vector<base::SandboxLayer> layers = base::sandbox_layers();
  for (const base::SandboxLayer& layer : layers) {
    const bool is_needed = layer.name.ends_with("(Landlock)") || layer.name.ends_with("(seccomp)");
    if (is_needed && !layer.holds)
      fail_reference(of, fmt::format("it cannot be confined, because this machine lacks a layer, {} ({}); --sandbox off runs it anyway",
                                     layer.name, layer.reason));
  }
}

// axes, inputs: in the order of variant.toml. expected, bound: one array per output, to be filled; bound is null where none is wanted.
using ReferenceFunction = int (*)(const std::int64_t* axes, const double* const* inputs, double* const* expected, double* const* bound);

}  // namespace

void fail_reference(const CustomVariant& of, std::string_view what) {
  throw FileError(fmt::format("{}: [reference]: {}", of.variant.description.string(), what));
}

bool gives_bound(const CustomVariant& of, std::size_t output) { return of.description().bounds[output].is_of_reference; }

std::size_t numbers_in_answer(const CustomCase& asked) {
  std::size_t count = 0;
  const std::vector<const CustomLayout*> outputs = asked.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) count += outputs[o]->count * (gives_bound(asked.variant(), o) ? 2U : 1U);
  return count;
}

ReferenceAnswer split_answer(const CustomCase& asked, std::span<const double> numbers) {
  ReferenceAnswer answer;
  const auto take = [&](std::size_t count) {
    std::vector<double> values(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
    numbers = numbers.subspan(count);
    return values;
  };
  const std::vector<const CustomLayout*> outputs = asked.outputs();
  for (const CustomLayout* output : outputs) answer.expected.push_back(take(output->count));
  for (std::size_t o = 0; o < outputs.size(); ++o)
    answer.bound.push_back(gives_bound(asked.variant(), o) ? take(outputs[o]->count) : std::vector<double>());
  return answer;
}

ReferenceAnswer answer_in_file(const CustomCase& asked, const fs::path& file) {
  const std::vector<const CustomLayout*> outputs = asked.outputs();
  std::vector<fixtures::TensorSpec> wanted;
  for (const CustomLayout* output : outputs)
    wanted.push_back({"expected/" + output->tensor->name, fixtures::Element::float64, output->shape});
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (gives_bound(asked.variant(), o))
      wanted.push_back({"bound/" + outputs[o]->tensor->name, fixtures::Element::float64, outputs[o]->shape});
  }
  std::vector<double> numbers;
  for (const fixtures::Tensor& tensor : fixtures::read_tensors(file, wanted)) {
    const std::vector<double> values = tensor.values<double>();
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
  return split_answer(asked, numbers);
}

std::vector<ReferenceAnswer> ask_command(std::span<const CustomCase* const> cases, std::span<const CustomInputs> inputs) {
  require_layers(cases.front()->variant());
  const CustomVariant& of = cases.front()->variant();
  const kernels::CustomReference& reference = of.description().reference;
  const TemporaryFolder folder;
  std::vector<std::string> command = resolved(of);
  const std::string program = command.front();
  std::vector<fs::path> answers;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const fs::path question = folder.questions() / fmt::format("{}.h5", i);
    write_question(*cases[i], inputs[i], question);
    command.push_back(question.string());
    answers.push_back(folder.answers() / fmt::format("{}.h5", i));
    command.push_back(answers.back().string());
  }
  base::Reach reach{.programs = {fs::absolute(of.folder)}, .readable = {folder.questions()}, .writable = {folder.answers()}};
  // The user has activated it, so he trusts its programs.
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr && *environment != '\0')
    reach.programs.emplace_back(environment);
  const auto seconds = static_cast<std::uint64_t>(reference.seconds);
  const base::CommandResult result = [&] {
    try {
      return base::run_command(
          command, {.output_bytes = std::size_t{1} << 20, .memory_bytes = kMemory, .processor_seconds = 4 * seconds, .seconds = seconds},
          folder.answers(), &reach);
    } catch (const base::ProcessRefused& refused) {
      fail_reference(of, refused.what());
    }
  }();
  if (result.is_late)
    fail_reference(of, fmt::format("'{}' did not end within {} s; set `seconds` if it needs more", program, reference.seconds));
  if (result.is_cut) fail_reference(of, fmt::format("'{}' printed more than 1 MiB", program));
  if (result.exit_code != 0)
    fail_reference(of, fmt::format("'{}' ended with status {} on {} case{}, the first {}; {}", program, result.exit_code, cases.size(),
                                   cases.size() == 1 ? "" : "s", cases[0]->name(), last_lines(result.errors + result.output)));
  std::vector<ReferenceAnswer> read;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(answers[i], error)))
      fail_reference(of,
                     fmt::format("'{}' wrote no file for {}; {}", program, cases[i]->name(), last_lines(result.errors + result.output)));
    try {
      read.push_back(answer_in_file(*cases[i], answers[i]));
    } catch (const FileError& unusable) {
      std::string what = unusable.what();
      if (what.starts_with(answers[i].string())) what.erase(0, answers[i].string().size() + 2);
      fail_reference(of, fmt::format("its answer for {}: {}", cases[i]->name(), what));
    }
  }
  return read;
}

ReferenceAnswer ask_library(const CustomCase& asked, const CustomInputs& inputs) {
  const CustomVariant& of = asked.variant();
  require_layers(of);
  const kernels::CustomReference& reference = of.description().reference;
  if (!base::is_inside(of.folder, reference.library))
    fail_reference(of, fmt::format("there is no '{}' in the folder", reference.library.filename().string()));
  const fs::path file = fs::absolute(reference.library);
  base::prepare_sandbox();
  const auto seconds = static_cast<std::uint64_t>(reference.seconds);
  const std::size_t count = numbers_in_answer(asked);
  const base::IsolationLimits limits{.process = {.added_memory_bytes = kMemory, .processor_seconds = seconds},
                                     .time = std::chrono::seconds(reference.seconds),
                                     .answer_bytes = (count + 64) * sizeof(double)};
  const auto answer = base::call_isolated<std::vector<double>>(limits, [&] {
    base::forget_environment();
    base::confine_compiler({.programs = {fs::absolute(of.folder)}, .readable = {}, .writable = {}});
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(fmt::format("cannot be loaded: {}", dlerror()));
    const auto function = reinterpret_cast<ReferenceFunction>(dlsym(library, reference.function.c_str()));
    if (function == nullptr) throw std::runtime_error(fmt::format("has no function '{}'", reference.function));
    std::vector<const double*> in;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!asked.layouts()[i].tensor->is_output) in.push_back(inputs[i].data());
    }
    std::vector<double> numbers(count);
    std::vector<double*> expected, bound;
    double* next = numbers.data();
    const std::vector<const CustomLayout*> outputs = asked.outputs();
    for (const CustomLayout* output : outputs) next = expected.emplace_back(next) + output->count;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      bound.push_back(gives_bound(of, o) ? next : nullptr);
      if (bound.back() != nullptr) next += outputs[o]->count;
    }
    const int status = function(asked.values().data(), in.data(), expected.data(), bound.data());
    if (status != 0) throw std::runtime_error(fmt::format("{}() returned {}", reference.function, status));
    return numbers;
  });
  using Kind = decltype(answer)::Kind;
  if (answer.kind == Kind::returned && answer.value.size() == count) return split_answer(asked, answer.value);
  fail_reference(of, fmt::format("'{}' on {}: {}", reference.library.filename().string(), asked.name(),
                                 answer.kind == Kind::returned ? "returned another number of values" : answer.text));
}

}  // namespace assay::families

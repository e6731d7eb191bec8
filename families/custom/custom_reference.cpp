// Asks the reference of a variant for many cases, and keeps its answers in the cache.
#include "families/custom/custom_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/hash.h"
#include "base/text.h"
#include "families/custom/custom_ask.h"
#include "fixtures/hdf5_file.h"
#include "metal/compile/cache.h"

namespace assay::families {
namespace {

namespace fs = std::filesystem;
using fixtures::FileError;
using Inputs = CustomInputs;

constexpr std::size_t kMostCases = 64;                          // of one call
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of the numbers of one call
constexpr std::size_t kMostFiles = 1000;                        // of a folder that is hashed
constexpr std::uintmax_t kLargestFolder = std::uintmax_t{64} << 20;

std::string_view bytes_of(std::span<const double> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

// Everything in the folder that a reference could read, except what cannot matter to it: the kernel and the description.
std::string digest_of_folder(const CustomVariant& of) {
  std::vector<fs::path> files;
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(of.folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& file = it->path();
    const std::string name = file.filename().string();
    if (name == "__pycache__" || name.starts_with(".")) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(error) || file.extension() == ".metal" || name == "variant.toml" || name == "equivalent.toml") continue;
    files.push_back(file);
    bytes += fs::file_size(file, error);
    if (files.size() > kMostFiles || bytes > kLargestFolder)
      fail_reference(of, fmt::format("the folder has more than {} files or {} bytes; give the reference a folder of its own", kMostFiles,
                                     kLargestFolder));
  }
  if (error) fail_reference(of, fmt::format("the folder cannot be read ({})", error.message()));
  std::ranges::sort(files);
  base::Hash hash;
  for (const fs::path& file : files) hash.add(file.lexically_relative(of.folder).string()).add(base::read_file(file).value_or(""));
  return hash.hex();
}

// The name of an answer in the cache: what was asked, and whom.
std::string key_of(const CustomCase& asked, const Inputs& inputs, const std::string& folder) {
  const CustomVariant& of = asked.variant();
  const kernels::CustomReference& reference = of.description().reference;
  base::Hash hash;
  hash.add("custom reference 1").add(folder).add(fmt::format("{}", fmt::join(reference.command, "\n")));
  hash.add(reference.library.filename().string()).add(reference.function);
  for (std::size_t i = 0; i < asked.values().size(); ++i) hash.add(of.description().axes[i].name).add(fmt::format("{}", asked.values()[i]));
  std::size_t output = 0;
  for (std::size_t i = 0; i < asked.layouts().size(); ++i) {
    const CustomLayout& layout = asked.layouts()[i];
    hash.add(layout.tensor->name).add(fmt::format("{}", fmt::join(layout.shape, " "))).add(bytes_of(inputs[i]));
    if (layout.tensor->is_output) hash.add(gives_bound(of, output++) ? "value and bound" : "value");
  }
  return "reference-" + hash.hex();
}

void require_usable(const CustomCase& asked, const ReferenceAnswer& answer) {
  const std::vector<const CustomLayout*> outputs = asked.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const kernels::CustomTensor& tensor = *outputs[o]->tensor;
    const auto refuse = [&](std::string_view what, double value, std::size_t element, std::string_view rule) {
      fail_reference(asked.variant(),
                     fmt::format("its {}/{} for {} has {} at element {}; {}", what, tensor.name, asked.name(), value, element, rule));
    };
    for (std::size_t i = 0; i < answer.expected[o].size(); ++i) {
      const double value = answer.expected[o][i];
      if (!std::isfinite(value)) refuse("expected", value, i, "an expected value must be finite");
      if (!can_hold(tensor.type, value)) refuse("expected", value, i, fmt::format("an output of type {} cannot hold it", tensor.type_name));
    }
    for (std::size_t i = 0; i < answer.bound[o].size(); ++i) {
      if (!(answer.bound[o][i] >= 0) || !std::isfinite(answer.bound[o][i]))
        refuse("bound", answer.bound[o][i], i, "a bound must be finite and not negative");
    }
  }
}

// ---- answers as one list of numbers

std::vector<double> joined(const ReferenceAnswer& answer) {
  std::vector<double> numbers;
  for (const auto* part : {&answer.expected, &answer.bound}) {
    for (const std::vector<double>& values : *part) numbers.insert(numbers.end(), values.begin(), values.end());
  }
  return numbers;
}

// ---- the cache

struct NotKept {};

std::optional<ReferenceAnswer> find_kept(const metal::compile::Cache& cache, const std::string& key, const CustomCase& asked) {
  try {
    const std::optional<std::string> text = base::read_file(cache.get(key, [](const fs::path&) { throw NotKept(); }));
    std::vector<double> numbers(numbers_in_answer(asked));
    if (!text || metal::compile::content_size(*text) != numbers.size() * sizeof(double)) return std::nullopt;
    std::memcpy(numbers.data(), text->data(), numbers.size() * sizeof(double));
    return split_answer(asked, numbers);
  } catch (const NotKept&) {
    return std::nullopt;
  }
}

void keep(const metal::compile::Cache& cache, const std::string& key, const ReferenceAnswer& answer) {
  const std::vector<double> numbers = joined(answer);
  static_cast<void>(cache.get(key, [&](const fs::path& file) { std::ofstream(file, std::ios::binary) << bytes_of(numbers); }));
}

}  // namespace

std::vector<ReferenceAnswer> ask_reference(std::span<const CustomCase> cases) {
  std::vector<ReferenceAnswer> answers(cases.size());
  if (cases.empty()) return answers;
  const CustomVariant& of = cases.front().variant();
  const kernels::CustomReference& reference = of.description().reference;
  if (reference.kind == kernels::CustomReference::Kind::file) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const fs::path file = cases[i].recorded();
      if (!base::is_inside(of.folder, file)) throw FileError(fixtures::file_message(file, "", "is not a file of the variant's folder"));
      answers[i] = answer_in_file(cases[i], file);
      require_usable(cases[i], answers[i]);
    }
    return answers;
  }

  const metal::compile::Cache cache{fs::path()};
  const std::string folder = digest_of_folder(of);
  std::vector<std::size_t> numbers;  // of the cases that must be asked for
  std::vector<const CustomCase*> open;
  std::vector<Inputs> inputs;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Inputs of_case = cases[i].inputs();
    std::string key = key_of(cases[i], of_case, folder);
    if (std::optional<ReferenceAnswer> kept = find_kept(cache, key, cases[i])) {
      answers[i] = *std::move(kept);
      continue;
    }
    numbers.push_back(i);
    open.push_back(&cases[i]);
    inputs.push_back(std::move(of_case));
    keys.push_back(std::move(key));
  }
  if (open.empty()) return answers;
  std::vector<ReferenceAnswer> asked;
  if (reference.kind == kernels::CustomReference::Kind::command) {
    asked = ask_command(open, inputs);
  } else {
    for (std::size_t i = 0; i < open.size(); ++i) asked.push_back(ask_library(*open[i], inputs[i]));
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    require_usable(*open[i], asked[i]);
    keep(cache, keys[i], asked[i]);
    answers[numbers[i]] = std::move(asked[i]);
  }
  return answers;
}

void ask_reference_ahead(const CustomVariant& of, std::span<const Case> cases) {
  if (of.description().reference.kind == kernels::CustomReference::Kind::file) return;
  std::vector<CustomCase> portion;
  std::uint64_t bytes = 0;
  const auto ask = [&] {
    static_cast<void>(ask_reference(portion));
    portion.clear();
    bytes = 0;
  };
  for (const Case& value : cases) {
    try {
      portion.emplace_back(of, value);
    } catch (const std::invalid_argument&) {
      continue;  // it will be rejected
    }
    for (const CustomLayout& layout : portion.back().layouts()) bytes += layout.count * sizeof(double);
    if (portion.size() == kMostCases || bytes > kMostBytes) ask();
  }
  ask();
}

}  // namespace assay::families

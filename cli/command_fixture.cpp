// `assay fixture generate|info|verify`: writes, prints and checks fixture files (docs/FIXTURES.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/cases/file_case.h"
#include "harness/cases/file_contents.h"
#include "oracles/arithmetic.h"
#include "reports/grouped.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct FixtureOptions {
  std::vector<std::string> words;  // cases, or files
  std::string output;
};

// The first word of a case may be a family or one of its variants; both give the same fixture.
harness::Case parse_named(const std::string& word, std::span<const kernels::Variant> catalogue) {
  const std::string_view first = harness::variant_of(word);
  const auto families = families::all_families();
  if (const auto family = std::ranges::find(families, first, [](const families::Family& one) { return one.name(); });
      family != families.end())
    return harness::parse_case(word, *family);
  if (const auto variant = std::ranges::find(catalogue, first, &kernels::Variant::name); variant != catalogue.end())
    return harness::parse_case(word, families::family_of(*variant));
  std::vector<std::string_view> names;
  for (const families::Family& family : families) names.push_back(family.name());
  throw std::invalid_argument(fmt::format("'{}': '{}' is neither a family ({}) nor a variant", word, first, fmt::join(names, ", ")));
}

// The default file name: the case name with its slashes replaced.
std::string file_name(harness::Case value) {
  value.variant = value.family->name();
  std::string name = harness::format_case(value);
  std::ranges::replace(name, '/', '-');
  return name + ".h5";
}

std::string attribute_text(const fixtures::Attribute& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return fixtures::shown(*text);
  return "(of an unsupported type)";
}

// `number_of` converts a stored element to its value.
template <typename T>
std::string range_text(const fixtures::Tensor& tensor, double (*number_of)(T) = [](T value) { return static_cast<double>(value); }) {
  std::size_t nans = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const T value : tensor.values<T>()) {
    const double number = number_of(value);
    if (std::isnan(number)) {
      ++nans;
      continue;
    }
    least = std::min(least, number);
    most = std::max(most, number);
  }
  const std::string range = least <= most ? fmt::format("{:.6g} .. {:.6g}", least, most) : "";
  return nans == 0 ? range : fmt::format("{}{}{} NaN", range, range.empty() ? "" : ", ", nans);
}

std::string range_text(const fixtures::Tensor& tensor) {
  switch (tensor.spec.element) {
    case fixtures::Element::uint8:
      return range_text<std::uint8_t>(tensor);
    case fixtures::Element::float32:
      return range_text<float>(tensor);
    case fixtures::Element::float64:
      return range_text<double>(tensor);
    case fixtures::Element::half:
      return range_text<std::uint16_t>(tensor, oracles::half_value);
    case fixtures::Element::bfloat:
      return range_text<std::uint16_t>(tensor, oracles::bfloat_value);
  }
  return {};
}

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    throw std::invalid_argument(fmt::format("{}: is not a directory and cannot be created ({})", directory.string(), error.message()));
}

int generate(const FixtureOptions& options) {
  const Workspace workspace = open_workspace({});
  std::vector<harness::Case> cases;
  for (const std::string& word : options.words) cases.push_back(parse_named(word, workspace.catalogue));
  const bool into_directory = cases.size() > 1 || options.output.ends_with('/') || fs::is_directory(options.output);
  if (into_directory) make_directory(options.output);
  for (const harness::Case& value : cases) {
    const fs::path file = into_directory ? fs::path(options.output) / file_name(value) : fs::path(options.output);
    static_cast<void>(fixtures::require_target(file));  // fails before the inputs are generated, which may take a while
    const harness::FileContents contents = harness::contents_of(value);
    fixtures::write_file(file, contents.format, contents.tensors);
    say("wrote {}: {}, {} bytes\n", file.string(), reports::plural(contents.tensors.size(), "tensor"), fs::file_size(file));
  }
  return kExitPassed;
}

int info(const FixtureOptions& options) {
  for (const std::string& file : options.words) {
    const fixtures::FileDescription description = fixtures::describe_file(file);
    say("{}: {} bytes\n", file, fs::file_size(file));
    for (const auto& [name, value] : description.format) say("  {:<16} {}\n", fixtures::shown(name), attribute_text(value));
    for (const fixtures::Tensor& tensor : fixtures::read_tensors(file, description.tensors))
      say("  {:<16} {:<24} {}\n", fixtures::shown(tensor.spec.path), describe(tensor.spec), range_text(tensor));
  }
  return kExitPassed;
}

int verify(const FixtureOptions& options) {
  int status = kExitPassed;
  for (const std::string& file : options.words) {
    const harness::LoadedFile loaded = harness::load_file(file);
    const std::vector<std::string> findings = harness::verify_file(file, loaded);
    for (const std::string& finding : findings) say("{}: {}\n", file, finding);
    if (!findings.empty()) {
      status = kExitFailed;
      continue;
    }
    const std::string origin = loaded.file_case.generator.empty()
                                   ? "the inputs were captured, so they cannot be compared with a generator"
                                   : fmt::format("the inputs match generator {}", loaded.file_case.generator);
    const std::string_view expectation = loaded.expectation.empty() ? "no expectation is stored" : "the expectation matches the oracle";
    say("{}: valid; {}; {}\n", file, origin, expectation);
  }
  return status;
}

using Work = int (*)(const FixtureOptions&);

CLI::App* add_one(CLI::App& parent, Action& action, const std::string& name, const std::string& description, const std::string& words,
                  Work work, const std::shared_ptr<FixtureOptions>& options) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->add_option(words, options->words, words == "CASE" ? "Case name; the family may replace the variant" : "Fixture file")
      ->required();
  command->callback([options, work, &action] { action = [options, work] { return work(*options); }; });
  return command;
}

}  // namespace

void add_fixture(CLI::App& app, Action& action) {
  const auto options = std::make_shared<FixtureOptions>();
  CLI::App* command = app.add_subcommand("fixture", "Fixture files: inputs and expectations in HDF5 (docs/FIXTURES.md)");
  command->require_subcommand(1);
  command->footer(R"(examples
  assay fixture generate tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7 -o small.h5
  assay fixture info small.h5
  assay fixture verify small.h5)");
  CLI::App* made =
      add_one(*command, action, "generate", "Write the inputs of cases, with the oracle's expectation", "CASE", generate, options);
  made->add_option("-o,--output", options->output, "File, or directory for several")->required()->type_name("FILE|DIR");
  add_one(*command, action, "info", "Print what a file contains", "FILE", info, options);
  add_one(*command, action, "verify", "Compare a file's inputs with their generator and its expectation with the oracle", "FILE", verify,
          options);
}

}  // namespace assay::cli

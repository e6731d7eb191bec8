// Converts between cases and the attributes of fixture files.
#include "harness/cases/file_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

namespace assay::harness {
namespace {

constexpr std::string_view kPrefix = "h5-";

// Reads the attributes of one file. Its errors name the file.
class CaseReader {
 public:
  CaseReader(const std::filesystem::path& file, const fixtures::Attributes& attributes) : file_(file), attributes_(attributes) {}

  [[noreturn]] void fail(std::string_view attribute, std::string_view what) const {
    throw fixtures::FileError(fixtures::file_message(file_, attribute.empty() ? "format" : fmt::format("format@{}", attribute), what));
  }
  [[nodiscard]] bool has(std::string_view name) const { return attributes_.contains(name); }
  // Rejects an attribute that nothing reads: it is misspelt, or its writer assumes that it has an effect.
  void require_known(std::string_view kind, const std::vector<std::string_view>& known) const {
    for (const auto& [name, value] : attributes_) {
      if (std::ranges::find(known, name) == known.end())
        fail(name, fmt::format("is unknown in a file {}; accepted: {}", kind, fmt::join(known, ", ")));
    }
  }
  [[nodiscard]] std::int64_t number(std::string_view name) const {
    const fixtures::Attribute& value = at(name);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    // A script may have computed an integer as a double.
    if (const auto* real = std::get_if<double>(&value); real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 0x1p53)
      return static_cast<std::int64_t>(*real);
    fail(name, "must be an integer");
  }
  // An attribute that was written as a floating-point number.
  [[nodiscard]] std::optional<float> factor(std::string_view name) const {
    const auto* real = std::get_if<double>(&at(name));
    return real == nullptr ? std::nullopt : std::optional(static_cast<float>(*real));
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    if (const auto* value = std::get_if<std::string>(&at(name))) return *value;
    fail(name, "must be a string");
  }

 private:
  [[nodiscard]] const fixtures::Attribute& at(std::string_view name) const {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) fail(name, "is missing");
    return found->second;
  }
  const std::filesystem::path& file_;
  const fixtures::Attributes& attributes_;
};

const Family& family_of_file(const CaseReader& reader) {
  try {
    return find_family(reader.text("family"));
  } catch (const fixtures::FileError&) {
    throw;
  } catch (const std::invalid_argument& unknown) {
    reader.fail("family", unknown.what());
  }
}

// The value of an axis for a factor: the factor itself if it is a whole number of the axis, else its bits.
std::int64_t axis_value(const CaseReader& reader, const Axis& axis, float factor) {
  if (std::trunc(factor) == factor && factor >= 0.0F && factor <= static_cast<float>(*axis.largest_whole))
    return static_cast<std::int64_t>(factor);
  const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(factor));
  if (!(factor > 0.0F) || !axis.holds(bits)) reader.fail(axis.name, fmt::format("is {}; a factor is a positive number", factor));
  return bits;
}

void read_axes(const CaseReader& reader, Case& value) {
  const Family& family = *value.family;
  std::vector<std::string_view> known = {"version", "family", "seed"};
  for (const Axis& axis : family.axes) known.push_back(axis.name);
  reader.require_known("without 'case'", known);
  for (std::size_t i = 0; i < family.axes.size(); ++i) {
    const Axis& axis = family.axes[i];
    const bool is_needed = !axis.needed_by.empty() && reader.has(axis.needed_by) && reader.number(axis.needed_by) != 0;
    if (!reader.has(axis.name) && (axis.is_launch_choice || (axis.may_be_absent && !is_needed))) continue;
    const std::optional<float> factor = axis.largest_whole ? reader.factor(axis.name) : std::nullopt;
    if (factor) {
      value.values[i] = axis_value(reader, axis, *factor);
      continue;
    }
    std::int64_t number = reader.number(axis.name);
    if (number == 0) number = axis.zero_in_files;
    if (!axis.holds(number)) {
      reader.fail(
          axis.name,
          fmt::format("is {}, outside {}{}", number, axis.range(),
                      axis.largest_whole ? fmt::format("; to pass the factor itself, write a floating-point number ({}.0)", number) : ""));
    }
    value.values[i] = number;
  }
}

}  // namespace

std::optional<std::string_view> file_stem(std::string_view fixture) {
  if (!fixture.starts_with(kPrefix)) return std::nullopt;
  fixture.remove_prefix(kPrefix.size());
  return fixtures::is_word(fixture) ? std::optional(fixture) : std::nullopt;
}

std::string file_word(const std::filesystem::path& file) { return fmt::format("{}{}", kPrefix, file.stem().string()); }

FileCase read_file_case(const std::filesystem::path& file, const fixtures::FileDescription& description) {
  const CaseReader reader(file, description.format);
  if (const std::int64_t version = reader.number("version"); version != kFileVersion)
    reader.fail("version", fmt::format("is {}; this assay reads version {}", version, kFileVersion));
  FileCase result;
  Case& value = result.value;
  const Family& family = family_of_file(reader);
  if (reader.has("case")) {
    reader.require_known("with 'case'", {"version", "family", "case", "generator", "seed"});
    const std::string text = reader.text("case");
    try {
      value = parse_case(text, family);
    } catch (const std::invalid_argument& error) {
      reader.fail("case", error.what());
    }
    if (value.variant != family.name()) reader.fail("case", fmt::format("'{}' must begin with the family, {}", text, family.name()));
    if (is_on_file(value)) reader.fail("case", fmt::format("'{}' names another file, not a generator", text));
    if (reader.has("generator") && reader.text("generator") != value.fixture)
      reader.fail("generator", fmt::format("is '{}', but the case says '{}'", reader.text("generator"), value.fixture));
    if (reader.has("seed") && reader.number("seed") != static_cast<std::int64_t>(value.seed))
      reader.fail("seed", fmt::format("is {}, but the case says {}", reader.number("seed"), value.seed));
    result.generator = value.fixture;
  } else {
    value.family = &family;
    for (const Axis& axis : family.axes) value.values.push_back(axis.initial);
    read_axes(reader, value);
    if (reader.has("seed")) {
      const std::int64_t seed = reader.number("seed");
      if (seed < 0) reader.fail("seed", fmt::format("is {}; it must not be negative", seed));
      value.seed = static_cast<std::uint64_t>(seed);
    }
  }
  value.variant.clear();
  value.fixture = file_word(file);
  return result;
}

fixtures::Attributes file_attributes(const Case& value) {
  Case text = value;
  text.variant = value.family->name();
  return {{"version", kFileVersion},
          {"family", std::string(value.family->name())},
          {"generator", value.fixture},
          {"seed", static_cast<std::int64_t>(value.seed)},
          {"case", format_case(text)}};
}

void require_agreement(const Case& value, const std::filesystem::path& file, const FileCase& of_file) {
  const Family& family = *value.family;
  const Case& theirs = of_file.value;
  const auto fail = [&](std::string_view what, const auto& mine, const auto& other) {
    throw fixtures::FileError(
        fixtures::file_message(file, "format", fmt::format("{} is {}, but the case '{}' says {}", what, other, format_case(value), mine)));
  };
  if (theirs.family != &family) fail("family", family.name(), theirs.family->name());
  for (std::size_t i = 0; i < family.axes.size(); ++i) {
    if (!family.axes[i].is_launch_choice && value.values[i] != theirs.values[i])
      fail(family.axes[i].name, value.values[i], theirs.values[i]);
  }
  if (value.seed != theirs.seed) fail("seed", value.seed, theirs.seed);
}

std::vector<Case> corpus_cases(const Family& family, const std::string& variant) {
  static std::mutex mutex;
  static std::vector<Case> all;
  static bool is_read = false;
  const std::lock_guard lock(mutex);
  if (!is_read) {
    std::vector<Case> found;
    for (const std::filesystem::path& file : fixtures::Shelf().corpus_files())
      found.push_back(read_file_case(file, fixtures::describe_file(file)).value);
    all = std::move(found);
    is_read = true;
  }
  std::vector<Case> cases;
  for (const Case& value : all) {
    if (value.family != &family) continue;
    cases.push_back(value);
    cases.back().variant = variant;
  }
  return cases;
}

}  // namespace assay::harness

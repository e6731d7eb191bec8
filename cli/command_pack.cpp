// `assay pack`: builds a fixture file from raw tensor files and a JSON manifest, for hosts that cannot write HDF5.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "fixtures/hdf5_file.h"
#include "harness/cases/file_contents.h"
#include "reports/grouped.h"
#include "reports/strict_json.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct PackOptions {
  std::string manifest;
  std::string output;
};

constexpr std::uintmax_t kLargestManifest = std::uintmax_t{1} << 20;
constexpr int kDeepest = 8;  // a manifest nests four deep

// The parsed manifest; its errors name the file and the entry.
class Manifest {
 public:
  explicit Manifest(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path_, error);
    if (error) fail("", fmt::format("cannot be read ({})", error.message()));
    if (!fs::is_regular_file(path_)) fail("", "cannot be read (not a regular file)");
    if (size > kLargestManifest) fail("", fmt::format("has {} bytes; a manifest has at most {}", size, kLargestManifest));
    const std::optional<std::string> text = base::read_file(path_);
    if (!text) fail("", fmt::format("cannot be read ({})", std::strerror(errno)));
    root_ = reports::parse_strict_json(*text, kDeepest, [this](const std::string& what) { fail("", what); });
    require_keys(root_, "", {"attributes", "tensors"});
  }

  [[nodiscard]] fixtures::Attributes attributes() const {
    const Json& object = member(root_, "", "attributes", Json::value_t::object);
    fixtures::Attributes attributes;
    for (const auto& [name, value] : object.items()) {
      const std::string entry = "attributes." + name;
      if (value.is_string()) {
        attributes.emplace(name, value.get<std::string>());
      } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
        fail(entry, "is too large");
      } else if (value.is_number_integer()) {
        attributes.emplace(name, value.get<std::int64_t>());
      } else if (value.is_number_float()) {
        attributes.emplace(name, value.get<double>());
      } else {
        fail(entry, "must be a number or a string");
      }
    }
    return attributes;
  }

  [[nodiscard]] std::vector<fixtures::Tensor> tensors() const {
    const Json& list = member(root_, "", "tensors", Json::value_t::array);
    std::vector<fixtures::Tensor> tensors;
    std::uint64_t total = 0;
    for (std::size_t index = 0; index < list.size(); ++index) {
      const std::string entry = fmt::format("tensors[{}]", index);
      tensors.push_back(tensor(list[index], entry, total));
      const std::string& name = tensors.back().spec.path;
      if (std::ranges::count(tensors, name, [](const fixtures::Tensor& one) -> const std::string& { return one.spec.path; }) > 1)
        fail(entry, fmt::format("'{}' occurs twice", name));
    }
    return tensors;
  }

  // The output must not overwrite an input file. Call this after tensors().
  void require_apart(const fs::path& output) const {
    const auto refuse_if = [&](const fs::path& input, std::string_view what) {
      std::error_code absent;
      if (fs::equivalent(input, output, absent))
        throw std::invalid_argument(fmt::format("{}: is {}; choose another output file", output.string(), what));
    };
    refuse_if(path_, "the manifest itself");
    const Json& list = root_.at("tensors");
    for (std::size_t index = 0; index < list.size(); ++index)
      refuse_if(path_.parent_path() / list[index].at("file").get<std::string>(),
                fmt::format("a file that {} reads (tensors[{}])", path_.string(), index));
  }

 private:
  [[noreturn]] void fail(std::string_view entry, std::string_view what) const {
    throw std::invalid_argument(entry.empty() ? fmt::format("{}: {}", path_.string(), what)
                                              : fmt::format("{}: {}: {}", path_.string(), entry, what));
  }

  void require_keys(const Json& object, const std::string& entry, const std::vector<std::string>& known) const {
    if (!object.is_object()) fail(entry, fmt::format("must be an object with {}", fmt::join(known, ", ")));
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) == known.end())
        fail(entry, fmt::format("has the unknown key '{}'; accepted: {}", key, fmt::join(known, ", ")));
    }
  }

  [[nodiscard]] const Json& member(const Json& object, const std::string& entry, const std::string& key, Json::value_t type) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(entry, fmt::format("'{}' is missing", key));
    if (found->type() != type) fail(entry, fmt::format("'{}' must be {}", key, Json(type).type_name()));
    return *found;
  }

  [[nodiscard]] fixtures::Tensor tensor(const Json& object, const std::string& entry, std::uint64_t& total) const {
    require_keys(object, entry, {"name", "file", "element", "shape"});
    fixtures::TensorSpec spec;
    spec.path = member(object, entry, "name", Json::value_t::string).get<std::string>();
    const std::string file = member(object, entry, "file", Json::value_t::string).get<std::string>();
    if (std::ranges::count(spec.path, '/') != 1 || spec.path.starts_with('/') || spec.path.ends_with('/'))
      fail(entry, fmt::format("'name' is '{}'; it must be GROUP/NAME, as in inputs/q", spec.path));
    try {
      spec.element = fixtures::parse_element(member(object, entry, "element", Json::value_t::string).get<std::string>());
    } catch (const std::invalid_argument& unknown) {
      fail(entry, unknown.what());
    }
    for (const Json& size : member(object, entry, "shape", Json::value_t::array)) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() == 0) fail(entry, "'shape' must be a list of positive integers");
      spec.shape.push_back(size.get<std::uint64_t>());
    }
    if (spec.shape.empty() || spec.shape.size() > 8) fail(entry, "'shape' must have 1 to 8 sizes");
    try {
      if (__builtin_add_overflow(total, spec.bytes(), &total) || total > fixtures::kLargestFileBytes)
        fail(entry,
             fmt::format("with {} the tensors exceed {} bytes, the limit of a fixture file", describe(spec), fixtures::kLargestFileBytes));
    } catch (const std::invalid_argument& overflow) {
      fail(entry, overflow.what());
    }
    return read(entry, path_.parent_path() / file, std::move(spec));
  }

  // Both the files and this machine are little-endian.
  [[nodiscard]] fixtures::Tensor read(const std::string& entry, const fs::path& file, fixtures::TensorSpec spec) const {
    static_assert(std::endian::native == std::endian::little);
    if (!fs::is_regular_file(file)) fail(entry, fmt::format("there is no file {}", file.string()));
    if (!base::is_inside(path_.parent_path(), file))
      fail(entry, fmt::format("{} is outside of the folder of the manifest: move it there", file.string()));
    const std::uintmax_t size = fs::file_size(file);
    const std::uint64_t needed = spec.bytes();
    if (size != needed) fail(entry, fmt::format("{} has {} bytes, but {} needs {}", file.string(), size, describe(spec), needed));
    fixtures::Tensor tensor{std::move(spec), std::vector<std::byte>(needed)};
    std::ifstream stream(file, std::ios::binary);
    if (!stream.read(reinterpret_cast<char*>(tensor.bytes.data()), static_cast<std::streamsize>(needed)))
      fail(entry, fmt::format("{} cannot be read ({})", file.string(), std::strerror(errno)));
    return tensor;
  }

  fs::path path_;
  Json root_;
};

// Errors about the temporary file are reported for the manifest, because that file is deleted by then.
void inspect(const PackOptions& options, const fs::path& draft) {
  try {
    const harness::LoadedFile loaded = harness::load_file(draft);
    if (!loaded.inputs.empty()) static_cast<void>(harness::verify_file(draft, loaded));
  } catch (const fixtures::FileError& error) {
    std::string what = error.what();
    const std::string prefix = draft.string() + ": ";
    if (what.starts_with(prefix)) what.erase(0, prefix.size());
    throw fixtures::FileError(fixtures::file_message(options.manifest, "", "does not describe a valid fixture file: " + what));
  }
}

int pack(const PackOptions& options) {
  const Manifest manifest(options.manifest);
  fixtures::Attributes attributes = manifest.attributes();
  attributes.emplace("version", harness::kFileVersion);
  const std::vector<fixtures::Tensor> tensors = manifest.tensors();
  manifest.require_apart(fixtures::require_target(options.output));
  fixtures::write_file(options.output, attributes, tensors, [&](const fs::path& draft) { inspect(options, draft); });
  say("wrote {}: {}, {} bytes\n", options.output, reports::plural(tensors.size(), "tensor"), fs::file_size(options.output));
  return kExitPassed;
}

}  // namespace

void add_pack(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "pack", "Create a fixture file from raw little-endian tensors, described by a manifest (docs/FIXTURES.md)", pack);
  command->add_option("MANIFEST", options->manifest, "Manifest in JSON; file names in it are relative to its directory")->required();
  command->add_option("-o,--output", options->output, "Fixture file to write")->required()->type_name("FILE");
  command->footer(R"(examples
  assay pack manifest.json -o captured.h5
  assay run --fixture captured.h5 --kernel mine.metal     runs a kernel on the packed file)");
}

}  // namespace assay::cli

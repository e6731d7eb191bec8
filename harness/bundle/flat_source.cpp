// One text from the files of a library and all that they include: Metal's newLibraryWithSource() opens no file.
#include "harness/bundle/flat_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "metal/include_line.h"

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

using metal::directive_of;

bool is_pragma_once(std::string_view line) {
  const std::string_view directive = directive_of(line);
  return directive.starts_with("pragma") && base::trimmed(directive.substr(6)) == "once";
}

// Whether the first two directives are those of an include guard.
bool has_guard(std::string_view text) {
  std::vector<std::string_view> directives;
  for (std::size_t start = 0; start < text.size() && directives.size() < 2;) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (const std::string_view directive = directive_of(text.substr(start, end - start)); !directive.empty()) {
      if (is_pragma_once(text.substr(start, end - start))) return true;
      directives.push_back(directive);
    }
    start = end + 1;
  }
  constexpr std::string_view kIfndef = "ifndef", kDefine = "define";
  if (directives.size() < 2 || !directives[0].starts_with(kIfndef) || !directives[1].starts_with(kDefine)) return false;
  const std::string_view name = base::trimmed(directives[0].substr(kIfndef.size()));
  return !name.empty() && base::trimmed(directives[1].substr(kDefine.size())).starts_with(name);
}

class Flattening {
 public:
  // `files`: those of the library.
  Flattening(const metal::CompileOptions& options, const std::vector<fs::path>& files)
      : options_(options), roots_(options.include_directories) {
    for (const fs::path& file : files) roots_.push_back(file.parent_path());
  }

  void define(const std::string& definition) {
    const std::size_t equals = definition.find('=');
    const std::string name = definition.substr(0, equals);
    text_ += equals == std::string::npos ? fmt::format("#define {} 1\n", name)
                                         : fmt::format("#define {} {}\n", name, definition.substr(equals + 1));
  }

  void add(const fs::path& file) {
    const fs::path path = fs::weakly_canonical(file);
    const std::string& contents = contents_of(path);
    if (std::ranges::find(open_, path) != open_.end()) {
      if (has_guard(contents)) return;
      throw std::invalid_argument(fmt::format("{}: includes itself without an include guard, which a bundle cannot hold", file.string()));
    }
    open_.push_back(path);
    const std::size_t number = numbers_.try_emplace(path, numbers_.size()).first->second;
    const bool is_once = has_once(contents);
    if (is_once) text_ += fmt::format("#ifndef ASSAY_BUNDLE_ONCE_{0}\n#define ASSAY_BUNDLE_ONCE_{0}\n", number);
    mark(1, path);
    add_lines(path, contents);
    if (is_once) text_ += "#endif\n";
    open_.pop_back();
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static bool has_once(std::string_view text) {
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      if (is_pragma_once(text.substr(start, end - start))) return true;
      start = end + 1;
    }
    return false;
  }

  void mark(std::size_t line, const fs::path& path) { text_ += fmt::format("#line {} \"{}\"\n", line, path.filename().string()); }

  void add_lines(const fs::path& path, std::string_view contents) {
    std::size_t number = 0;
    for (std::size_t start = 0; start < contents.size();) {
      const std::size_t end = std::min(contents.find('\n', start), contents.size());
      const std::string_view line = contents.substr(start, end - start);
      start = end + 1;
      ++number;
      const std::optional<metal::IncludeLine> include = metal::include_of(line);
      const std::optional<fs::path> found = include ? find(path, *include) : std::nullopt;
      if (found) {
        add(*found);
        mark(number + 1, path);
      } else if (is_pragma_once(line)) {
        text_ += '\n';
      } else {
        text_.append(line) += '\n';
      }
      if (text_.size() > kLargestFlatSource)
        throw std::invalid_argument(
            fmt::format("{}: with what it includes it has more than {} bytes, the limit of a bundle", path.string(), kLargestFlatSource));
    }
  }

  // The file that clang would include.
  [[nodiscard]] std::optional<fs::path> find(const fs::path& from, const metal::IncludeLine& include) const {
    std::vector<fs::path> folders = options_.include_directories;
    if (include.is_quoted) folders.insert(folders.begin(), from.parent_path());
    for (const fs::path& folder : folders) {
      std::error_code absent;
      if (!fs::is_regular_file(folder / include.name, absent)) continue;
      // The compiler reads nothing else either: a hostile source must not carry files of this machine away.
      const bool is_reached =
          std::ranges::any_of(roots_, [&](const fs::path& root) { return base::is_inside(root, folder / include.name); });
      return is_reached ? std::optional(folder / include.name) : std::nullopt;
    }
    return std::nullopt;
  }

  const std::string& contents_of(const fs::path& path) {
    const auto [known, is_new] = contents_.try_emplace(path);
    if (is_new) {
      std::error_code absent;
      if (const std::uintmax_t size = fs::file_size(path, absent); absent || size > kLargestFlatSource)
        throw std::invalid_argument(fmt::format("{}: is larger than {} bytes, the limit of a bundle", path.string(), kLargestFlatSource));
      std::optional<std::string> read = base::read_file(path);
      if (!read) throw std::invalid_argument(fmt::format("{}: cannot be read", path.string()));
      known->second = *std::move(read);
    }
    return known->second;
  }

  const metal::CompileOptions& options_;
  std::vector<fs::path> roots_;  // everything that is read lies below one of them
  std::string text_;
  std::vector<fs::path> open_;  // the files around the current line
  std::map<fs::path, std::size_t> numbers_;
  std::map<fs::path, std::string> contents_;
};

}  // namespace

std::string flat_source(const metal::Library& library) {
  const metal::CompileOptions& options = library.options();
  Flattening flattening(options, library.files());
  for (const std::string& definition : options.definitions) flattening.define(definition);
  for (const std::string& definition : options.configuration) flattening.define(definition);
  for (const std::filesystem::path& file : library.files()) flattening.add(file);
  return flattening.take();
}

}  // namespace assay::harness

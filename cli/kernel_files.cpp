// Follows the includes of a kernel's sources.
#include "cli/kernel_files.h"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "families/registry.h"
#include "kernels/custom.h"
#include "kernels/variant.h"
#include "metal/include_line.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// Far more than any kernel has. A hostile one must not keep the command from its work.
constexpr std::size_t kMostFiles = 2000;
constexpr std::uintmax_t kLargestSource = std::uintmax_t{16} << 20;

fs::path absolute_path(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

// Collects files, and what they include.
class Collection {
 public:
  explicit Collection(std::vector<fs::path> include_directories) : include_directories_(std::move(include_directories)) {
    for (const fs::path& folder : include_directories_) roots_.push_back((absolute_path(folder) / "").parent_path());
  }

  void add(const fs::path& file) { files_.insert(absolute_path(file)); }

  void add_source(const fs::path& source) {
    std::vector<fs::path> open = {absolute_path(source)};
    roots_.push_back(open.front().parent_path());
    while (!open.empty() && files_.size() < kMostFiles) {
      const fs::path file = std::move(open.back());
      open.pop_back();
      if (!files_.insert(file).second) continue;
      const std::string text = text_of_kernel_file(file);
      for (const std::string_view line : base::lines_of(text)) {
        if (const auto include = metal::include_of(line)) add_candidates(file, *include, open);
      }
    }
  }

  [[nodiscard]] std::set<fs::path> take() { return std::move(files_); }

 private:
  // The file that the compiler would take, and those that it would take instead if they existed.
  void add_candidates(const fs::path& from, const metal::IncludeLine& include, std::vector<fs::path>& open) {
    std::vector<fs::path> folders = include_directories_;
    if (include.is_quoted) folders.insert(folders.begin(), from.parent_path());
    for (const fs::path& folder : folders) {
      const fs::path file = absolute_path(folder / include.name);
      if (!is_reached(file)) continue;
      open.push_back(file);
      std::error_code absent;
      if (fs::is_regular_file(file, absent)) return;
    }
  }

  // The compiler reads nothing outside of these folders.
  [[nodiscard]] bool is_reached(const fs::path& file) const {
    return std::ranges::any_of(roots_, [&](const fs::path& root) { return std::ranges::mismatch(root, file).in1 == root.end(); });
  }

  std::vector<fs::path> include_directories_;
  std::vector<fs::path> roots_;  // these, and the folders of the sources
  std::set<fs::path> files_;
};

// What --kernel names, whether or not it is valid.
void add_named(Collection& files, const fs::path& kernel) {
  std::error_code absent;
  const bool is_folder = fs::is_directory(kernel, absent);
  const fs::path folder = is_folder ? kernel : kernel.parent_path();
  files.add(folder / "variant.toml");
  if (is_folder) return;
  if (kernel.extension() == ".toml")
    files.add(kernel);
  else
    files.add_source(kernel);
}

void add_reference(Collection& files, const kernels::CustomDescription& custom) {
  if (!custom.reference.library.empty()) files.add(custom.folder / custom.reference.library);
  // A program is named by its path, or is an argument of its interpreter.
  for (const std::string& word : custom.reference.command) {
    std::error_code absent;
    if (fs::is_regular_file(custom.folder / word, absent)) files.add(custom.folder / word);
  }
}

}  // namespace

std::string text_of_kernel_file(const fs::path& file) {
  std::error_code absent;
  // A pipe would have to be waited for.
  if (!fs::is_regular_file(file, absent) || fs::file_size(file, absent) > kLargestSource || absent) return {};
  return base::read_file(file).value_or("");
}

std::set<fs::path> kernel_files(const kernels::Variant& variant) {
  Collection files(variant.compile.include_directories);
  for (const fs::path& source : variant.translation_unit()) files.add_source(source);
  if (variant.custom) add_reference(files, *variant.custom);
  if (!variant.description.empty()) files.add(variant.description);
  return files.take();
}

std::set<fs::path> kernel_files(const Options& options) {
  const std::vector<fs::path> include_directories(options.includes.begin(), options.includes.end());
  try {
    kernels::Variant variant = kernels::variant_from_path(options.kernel, options.family, families::contracts());
    variant.compile.include_directories.insert(variant.compile.include_directories.begin(), include_directories.begin(),
                                               include_directories.end());
    std::set<fs::path> of_variant = kernel_files(variant);
    Collection files({});
    for (const std::string& fixture : options.fixtures) files.add(fixture);
    add_named(files, options.kernel);
    of_variant.merge(files.take());
    return of_variant;
  } catch (const std::exception&) {
    // Whoever runs the cases says what is wrong.
    Collection files(include_directories);
    add_named(files, options.kernel);
    return files.take();
  }
}

}  // namespace assay::cli

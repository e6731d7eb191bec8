// Reads and writes the cache entries of covering designs: two lines of text, then a byte per level, row after row.
#include "harness/cases/stored_design.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "base/program_build.h"
#include "base/text.h"
#include "base/user_key.h"
#include "metal/compile/cache.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

// The first line of an entry: what its rows depend on.
std::string head_of(const std::string& subject, const CoveringDesign& design) {
  base::Hash hash;
  hash.add(base::build_of_program()).add(subject);
  for (const int levels : design.levels) hash.add(fmt::to_string(levels));
  return fmt::format("covering design {}\n", hash.hex());
}

std::string design_text(const std::string& head, const std::vector<Row>& rows) {
  std::string text = head + fmt::format("{}\n", rows.size());
  for (const Row& row : rows) {
    for (const int level : row) text += static_cast<char>(level);
  }
  return text;
}

// Nothing if the text has another head, is too short or too long, or has a level that the design has not.
std::optional<std::vector<Row>> rows_of_text(std::string_view text, std::string_view head, const CoveringDesign& design) {
  if (!text.starts_with(head)) return std::nullopt;
  text.remove_prefix(head.size());
  const std::size_t line = text.find('\n');
  const auto count = base::number_of<std::size_t>(text.substr(0, line));
  if (line == std::string_view::npos || !count) return std::nullopt;
  text.remove_prefix(line + 1);
  const std::size_t width = design.levels.size();
  if (width == 0 || text.size() % width != 0 || text.size() / width != *count) return std::nullopt;
  std::vector<Row> rows;
  rows.reserve(*count);
  for (; !text.empty(); text.remove_prefix(width)) {
    Row& row = rows.emplace_back(width);
    std::ranges::transform(text.substr(0, width), row.begin(),
                           [](char level) { return static_cast<int>(static_cast<unsigned char>(level)); });
    for (std::size_t factor = 0; factor < width; ++factor) {
      if (row[factor] >= design.levels[factor]) return std::nullopt;
    }
  }
  return rows;
}

}  // namespace

std::vector<Row> stored_rows(const std::string& name, const std::string& subject, const CoveringDesign& design,
                             const std::function<std::vector<Row>()>& make) {
  const std::string head = head_of(subject, design);
  std::optional<std::vector<Row>> made;
  const auto write = [&](const std::filesystem::path& file) {
    if (!made) made = make();
    std::ofstream stream(file, std::ios::binary);
    stream << design_text(head, *made);
  };
  try {
    const metal::compile::Cache cache({});
    const auto read = [&] {
      const std::string text = base::read_file(cache.get(name, write)).value_or("");
      return rows_of_text(std::string_view(text).substr(0, metal::compile::content_size(text)), head, design);
    };
    std::optional<std::vector<Row>> found = read();
    if (!found) {  // of another build, which had the same name
      std::error_code ignored;
      std::filesystem::remove(cache.directory() / name, ignored);
      found = read();
    }
    if (found) return *std::move(found);
  } catch (const metal::EnvironmentError&) {
    // No cache, or a full disk: whoever compiles a kernel reports it.
  } catch (const base::UserKeyError&) {
    // The same without a key.
  }
  return made ? *std::move(made) : make();
}

}  // namespace assay::harness

// The lines of source files; each file is read once.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "metal/source_files.h"
#include "metal/source_location.h"

namespace assay::harness {

class SourceLines {
 public:
  // Places may name `main` without its folder.
  explicit SourceLines(std::filesystem::path main = {}) : main_(std::move(main)) {}

  // Without the blanks around it; empty if there is no such line.
  [[nodiscard]] std::string line(const metal::SourceLocation& place) {
    const auto [file, is_new] = files_.try_emplace(place.file);
    if (is_new) {
      const bool is_main = !std::filesystem::exists(place.file) && std::filesystem::path(place.file).filename() == main_.filename();
      file->second = metal::source_lines(is_main ? main_.string() : place.file);
    }
    const std::vector<std::string>& lines = file->second;
    return place.line == 0 || place.line > lines.size() ? std::string() : std::string(base::trimmed(lines[place.line - 1]));
  }

 private:
  std::filesystem::path main_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace assay::harness

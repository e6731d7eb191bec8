// Every path in the tree of docs/HACKING.md exists, and every folder is in it. Paths and links in the other documents lead to existing
// files and headings, and no document is too long. What two of them show of examples is what is tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/structure/house_rules.h"

namespace assay::tests::hacking_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

// Paths of the first code block of the document: two blanks of indentation per level, the name first on its line.
std::set<std::string> documented_paths() {
  std::ifstream document(kRoot / "docs/HACKING.md");
  std::set<std::string> paths;
  std::vector<std::string> parents;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("```")) {
      if (inside) break;
      inside = true;
      continue;
    }
    const std::size_t indent = line.find_first_not_of(' ');
    if (!inside || indent == std::string::npos) continue;
    std::string name = line.substr(indent, line.find_first_of(" ,", indent) - indent);
    const bool is_folder = name.ends_with('/');
    if (is_folder) name.pop_back();
    parents.resize(std::min(parents.size(), indent / 2));
    std::string path;
    for (const std::string& parent : parents) path += parent + "/";
    path += name;
    paths.insert(path);
    if (is_folder) parents.push_back(name);
  }
  return paths;
}

bool is_pattern(const std::string& path) { return path.find_first_of("*<") != std::string::npos; }

TEST(Hacking, EveryNameInTheTreeExists) {
  const auto paths = documented_paths();
  EXPECT_GE(paths.size(), 20u);
  for (const std::string& path : paths) {
    if (is_pattern(path)) continue;
    EXPECT_TRUE(fs::exists(kRoot / path)) << path << " is described in docs/HACKING.md and does not exist";
  }
}

TEST(Hacking, EveryFolderIsInTheTree) {
  const auto paths = documented_paths();
  for (const std::string_view folder : folders()) {
    EXPECT_TRUE(paths.contains(std::string(folder))) << folder;
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::directory_iterator(kRoot / folder)) {
      if (!entry.is_directory()) continue;
      const std::string path = std::string(folder) + "/" + entry.path().filename().string();
      const bool described = std::any_of(paths.begin(), paths.end(), [&](const std::string& p) {
        return p == path || p.starts_with(path + "/") || p.starts_with(std::string(folder) + "/<");
      });
      EXPECT_TRUE(described) << path << "/ is not described in docs/HACKING.md";
    }
  }
}

// Every `folder/...` in backticks, without those that hold blanks, patterns or placeholders.
std::vector<std::string> paths_in_backticks(const std::string& text) {
  std::vector<std::string> paths;
  std::size_t open = text.find('`');
  while (open != std::string::npos) {
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string::npos) break;
    const std::string quoted = text.substr(open + 1, close - open - 1);
    const std::string first = quoted.substr(0, quoted.find('/'));
    const bool is_ours = std::any_of(folders().begin(), folders().end(), [&](std::string_view folder) { return folder == first; });
    const bool is_path = quoted.find('/') != std::string::npos && quoted.find_first_of(" *<\n") == std::string::npos;
    if (is_path && (is_ours || first == "docs")) paths.push_back(quoted);
    open = text.find('`', close + 1);
  }
  return paths;
}

// What people read, from the root on.
std::vector<std::string> documents() {
  std::vector<std::string> names = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "tests/mutation/README.md",
                                    "tests/faults/planted/README.md"};
  for (const std::string folder : {"docs", "metal", "oracles"})
    for (const auto& entry : fs::directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") names.push_back(folder + "/" + entry.path().filename().string());
  for (const auto& entry : fs::directory_iterator(kRoot / "families"))
    if (fs::exists(entry.path() / "contract.md")) names.push_back("families/" + entry.path().filename().string() + "/contract.md");
  return names;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The text without its fenced blocks, in which brackets and hashes mean other things.
std::string prose_of(const std::string& text) {
  std::istringstream stream(text);
  std::string prose, fence;
  for (std::string line; std::getline(stream, line);) {
    const std::string backticks = line.substr(0, std::min(line.find_first_not_of('`'), line.size()));
    if (fence.empty() && backticks.size() >= 3)
      fence = backticks;
    else if (!fence.empty() && line.starts_with(fence))
      fence.clear();
    else if (fence.empty())
      prose += line + "\n";
  }
  return prose;
}

// What GitHub makes of a heading: "## In CTest" is "#in-ctest".
std::set<std::string> anchors_of(const std::string& text) {
  std::istringstream stream(prose_of(text));
  std::set<std::string> anchors;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#")) continue;
    std::string anchor;
    for (const char character : line.substr(std::min(line.find_first_not_of("# "), line.size()))) {
      if (std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '-' || character == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
      else if (character == ' ')
        anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

// A longer page answers several questions, and each reader has to find their own. The changelog is a list.
TEST(Documents, NoPageIsLongerThan300Lines) {
  for (const std::string& document : documents()) {
    if (document == "CHANGELOG.md") continue;
    const std::string text = text_of(kRoot / document);
    EXPECT_FALSE(text.empty()) << document;
    EXPECT_LE(std::ranges::count(text, '\n'), document == "README.md" ? 200 : 300) << document << ": make it two pages";
  }
}

TEST(Documents, EveryPathExists) {
  for (const std::string& document : documents()) {
    const auto paths = paths_in_backticks(text_of(kRoot / document));
    for (const std::string& path : paths) EXPECT_TRUE(fs::exists(kRoot / path)) << path << " is named in " << document;
  }
  EXPECT_GE(paths_in_backticks(text_of(kRoot / "docs/HACKING.md")).size(), 3u);
}

TEST(Documents, EveryLinkLeadsSomewhere) {
  std::size_t followed = 0;
  for (const std::string& document : documents()) {
    const std::string text = prose_of(text_of(kRoot / document));
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
      const std::string link = text.substr(at + 2, text.find(')', at) - at - 2);
      if (link.starts_with("http")) continue;
      const std::string path = link.substr(0, link.find('#'));
      const fs::path target = path.empty() ? kRoot / document : (kRoot / document).parent_path() / path;
      EXPECT_TRUE(fs::exists(target)) << document << " links to " << link;
      if (link.find('#') != std::string::npos)
        EXPECT_TRUE(anchors_of(text_of(target)).contains(link.substr(link.find('#') + 1))) << document << " links to " << link;
      ++followed;
    }
  }
  EXPECT_GE(followed, 30u);
}

// The parts of the fenced blocks of a language, between lines of three dots.
std::vector<std::string> excerpts(const std::string& text, std::string_view language) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    const bool begins = line == "```" + std::string(language);
    inside = begins || (inside && line != "```");
    if (begins || (inside && line == "..."))
      parts.emplace_back();
    else if (inside)
      parts.back() += line + "\n";
  }
  return parts;
}

// How many excerpts of a document's blocks there are; each has to be part of a file below `folder`.
std::size_t compare_excerpts(const char* document, const char* folder, const std::vector<std::string_view>& languages) {
  std::string project;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
    if (entry.is_regular_file()) project += text_of(entry.path());
  const std::string text = text_of(kRoot / document);
  std::size_t compared = 0;
  for (const std::string_view language : languages) {
    for (const std::string& excerpt : excerpts(text, language)) {
      EXPECT_TRUE(project.find(excerpt) != std::string::npos) << excerpt << "is not in " << folder;
      ++compared;
    }
  }
  return compared;
}

TEST(Documents, TheFamilyOfAnotherRepositoryIsTheTestedOne) {
  EXPECT_GE(compare_excerpts("docs/FAMILIES.md", "tests/consumer", {"cpp", "cmake", "toml"}), 10u);
}

// tests/consumer builds and runs it.
TEST(Documents, AnyKernelIsJudgedIn70Lines) {
  EXPECT_EQ(compare_excerpts("docs/LIBRARY.md", "docs/examples/any_kernel", {"cpp", "cmake", "metal"}), 3u);
  const std::string program = text_of(kRoot / "docs/examples/any_kernel/any_kernel.cpp");
  EXPECT_EQ(excerpts(text_of(kRoot / "docs/LIBRARY.md"), "cpp").at(0), program);
  EXPECT_LE(std::ranges::count(program, '\n'), 70);
}

}  // namespace
}  // namespace assay::tests::hacking_test

// Reads the blocks of a Markdown document, executes its commands and compares their output.
#include "tests/command/console_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "tests/support/command.h"

namespace assay::tests {
namespace {

namespace fs = std::filesystem;

// More than any command of a document may take, less than a test.
constexpr int kSecondsPerCommand = 120;

std::string without_trailing_blanks(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \t\r");
  return std::string(line.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  // What a machine lacks is no matter of the document.
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("note: the sandbox of kernels lacks layers: ")) lines.push_back(without_trailing_blanks(line));
  }
  return lines;
}

struct Block {
  std::size_t line = 0;  // of its first line of text
  std::string info;      // what stands behind the fence: "console", "metal file=a.metal"
  std::string text;
};

std::vector<Block> blocks_of(std::string_view markdown) {
  std::vector<Block> blocks;
  std::istringstream stream{std::string(markdown)};
  std::size_t fence = 0;  // backticks that began the present block; it ends with as many or more, and nothing behind them
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::size_t backticks = std::min(line.find_first_not_of('`'), line.size());
    const std::string info = without_trailing_blanks(line.substr(backticks));
    if (fence == 0 && backticks >= 3) {
      fence = backticks;
      blocks.push_back({number + 1, info, ""});
    } else if (fence != 0 && backticks >= fence && info.empty()) {
      fence = 0;
    } else if (fence != 0) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

void parse_commands(const Block& block, std::vector<DocumentStep>& steps) {
  static const std::regex status_of(R"(^(.*\S)\s+# exits with (\d+)$)");
  std::istringstream stream(block.text);
  std::size_t number = block.line;
  bool is_continued = false;
  std::vector<DocumentStep> commands;
  for (std::string line; std::getline(stream, line); ++number) {
    if (is_continued) {
      commands.back().command += "\n" + line;
    } else if (line.starts_with("$ ")) {
      commands.push_back({.line = number, .command = line.substr(2)});
    } else if (commands.empty()) {
      throw std::runtime_error(fmt::format("line {}: a console block begins with a command", number));
    } else {
      commands.back().expected.push_back(without_trailing_blanks(line));
      continue;
    }
    is_continued = line.ends_with('\\');
  }
  for (DocumentStep& command : commands) {
    std::smatch match;
    if (std::regex_match(command.command, match, status_of)) {
      command.status = std::stoi(match[2]);
      command.command = std::string(match[1]);
    }
    // A blank line above the next command is for the eye.
    while (!command.expected.empty() && command.expected.back().empty()) command.expected.pop_back();
    steps.push_back(command);
  }
}

}  // namespace

std::vector<DocumentStep> parse_document(std::string_view markdown) {
  std::vector<DocumentStep> steps;
  for (const Block& block : blocks_of(markdown)) {
    if (block.info == "console") {
      parse_commands(block, steps);
      continue;
    }
    const std::size_t file = block.info.find(" file=");
    if (file != std::string::npos) steps.push_back({.line = block.line, .file = block.info.substr(file + 6), .text = block.text});
  }
  return steps;
}

std::vector<std::size_t> unexecuted_prompts(std::string_view markdown) {
  std::vector<std::size_t> places;
  for (const Block& block : blocks_of(markdown)) {
    if (block.info == "console" || block.info.find(" file=") != std::string::npos) continue;
    std::istringstream stream(block.text);
    std::size_t number = block.line;
    for (std::string line; std::getline(stream, line); ++number)
      if (line.starts_with("$ ")) places.push_back(number);
  }
  return places;
}

bool matches_line(std::string_view expected, std::string_view actual) {
  std::size_t dots = expected.find("...");
  if (dots == std::string_view::npos) return expected == actual;
  if (!actual.starts_with(expected.substr(0, dots))) return false;
  actual.remove_prefix(dots);
  // The earliest place of each piece between two `...` leaves the most for those behind it; the last piece ends the line.
  for (;;) {
    expected.remove_prefix(dots + 3);
    dots = expected.find("...");
    if (dots == std::string_view::npos) return actual.size() >= expected.size() && actual.ends_with(expected);
    const std::size_t place = actual.find(expected.substr(0, dots));
    if (place == std::string_view::npos) return false;
    actual.remove_prefix(place + dots);
  }
}

bool matches_output(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  // reachable[j]: the lines of `expected` seen so far can be the first j lines of `actual`.
  std::vector<bool> reachable(actual.size() + 1, false);
  reachable[0] = true;
  for (const std::string& line : expected) {
    std::vector<bool> next(actual.size() + 1, false);
    if (line == "...") {
      bool any = false;
      for (std::size_t j = 0; j <= actual.size(); ++j) next[j] = any = any || reachable[j];
    } else {
      for (std::size_t j = 0; j < actual.size(); ++j) next[j + 1] = reachable[j] && matches_line(line, actual[j]);
    }
    reachable = next;
  }
  return reachable.back();
}

std::vector<std::string> execute_document(const std::vector<DocumentStep>& steps, const fs::path& folder, const std::string& environment) {
  std::vector<std::string> complaints;
  for (const DocumentStep& step : steps) {
    if (!step.file.empty()) {
      fs::create_directories((folder / step.file).parent_path());
      std::ofstream(folder / step.file) << step.text;
      continue;
    }
    // The command stands in a file, so that nothing has to be quoted; that file is not in the document's folder, where it would be seen.
    const fs::path script = folder.string() + ".command";
    std::ofstream(script) << step.command << "\n";
    const std::string command = fmt::format("cd '{}' && env {} timeout --kill-after=5 {} bash -e '{}' < /dev/null", folder.string(),
                                            environment, kSecondsPerCommand, script.string());
    const auto [status, output] = run_command(command);
    fs::remove(script);

    if (status != step.status)
      complaints.push_back(
          fmt::format("line {}: `{}` ended with {}, not with {}, and printed:\n{}", step.line, step.command, status, step.status, output));
    else if (!step.expected.empty() && !matches_output(step.expected, lines_of(output)))
      complaints.push_back(fmt::format("line {}: `{}` printed:\n{}\nand the document says:\n{}\n", step.line, step.command, output,
                                       fmt::join(step.expected, "\n")));
  }
  return complaints;
}

}  // namespace assay::tests

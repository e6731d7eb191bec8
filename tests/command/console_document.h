// A Markdown document whose commands can be executed; their output is compared with the output that it shows.
//
// Two kinds of fenced blocks are read; all others are left alone:
//
//   ```console              commands, executed by bash one after the other in one folder per document
//   $ assay run CASE        a command; a line that ends with \ goes on in the next one, as in bash
//   passed CASE             what it prints (stdout and stderr), line by line; blanks at the ends of lines do not count
//   ...                     stands for any lines, none included
//   largest ... in CASE     within a line it stands for any text
//   $ assay run nonsense    # exits with 2
//                           a status other than 0 is said behind the command. A command with no line below it may print anything.
//
//   ```metal file=a.metal   a file of that name, in that folder, with the block as its text; of any language
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::tests {

struct DocumentStep {
  std::size_t line = 0;  // in the document, from 1 on
  // Either a command with what it must print and end with ...
  std::string command = {};
  std::vector<std::string> expected = {};
  int status = 0;
  // ... or a file.
  std::string file = {};
  std::string text = {};
};

[[nodiscard]] std::vector<DocumentStep> parse_document(std::string_view markdown);

// Places of prompts (`$ ` at the start of a line) that nothing executes, because their block is of another kind.
[[nodiscard]] std::vector<std::size_t> unexecuted_prompts(std::string_view markdown);

// Whether `actual` is what `expected` says, with `...` as above.
[[nodiscard]] bool matches_line(std::string_view expected, std::string_view actual);
[[nodiscard]] bool matches_output(const std::vector<std::string>& expected, const std::vector<std::string>& actual);

// Executes the steps in `folder`, each command after `environment` ("NAME='value' ..."), and says where the document is wrong:
// a text per command, with what it printed instead. It goes on after a command that is wrong.
[[nodiscard]] std::vector<std::string> execute_document(const std::vector<DocumentStep>& steps, const std::filesystem::path& folder,
                                                        const std::string& environment);

}  // namespace assay::tests

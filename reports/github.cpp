// Writes annotations as commands to the runner of GitHub Actions.
#include "reports/github.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "reports/clean_text.h"
#include "reports/grouped.h"
#include "reports/markdown_text.h"

namespace assay::reports {
namespace {

constexpr std::size_t kLongestTitle = 200;
constexpr std::size_t kLongestMessage = 4000;

constexpr std::array<std::string_view, 3> kCommands = {"notice", "warning", "error"};  // in the order of Level

std::string encoded(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) == std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

// The runner decodes these, and nothing else.
std::string message_text(std::string_view text) { return encoded(text, "%\r\n"); }
std::string property_text(std::string_view text) { return encoded(text, "%\r\n:,"); }

std::string cut(std::string text, std::size_t length) {
  if (text.size() <= length) return text;
  while ((static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80) --length;
  return text.substr(0, length) + " ...";
}

std::string workflow_command(const Annotation& it) {
  std::string message = clean_text(it.message);
  while (message.ends_with('\n')) message.pop_back();
  std::string properties;
  if (it.place.file.starts_with('/')) {
    message = fmt::format("{}{}\n{}", clean_text(it.place.file), it.place.line == 0 ? "" : fmt::format(":{}", it.place.line), message);
  } else if (!it.place.file.empty()) {
    properties = fmt::format("file={},line={},", property_text(clean_text(it.place.file)), it.place.line == 0 ? 1 : it.place.line);
  }
  return fmt::format("::{} {}title={}::{}\n", kCommands.at(static_cast<std::size_t>(it.level)), properties,
                     property_text(short_line(it.title, kLongestTitle)), message_text(cut(std::move(message), kLongestMessage)));
}

}  // namespace

std::string github_commands(std::span<const Annotation> annotations) {
  std::string text;
  std::array<std::size_t, 3> counts{};
  for (const Annotation& it : annotations) {
    if (++counts.at(static_cast<std::size_t>(it.level)) <= kMostCommands) text += workflow_command(it);
  }
  std::string left_out;
  for (std::size_t level = counts.size(); level-- > 0;) {
    if (counts.at(level) <= kMostCommands) continue;
    left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", plural(counts.at(level) - kMostCommands, kCommands.at(level)));
  }
  if (!left_out.empty()) text += fmt::format("::notice title=assay::GitHub would not show further ones of this step: {}\n", left_out);
  return text;
}

}  // namespace assay::reports

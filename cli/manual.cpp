// Renders the help of commands as manual pages.
#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "cli/complete.h"

namespace assay::cli {
namespace {

// Text of one line, in which roff sees no commands.
std::string escaped(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char character : text) {
    switch (character) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '"':
        result += "\\(dq";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// The value of an option in its synopsis: "NAME", "native|checked|shadow"; empty for a flag.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  if (const std::vector<std::string> values = listed_values(type); !values.empty()) return fmt::format("{}", fmt::join(values, "|"));
  return type.substr(0, type.find(':'));
}

std::string options_of(const CLI::App& command) {
  std::string arguments, options;
  for (const CLI::Option* option : command.get_options()) {
    std::string& text = option->get_positional() ? arguments : options;
    std::string names;
    if (option->get_positional()) names = fmt::format("\\fI{}\\fR", escaped(option->get_name(true)));
    for (const std::string& name : option->get_snames()) names += fmt::format("\\fB\\-{}\\fR, ", escaped(name));
    for (const std::string& name : option->get_lnames()) names += fmt::format("\\fB\\-\\-{}\\fR, ", escaped(name));
    if (names.ends_with(", ")) names.resize(names.size() - 2);
    const std::string value = option->get_positional() ? std::string() : value_of(*option);
    text += fmt::format(".TP\n{}{}\n{}", names, value.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(value)),
                        escaped(option->get_description()));
    if (!option->get_default_str().empty()) text += fmt::format("; default: {}", escaped(option->get_default_str()));
    text += '\n';
  }
  return (arguments.empty() ? "" : ".SH ARGUMENTS\n" + arguments) + (options.empty() ? "" : ".SH OPTIONS\n" + options);
}

// The footer of a help: titles at the start of a line, and lines below them, indented.
std::string footer_of(const CLI::App& command) {
  std::string text;
  bool is_verbatim = false;
  const auto end_verbatim = [&] {
    if (is_verbatim) text += ".fi\n";
    is_verbatim = false;
  };
  const std::string footer = command.get_footer();
  for (const std::string_view line : base::lines_of(footer)) {
    if (line.starts_with("  ")) {
      if (!is_verbatim) text += ".nf\n";
      is_verbatim = true;
      text += escaped(line.substr(2)) + '\n';
    } else if (line == "examples" || line == "exit status") {
      end_verbatim();
      text += fmt::format(".SH {}\n", upper(std::string(line)));
    } else if (line.starts_with("exit status ")) {
      end_verbatim();
      text += fmt::format(".SH EXIT STATUS\n{}\n", escaped(line.substr(std::string_view("exit status ").size())));
    } else if (!line.empty()) {
      const bool follows_text = !is_verbatim && !text.empty() && text.find('\n') != text.size() - 1;
      end_verbatim();
      text += fmt::format("{}{}\n", follows_text ? "" : ".PP\n", escaped(line));
    }
  }
  end_verbatim();
  return text;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string synopsis_of(const std::string& name, const CLI::App& command) {
  std::string text = fmt::format(".B {}\n[\\fIoptions\\fR]", escaped(name));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string word = fmt::format("\\fI{}\\fR{}", escaped(option->get_name(true)), option->get_expected_max() > 1 ? " ..." : "");
    text += option->get_required() ? " " + word : fmt::format(" [{}]", word);
  }
  if (!commands_of(command).empty()) text += " \\fIcommand\\fR";
  return text + '\n';
}

ManualPage page_of(const std::string& name, const CLI::App& command, std::string_view version, const std::string& see_also) {
  std::string page = name;
  std::ranges::replace(page, ' ', '-');
  const std::string description = command.get_description();
  // The first clause, because tools that index pages want one line.
  const std::string brief = description.substr(0, std::min({description.find(": "), description.find("; "), description.find(". ")}));
  std::string text =
      fmt::format(".TH {} 1 \"\" \"{}\" \"User commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n",
                  escaped(upper(page)), escaped(version), escaped(page), escaped(brief), synopsis_of(name, command), escaped(description));
  if (const auto commands = commands_of(command); !commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CLI::App* inner : commands)
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(inner->get_name()), escaped(inner->get_description()));
  }
  text += options_of(command) + footer_of(command);
  if (!see_also.empty()) text += fmt::format(".SH SEE ALSO\n{}\n", see_also);
  return {page + ".1", text};
}

}  // namespace

std::vector<ManualPage> manual_pages(const CLI::App& app) {
  const std::string version = app.version().substr(0, app.version().find(','));
  std::string all;
  for (const CLI::App* command : commands_of(app))
    all += fmt::format("{}.BR assay\\-{} (1)", all.empty() ? "" : "\n", escaped(command->get_name()));
  std::vector<ManualPage> pages = {page_of("assay", app, version, all)};
  for (const CLI::App* command : commands_of(app)) {
    const std::string name = fmt::format("assay {}", command->get_name());
    ManualPage page = page_of(name, *command, version, commands_of(*command).empty() ? ".BR assay (1)" : "");
    for (const CLI::App* inner : commands_of(*command)) {
      page.text += fmt::format(".SH {}\n{}.PP\n{}\n", escaped(upper(inner->get_name())),
                               synopsis_of(fmt::format("{} {}", name, inner->get_name()), *inner), escaped(inner->get_description()));
      std::string options = options_of(*inner);
      for (const std::string_view title : {".SH ARGUMENTS\n", ".SH OPTIONS\n"}) {
        if (const std::size_t at = options.find(title); at != std::string::npos) options.erase(at, title.size());
      }
      page.text += options;
    }
    pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace assay::cli

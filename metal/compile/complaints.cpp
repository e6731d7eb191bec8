// Collects clang's errors in a source, with their places, without compiling it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "base/hash.h"
#include "metal/compile/compiler.h"
#include "metal/compile/error_lines.h"
#include "metal/compile/messages.h"
#include "metal/compile/temporary_file.h"

namespace assay::metal::compile {

namespace {

constexpr std::string_view kSource = "<source>";  // in messages, for the temporary file

constexpr base::CommandLimits kExamining{std::size_t{64} << 20, std::uint64_t{8} << 30, 120, 600};

std::optional<std::size_t> number(std::string_view& text) {
  std::size_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

bool skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// `L:C`
std::optional<TextPlace> place(std::string_view& text) {
  const auto line = number(text);
  if (!line || !skip(text, ":")) return std::nullopt;
  const auto column = number(text);
  return column ? std::optional(TextPlace{*line, *column}) : std::nullopt;
}

struct Line {
  std::optional<TextPlace> place;  // empty: in another file
  std::vector<std::pair<TextPlace, TextPlace>> ranges;
  bool is_error = false;
  std::string text;
};

// `<source>:L:C:{L:C-L:C}{...}: error: <text>`
std::optional<Line> parse(std::string_view line) {
  Line result;
  std::string_view rest = line;
  if (skip(rest, kSource) && skip(rest, ":")) {
    result.place = place(rest);
    skip(rest, ":");
    while (skip(rest, "{")) {
      const auto first = place(rest);
      if (!first || !skip(rest, "-")) break;
      const auto last = place(rest);
      if (!last || !skip(rest, "}")) break;
      result.ranges.emplace_back(*first, *last);
    }
  }
  for (const std::string_view severity : {": fatal error: ", ": error: ", ": note: ", " error: ", " note: "}) {
    const auto at = line.find(severity);
    if (at == std::string_view::npos) continue;
    result.is_error = severity.find("error") != std::string_view::npos;
    result.text = line.substr(at + severity.size());
    return result;
  }
  return std::nullopt;
}

std::vector<Complaint> complaints_in(std::string_view errors) {
  std::vector<Complaint> result;
  for (std::size_t start = 0; start < errors.size();) {
    const auto end = std::min(errors.find('\n', start), errors.size());
    const auto line = parse(errors.substr(start, end - start));
    start = end + 1;
    if (!line) continue;
    if (line->is_error) {
      result.push_back({line->text, {}, line->place, std::nullopt, line->ranges});
      continue;
    }
    if (result.empty()) continue;
    result.back().notes += line->text + "\n";
    if (line->place) {
      if (!result.back().place) result.back().place = line->place;
      if (line->text.find("requested here") != std::string::npos) result.back().requested = line->place;
    }
  }
  return result;
}

}  // namespace

std::vector<Complaint> Compiler::complaints(std::string_view source) const {
  std::vector<std::string> command = {clang_};
  const auto flags = language_flags();
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-fsyntax-only", "-fshow-column", "-fdiagnostics-print-source-range-info", "-ferror-limit=0",
                                 "-fno-spell-checking", "-ftemplate-backtrace-limit=0"});
  // The kernels of a file are probed with the same text, and again in the next run.
  const std::string entry = base::Hash().add(toolchain_).add(fmt::format("{}", fmt::join(command, " "))).add(source).hex() + ".complaints";
  if (const auto kept = kept_text(entry)) return complaints_in(*kept);
  const TemporaryFile input(cache_, source, ".clcpp");
  command.insert(command.end(), {"-include-pch", prelude(flags, "kernel.h", "-c").string(), input.path().string()});
  const auto run = run_tool(command, cache_only(), kExamining, cache_.directory());
  std::string errors = run.errors;
  replace_all(errors, input.path().string(), kSource);
  const bool is_answer = run.exit_code == 0 || (run.exit_code == 1 && are_about_sources(errors));
  if (is_answer && !run.is_cut && !run.is_late) keep_text(entry, errors + "\n");  // an entry has contents
  return complaints_in(errors);
}

}  // namespace assay::metal::compile

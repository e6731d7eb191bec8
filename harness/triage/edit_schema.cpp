// Writes sources that hold many edits.
#include "harness/triage/edit_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "harness/mutate/structure.h"

namespace assay::harness {
namespace {

// The ends of the parts between commas that no brackets enclose.
std::vector<TokenRange> parts_of(const std::vector<SourceToken>& tokens, TokenRange range) {
  std::vector<TokenRange> parts;
  std::size_t first = range.first;
  for (std::size_t i = range.first; i < range.last;) {
    if (tokens[i].is(",")) {
      parts.push_back({first, i});
      first = i + 1;
    }
    const bool opens = tokens[i].is("(") || tokens[i].is("[") || tokens[i].is("{") || (tokens[i].is_angle && tokens[i].is("<"));
    i = opens && tokens[i].match > i ? tokens[i].match + 1 : i + 1;
  }
  parts.push_back({first, range.last});
  return parts;
}

// What the edit makes of the part of the source that begins at `begin`.
std::string edited_part(const Edit& edit, std::size_t begin, std::string_view part) {
  std::string text(part);
  const std::vector<std::size_t> offsets = edit.offsets();
  for (auto offset = offsets.rbegin(); offset != offsets.rend(); ++offset) {
    if (*offset >= begin && *offset < begin + part.size()) text.replace(*offset - begin, edit.length, edit.replacement);
  }
  return text;
}

}  // namespace

EditSchemata::EditSchemata(const Source& source) : text_(source.text()) {
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    const std::vector<SourceToken>& tokens = piece.tokens;
    const auto add = [&](TokenRange range, bool is_statement) {
      if (range.is_empty() || tokens[range.first].is("{")) return;
      const SourceToken& last = tokens[range.last - 1];
      containers_.push_back({tokens[range.first].offset, last.offset + last.text.size(), is_statement});
    };
    const Structure structure = read_structure(piece);
    std::set<std::size_t> starts;
    for (const TokenRange& statement : structure.statements) {
      starts.insert(statement.first);
      add(statement, true);
    }
    for (const Expression& expression : structure.expressions) {
      if (expression.is_fixed || starts.contains(expression.range.first)) continue;
      for (const TokenRange& part : parts_of(tokens, expression.range)) add(part, false);
    }
  }
  std::ranges::sort(containers_, {}, &Container::begin);
  const auto overlaps = [](const Container& one, const Container& next) { return next.begin < one.end; };
  containers_.erase(std::ranges::unique(containers_, overlaps).begin(), containers_.end());
}

std::optional<std::size_t> EditSchemata::container_of(std::size_t offset, std::size_t length) const {
  const auto behind = std::ranges::upper_bound(containers_, offset, {}, &Container::begin);
  if (behind == containers_.begin()) return std::nullopt;
  const auto found = behind - 1;
  if (offset + length > found->end) return std::nullopt;
  return static_cast<std::size_t>(found - containers_.begin());
}

std::set<std::size_t> EditSchemata::containers_of(const Edit& edit) const {
  std::set<std::size_t> containers;
  for (const std::size_t offset : edit.offsets()) {
    const std::optional<std::size_t> container = container_of(offset, edit.length);
    if (!container) return {};
    containers.insert(*container);
  }
  return containers;
}

bool EditSchemata::share_place(const Edit& one, const Edit& other) const {
  const std::set<std::size_t> places = containers_of(one);
  return std::ranges::any_of(containers_of(other), [&](std::size_t place) { return places.contains(place); });
}

EditSchemata::Schema EditSchemata::schema_of(std::span<const Edit> edits) const {
  Schema schema;
  schema.lines.resize(edits.size());
  std::vector<std::vector<std::size_t>> of_container(containers_.size());
  for (std::size_t i = 0; i < edits.size(); ++i) {
    for (const std::size_t container : containers_of(edits[i])) of_container[container].push_back(i);
  }
  std::uint32_t line = 1;
  const auto write = [&](std::string_view text) {
    schema.text += text;
    line += static_cast<std::uint32_t>(std::ranges::count(text, '\n'));
  };
  std::size_t done = 0;
  for (std::size_t at = 0; at < containers_.size(); ++at) {
    if (of_container[at].empty()) continue;
    const Container& container = containers_[at];
    const std::string_view original = std::string_view(text_).substr(container.begin, container.end - container.begin);
    write(std::string_view(text_).substr(done, container.begin - done));
    write(container.is_statement ? "\n" : "(\n");
    // The compiler stops at the first wrong statement behind an `else` when it instantiates a template, but goes on in a block. A jump
    // would leave the block only.
    const bool is_block =
        container.is_statement && original.find("break") == std::string_view::npos && original.find("continue") == std::string_view::npos;
    std::string others;
    if (is_block) write("do {\n");
    for (const std::size_t number : of_container[at]) {
      const std::string edited = edited_part(edits[number], container.begin, original);
      schema.lines[number].push_back({.first = line});
      if (container.is_statement) {
        write(fmt::format("if (__assay_choice() == {}u) {{ {}; }}{}\n", number + 1, edited, is_block ? "" : " else"));
        others += fmt::format("{}__assay_choice() == {}u", others.empty() ? "" : " || ", number + 1);
      } else {
        write(fmt::format("__assay_choice() == {}u ? ({}) :\n", number + 1, edited));
      }
      schema.lines[number].back().last = line;
    }
    if (is_block) {
      write(fmt::format("if (!({})) {{ {}; }}\n}} while (false)", others, original));
    } else if (container.is_statement) {
      write(original);
    } else {
      write(fmt::format("({}))", original));
    }
    done = container.end;
  }
  write(std::string_view(text_).substr(done));
  return schema;
}

std::vector<std::size_t> edits_with_errors(const EditSchemata::Schema& schema, std::string_view messages) {
  std::set<std::uint32_t> lines;
  constexpr std::string_view kError = ": error:";
  for (std::size_t at = messages.find(kError); at != std::string_view::npos; at = messages.find(kError, at + 1)) {
    const std::size_t colon = messages.rfind(':', at - 1);
    std::uint32_t line = 0;
    if (colon != std::string_view::npos) std::from_chars(messages.data() + colon + 1, messages.data() + at, line);
    lines.insert(line);
  }
  std::vector<std::size_t> found;
  const auto has_error = [&](const EditSchemata::Schema::Lines& part) {
    const auto first = lines.lower_bound(part.first);
    return first != lines.end() && *first < part.last;
  };
  for (std::size_t i = 0; i < schema.lines.size(); ++i) {
    if (std::ranges::any_of(schema.lines[i], has_error)) found.push_back(i);
  }
  return found;
}

}  // namespace assay::harness

// Formats and parses the names of cases.
#include "harness/cases/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "base/nearest_word.h"
#include "base/text.h"
#include "harness/cases/file_case.h"

namespace assay::harness {
namespace {

constexpr std::string_view kBeyond = "beyond-";

// A decimal number at the start of `text`, without leading zeros. Advances `text` past it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || length == 0 || (length > 1 && text.front() == '0')) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Calls on_text(literal) and on_axis(name) for the parts of a pattern, in order, until one of them returns false.
template <typename OnText, typename OnAxis>
bool walk(std::string_view pattern, const OnText& on_text, const OnAxis& on_axis) {
  while (!pattern.empty()) {
    const std::size_t open = pattern.find('{');
    if (!on_text(pattern.substr(0, open))) return false;
    if (open == std::string_view::npos) return true;
    const std::size_t close = pattern.find('}', open);
    if (!on_axis(pattern.substr(open + 1, close - open - 1))) return false;
    pattern.remove_prefix(close + 1);
  }
  return true;
}

std::vector<std::size_t> axes_of(const Family& family, const families::WordForm& form) {
  std::vector<std::size_t> axes;
  for (const auto& [axis, value] : form.fixed) axes.push_back(family.axis_index(axis));
  walk(
      form.pattern, [](std::string_view) { return true; },
      [&](std::string_view axis) {
        axes.push_back(family.axis_index(axis));
        return true;
      });
  return axes;
}

bool fits(const Family& family, const families::WordForm& form, std::span<const std::int64_t> values) {
  return std::ranges::all_of(form.fixed, [&](const auto& setting) { return values[family.axis_index(setting.first)] == setting.second; });
}

std::string print(const Family& family, const families::WordForm& form, std::span<const std::int64_t> values) {
  std::string text;
  walk(
      form.pattern,
      [&](std::string_view literal) {
        text += literal;
        return true;
      },
      [&](std::string_view axis) {
        text += fmt::format("{}", values[family.axis_index(axis)]);
        return true;
      });
  return text;
}

// Reads `word` by one form into `values`. Returns false if the word is not of that form. A number outside of its axis is an error.
bool read(const Family& family, const families::WordForm& form, std::string_view word, std::span<std::int64_t> values) {
  std::vector<std::pair<const Axis*, std::uint64_t>> numbers;
  std::string_view rest = word;
  const bool matched = walk(
      form.pattern, [&](std::string_view literal) { return take_prefix(rest, literal); },
      [&](std::string_view axis) {
        const auto number = take_number(rest);
        if (number) numbers.emplace_back(&family.axes[family.axis_index(axis)], *number);
        return number.has_value();
      });
  if (!matched || !rest.empty()) return false;
  for (const auto& [axis, number] : numbers) {
    if (number > static_cast<std::uint64_t>(axis->maximum) || !axis->holds(static_cast<std::int64_t>(number))) {
      throw std::invalid_argument(fmt::format("'{}': {} = {} is outside {}", word, axis->name, number, axis->range()));
    }
    values[family.axis_index(axis->name)] = static_cast<std::int64_t>(number);
  }
  for (const auto& [axis, value] : form.fixed) values[family.axis_index(axis)] = value;
  return true;
}

// The description of a word in messages: "d<head_dim>", "nomask | causal | ...".
std::string describe(const families::Word& word) {
  std::vector<std::string> forms;
  for (const families::WordForm& form : word.forms) {
    std::string text(form.pattern);
    std::ranges::replace(text, '{', '<');
    std::ranges::replace(text, '}', '>');
    forms.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(forms, " | "));
}

std::string accepted(const Family& family) {
  std::string text;
  for (const families::Word& word : family.words) text += describe(word) + ", ";
  std::vector<std::string_view> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (family.has_fixture(fixture)) names.push_back(fixture.name);
  }
  return fmt::format("{}a fixture ({} | h5-<file>), s<seed>", text, fmt::join(names, " | "));
}

// The words of a case that may be meant by `word`: fixtures, and each form of the grammar that was not `seen` with the numbers of `word` in
// their order.
std::vector<std::string> words_like(const Family& family, std::string_view word, const std::vector<bool>& seen) {
  std::vector<std::string> words;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (family.has_fixture(fixture)) words.emplace_back(fixture.name);
  }
  std::vector<std::uint64_t> numbers;
  for (std::string_view rest = word; !rest.empty();) {
    if (const auto number = take_number(rest))
      numbers.push_back(*number);
    else
      rest.remove_prefix(1);
  }
  for (std::size_t i = 0; i < family.words.size(); ++i) {
    if (seen[i]) continue;
    for (const families::WordForm& form : family.words[i].forms) {
      std::string text;
      auto number = numbers.begin();
      const bool has_numbers = walk(
          form.pattern,
          [&](std::string_view literal) {
            text += literal;
            return true;
          },
          [&](std::string_view) {
            if (number == numbers.end()) return false;
            text += fmt::format("{}", *number++);
            return true;
          });
      if (has_numbers && number == numbers.end()) words.push_back(std::move(text));
    }
  }
  return words;
}

bool is_fixture(const Family& family, std::string_view word) {
  if (file_stem(word)) return true;
  return std::ranges::any_of(fixtures::all_fixtures(),
                             [&](const fixtures::Fixture& fixture) { return fixture.name == word && family.has_fixture(fixture); });
}

}  // namespace

std::vector<std::string> testable_omissions(const Family& family) {
  std::vector<std::string> words;
  for (const Omission& omission : family.omissions) {
    if (!omission.ability.empty()) words.push_back(fmt::format("{}{}", kBeyond, omission.id));
  }
  return words;
}

std::string name_grammar(const Family& family) {
  std::string text = "VARIANT";
  for (const families::Word& word : family.words) {
    const std::string forms = word.forms.size() == 1 ? describe(word) : fmt::format("({})", describe(word));
    text += word.optional ? fmt::format("[/{}]", forms) : fmt::format("/{}", forms);
  }
  return text + "/FIXTURE/s<seed>";
}

std::string_view variant_of(std::string_view name) { return name.substr(0, name.find('/')); }

std::string_view beyond_of(std::string_view name) {
  for (const std::string_view word : base::split(name, '/')) {
    if (word.starts_with(kBeyond)) return word.substr(kBeyond.size());
  }
  return {};
}

std::string format_case(const Case& value) {
  const Family& family = *value.family;
  std::string name = value.variant;
  for (const families::Word& word : family.words) {
    const auto initial = [&](std::size_t axis) { return value.values[axis] == family.axes[axis].initial; };
    if (word.optional && std::ranges::all_of(axes_of(family, word.forms.front()), initial)) continue;
    const auto form =
        std::ranges::find_if(word.forms, [&](const families::WordForm& candidate) { return fits(family, candidate, value.values); });
    if (form == word.forms.end()) throw std::invalid_argument(fmt::format("no word of family {} names these axis values", family.name()));
    name += '/' + print(family, *form, value.values);
  }
  return fmt::format("{}/{}/s{}{}", name, value.fixture, value.seed,
                     value.beyond.empty() ? "" : fmt::format("/{}{}", kBeyond, value.beyond));
}

// Long because it has a message for each kind of word.
Case parse_case(std::string_view name, const Family& family) {
  const auto fail = [&](const std::string& what) {
    throw std::invalid_argument(
        fmt::format("case '{}': {}; a {} case is VARIANT/ followed by {}", name, what, family.name(), accepted(family)));
  };

  Case result;
  result.family = &family;
  result.variant = variant_of(name);
  for (const Axis& axis : family.axes) result.values.push_back(axis.initial);

  std::vector<bool> seen(family.words.size(), false);
  bool seeded = false;
  std::string_view rest = name;
  rest.remove_prefix(std::min(rest.size(), result.variant.size() + 1));
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view word = rest.substr(0, slash);
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);

    const auto once = [&](bool already) {
      if (already) fail(fmt::format("'{}' repeats what an earlier word already set", word));
    };
    if (is_fixture(family, word)) {
      once(!result.fixture.empty());
      result.fixture = word;
      continue;
    }
    if (word.starts_with(kBeyond)) {
      once(!result.beyond.empty());
      result.beyond = word.substr(kBeyond.size());
      const std::vector<std::string> accepted_words = testable_omissions(family);
      if (std::ranges::find(accepted_words, word) == accepted_words.end())
        fail(fmt::format("'{}' is unknown{}; accepted: {}", word, base::did_you_mean(word, accepted_words),
                         fmt::join(accepted_words, ", ")));
      continue;
    }
    std::string_view digits = word;
    if (take_prefix(digits, "s")) {
      if (const auto seed = take_number(digits); seed && digits.empty()) {
        once(seeded);
        seeded = true;
        result.seed = *seed;
        continue;
      }
    }
    bool understood = false;
    for (std::size_t i = 0; i < family.words.size() && !understood; ++i) {
      for (const families::WordForm& form : family.words[i].forms) {
        try {
          understood = read(family, form, word, result.values);
        } catch (const std::invalid_argument& error) {
          fail(error.what());
        }
        if (!understood) continue;
        once(seen[i]);
        seen[i] = true;
        break;
      }
    }
    if (!understood) fail(fmt::format("'{}' is unknown{}", word, base::did_you_mean(word, words_like(family, word, seen))));
  }
  for (std::size_t i = 0; i < family.words.size(); ++i) {
    if (!seen[i] && !family.words[i].optional) fail(fmt::format("'{}' is missing", describe(family.words[i])));
  }
  if (result.fixture.empty()) fail("a fixture is missing");
  if (!seeded) fail("'s<seed>' is missing");
  return result;
}

}  // namespace assay::harness

// Compares sources token by token, and finds the smallest difference that must be undone.
#include "harness/triage/hunks.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "harness/compare/source_words.h"

namespace assay::harness {
namespace {

// Pairs of equal tokens, ascending in both, by Myers' greedy algorithm. nullopt if more than `most` edits are needed.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>> common_tokens(const std::vector<SourceWord>& a,
                                                                              const std::vector<SourceWord>& b, std::ptrdiff_t most) {
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const auto m = static_cast<std::ptrdiff_t>(b.size());
  const auto equal = [&](std::ptrdiff_t x, std::ptrdiff_t y) {
    return a[static_cast<std::size_t>(x)].text == b[static_cast<std::size_t>(y)].text;
  };
  std::vector<std::vector<std::ptrdiff_t>> history;
  std::vector<std::ptrdiff_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
  const auto at = [&](std::vector<std::ptrdiff_t>& row, std::ptrdiff_t k) -> std::ptrdiff_t& {
    return row[static_cast<std::size_t>(k + most + 1)];
  };
  for (std::ptrdiff_t d = 0; d <= most; ++d) {
    history.push_back(furthest);
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      std::ptrdiff_t x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      std::ptrdiff_t y = x - k;
      while (x < n && y < m && equal(x, y)) ++x, ++y;
      at(furthest, k) = x;
      if (x < n || y < m) continue;
      std::vector<std::pair<std::size_t, std::size_t>> pairs;
      for (std::ptrdiff_t step = d; step >= 0; --step) {
        std::vector<std::ptrdiff_t>& row = history[static_cast<std::size_t>(step)];
        const std::ptrdiff_t diagonal = x - y;
        const bool came_down = diagonal == -step || (diagonal != step && at(row, diagonal - 1) < at(row, diagonal + 1));
        const std::ptrdiff_t from = came_down ? diagonal + 1 : diagonal - 1;
        const std::ptrdiff_t from_x = step == 0 ? 0 : at(row, from);
        const std::ptrdiff_t from_y = step == 0 ? 0 : from_x - from;
        while (x > from_x && y > from_y && equal(x - 1, y - 1)) {
          --x, --y;
          pairs.emplace_back(static_cast<std::size_t>(x), static_cast<std::size_t>(y));
        }
        x = from_x;
        y = from_y;
      }
      std::ranges::reverse(pairs);
      return pairs;
    }
  }
  return std::nullopt;
}

// The line ends of directives do not count as a difference.
std::vector<SourceWord> words_across_lines(std::string_view source) {
  std::vector<SourceWord> words = source_words(source);
  std::erase_if(words, [](const SourceWord& word) { return word.text == "\\"; });
  return words;
}

bool ends_statement(std::string_view token) { return token == ";" || token == "{" || token == "}"; }

std::uint32_t line_at(std::string_view text, std::size_t offset) {
  return static_cast<std::uint32_t>(1 + std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace

std::optional<std::vector<Hunk>> hunks_between(std::string_view source, std::string_view other, bool related) {
  const std::vector<SourceWord> a = words_across_lines(source);
  const std::vector<SourceWord> b = words_across_lines(other);
  // The time grows with the square of the edits.
  const std::ptrdiff_t most_edits = related ? 6000 : 1200;
  auto pairs = common_tokens(a, b, most_edits);
  if (!pairs || (!related && pairs->size() * 2 < std::max(a.size(), b.size()))) return std::nullopt;
  pairs->emplace_back(a.size(), b.size());
  std::vector<Hunk> hunks;
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  const auto end_of = [](const std::vector<SourceWord>& tokens, std::size_t i) { return tokens[i].offset + tokens[i].text.size(); };
  for (const auto& [next_a, next_b] : *pairs) {
    if (next_a > in_a || next_b > in_b) {
      Hunk hunk;
      const std::size_t after_last = in_a == 0 ? 0 : end_of(a, in_a - 1);
      hunk.begin = next_a > in_a ? a[in_a].offset : after_last;
      hunk.end = next_a > in_a ? end_of(a, next_a - 1) : after_last;
      if (next_b > in_b) hunk.other = std::string(other.substr(b[in_b].offset, end_of(b, next_b - 1) - b[in_b].offset));
      hunk.line = line_at(source, hunk.begin);
      hunk.last_line = line_at(source, hunk.end);
      // Text that is missing after a complete statement would begin on the next line.
      const bool is_missing = next_a == in_a && in_a > 0 && next_a < a.size();
      if (is_missing && ends_statement(a[in_a - 1].text) && line_at(source, a[next_a].offset) > hunk.line) ++hunk.line, ++hunk.last_line;
      hunks.push_back(std::move(hunk));
    }
    in_a = next_a + 1;
    in_b = next_b + 1;
  }
  return hunks;
}

std::string with_names_of(std::string_view source, const std::string& other) {
  const std::vector<SourceWord> a = words_across_lines(source);
  const std::vector<SourceWord> b = words_across_lines(other);
  constexpr std::ptrdiff_t most_edits = 6000;
  auto pairs = common_tokens(a, b, most_edits);
  if (!pairs) return other;
  pairs->emplace_back(a.size(), b.size());
  std::set<std::string_view> names, others;
  for (const SourceWord& word : a) names.insert(word.text);
  for (const SourceWord& word : b) others.insert(word.text);
  const auto is_name = [](std::string_view word) {
    return word.front() == '_' || std::isalpha(static_cast<unsigned char>(word.front())) != 0;
  };
  std::map<std::string_view, std::set<std::string_view>> becomes, comes_from;
  std::size_t in_a = 0, in_b = 0;
  for (const auto& [next_a, next_b] : *pairs) {
    for (std::size_t i = 0; next_a - in_a == next_b - in_b && i < next_a - in_a; ++i) {
      const std::string_view own = a[in_a + i].text, its = b[in_b + i].text;
      if (!is_name(own) || !is_name(its) || others.contains(own) || names.contains(its)) continue;
      becomes[its].insert(own);
      comes_from[own].insert(its);
    }
    in_a = next_a + 1;
    in_b = next_b + 1;
  }
  std::string renamed;
  std::size_t at = 0;
  for (const SourceWord& word : b) {
    const auto found = becomes.find(word.text);
    if (found == becomes.end() || found->second.size() != 1 || comes_from[*found->second.begin()].size() != 1) continue;
    renamed += other.substr(at, word.offset - at);
    renamed += *found->second.begin();
    at = word.offset + word.text.size();
  }
  return renamed += other.substr(at);
}

namespace {

bool is_in_word(char one) { return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_'; }

// Whether two tokens that end and begin so would become one, or two others.
bool would_join(char last, char first) {
  constexpr std::string_view alone = "(){}[];,";
  if (std::isspace(static_cast<unsigned char>(last)) != 0 || std::isspace(static_cast<unsigned char>(first)) != 0) return false;
  if (is_in_word(last) != is_in_word(first)) return last == '.' || first == '.';
  return is_in_word(last) || (alone.find(last) == std::string_view::npos && alone.find(first) == std::string_view::npos);
}

// Appends it with a space before it where the language needs one, or a reader does.
void append_apart(std::string& text, std::string_view next, bool is_inserted) {
  if (text.empty() || next.empty()) {
    text += next;
    return;
  }
  constexpr std::string_view opening = "([ \t\n", closing = ";,.)] \t\n";
  const bool looks_better =
      is_inserted && opening.find(text.back()) == std::string_view::npos && closing.find(next.front()) == std::string_view::npos;
  if (looks_better || would_join(text.back(), next.front())) text += ' ';
  text += next;
}

}  // namespace

std::string undone(std::string_view source, const std::vector<Hunk>& hunks) {
  std::string result;
  std::size_t at = 0;
  bool is_inserted = false, is_removed = false;
  const auto append_source = [&](std::string_view rest) {
    // Where something was taken away, a space is left over.
    constexpr std::string_view closing = " ;,)]";
    if (is_removed && !rest.empty() && result.ends_with(' ') && closing.find(rest.front()) != std::string_view::npos) result.pop_back();
    append_apart(result, rest, is_inserted);
  };
  for (const Hunk& hunk : hunks) {
    append_source(source.substr(at, hunk.begin - at));
    is_inserted = hunk.begin == hunk.end;
    is_removed = hunk.other.empty();
    append_apart(result, hunk.other, is_inserted);
    at = hunk.end;
  }
  append_source(source.substr(at));
  return result;
}

namespace {

using Repairs = std::function<bool(const std::vector<Hunk>&)>;
// Hunks that are undone together.
using Groups = std::vector<std::vector<Hunk>>;

std::vector<Hunk> all_of(const Groups& groups) {
  std::vector<Hunk> all;
  for (const std::vector<Hunk>& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::ranges::sort(all, {}, &Hunk::begin);
  return all;
}

// Hunks without the end of a statement between them: half a statement of one source and half of the other mean something else than either.
Groups by_statements(std::string_view source, const std::vector<Hunk>& hunks) {
  Groups groups;
  for (const Hunk& hunk : hunks) {
    const bool is_next =
        groups.empty() ||
        source.substr(groups.back().back().end, hunk.begin - groups.back().back().end).find_first_of(";{}") != std::string_view::npos ||
        groups.back().back().other.find_first_of(";{}") != std::string::npos;
    if (is_next) groups.emplace_back();
    groups.back().push_back(hunk);
  }
  return groups;
}

// Delta debugging: leaves halves, then quarters, and so on unchanged as long as undoing the rest suffices.
Groups reduced(Groups guilty, const Repairs& repairs, const std::function<bool()>& may_go_on) {
  std::size_t parts = 2;
  while (guilty.size() > 1 && may_go_on()) {
    const std::size_t size = (guilty.size() + parts - 1) / parts;
    bool is_reduced = false;
    for (std::size_t start = 0; start < guilty.size() && !is_reduced; start += size) {
      Groups rest;
      for (std::size_t i = 0; i < guilty.size(); ++i) {
        if (i < start || i >= start + size) rest.push_back(guilty[i]);
      }
      if (rest.empty() || !repairs(all_of(rest))) continue;
      guilty = std::move(rest);
      parts = std::max<std::size_t>(parts - 1, 2);
      is_reduced = true;
    }
    if (is_reduced) continue;
    if (size == 1) break;
    parts = std::min(parts * 2, guilty.size());
  }
  return guilty;
}

// Calls `visit` with each choice of `count` of the groups, until it returns true; returns whether it did.
bool any_choice(const Groups& groups, std::size_t count, Groups& chosen, std::size_t from,
                const std::function<bool(const Groups&)>& visit) {
  if (count == 0) return visit(chosen);
  for (std::size_t i = from; i + count <= groups.size(); ++i) {
    chosen.push_back(groups[i]);
    if (any_choice(groups, count - 1, chosen, i + 1, visit)) return true;
    chosen.pop_back();
  }
  return false;
}

// The smallest set, if it has fewer groups than `guilty`; delta debugging finds a set of which all are needed, and another may be smaller.
// A group without which undoing all others is not enough is in every set, so only the rest is chosen.
Groups smaller_set(const Groups& groups, const Groups& guilty, const Repairs& repairs, const std::function<bool()>& may_go_on) {
  Groups needed, rest;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto is_it = [&](const std::vector<Hunk>& other) { return other.front().begin == groups[i].front().begin; };
    Groups others = groups;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    (std::ranges::any_of(guilty, is_it) && !others.empty() && !repairs(all_of(others)) ? needed : rest).push_back(groups[i]);
  }
  for (std::size_t more = needed.empty() ? 1 : 0; needed.size() + more < guilty.size() && may_go_on(); ++more) {
    Groups chosen, found;
    const bool is_found = any_choice(rest, more, chosen, 0, [&](const Groups& some) {
      found = needed;
      found.insert(found.end(), some.begin(), some.end());
      return !may_go_on() || repairs(all_of(found));
    });
    if (is_found && may_go_on()) return found;
  }
  return {};
}

// Of each group, only what is needed.
std::vector<Hunk> reduced_inside(Groups guilty, const Repairs& repairs, const std::function<bool()>& may_go_on) {
  for (std::size_t i = 0; i < guilty.size(); ++i) {
    Groups parts;
    for (const Hunk& hunk : guilty[i]) parts.push_back({hunk});
    Groups others = guilty;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Repairs with_others = [&](const std::vector<Hunk>& some) {
      Groups whole = others;
      whole.push_back(some);
      return repairs(all_of(whole));
    };
    Groups needed = reduced(parts, with_others, may_go_on);
    if (needed.size() > 1) {
      if (Groups smaller = smaller_set(parts, needed, with_others, may_go_on); !smaller.empty()) needed = std::move(smaller);
    }
    guilty[i] = all_of(needed);
  }
  return all_of(guilty);
}

}  // namespace

std::vector<Hunk> blame(std::string_view source, const std::vector<Hunk>& hunks, const std::function<bool(const std::string&)>& is_right,
                        const std::function<bool()>& may_go_on) {
  bool is_over = false;  // each call of may_go_on() may count as a try
  const Repairs repairs = [&](const std::vector<Hunk>& some) {
    is_over = is_over || !may_go_on();
    return !is_over && is_right(undone(source, some));
  };
  const auto goes_on = [&] { return !is_over; };
  if (hunks.empty() || !repairs(hunks)) return {};
  const Groups groups = by_statements(source, hunks);
  Groups guilty = reduced(groups, repairs, goes_on);
  if (guilty.size() > 1) {
    if (Groups smaller = smaller_set(groups, guilty, repairs, goes_on); !smaller.empty()) guilty = std::move(smaller);
  }
  return reduced_inside(std::move(guilty), repairs, goes_on);
}

std::vector<std::vector<Hunk>> by_lines(const std::vector<Hunk>& hunks) {
  std::vector<std::vector<Hunk>> groups;
  for (const Hunk& hunk : hunks) {
    if (groups.empty() || groups.back().back().last_line < hunk.line) groups.emplace_back();
    groups.back().push_back(hunk);
  }
  return groups;
}

}  // namespace assay::harness

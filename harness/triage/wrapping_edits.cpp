// Puts values into calls and other expressions of the source, and takes them out.
#include "harness/triage/wrapping_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/triage/edit_maker.h"
#include "harness/triage/ordered.h"

namespace assay::harness {
namespace {

constexpr std::size_t kLongest = 20;  // tokens of an expression that values are put into

class WrappingEdits : public EditMaker {
 public:
  WrappingEdits(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion) : EditMaker(source, piece, suspicion) {
    find_functions();
    find_unused();
    find_calls();
    uses_lanes_ = std::ranges::any_of(tokens_, [](const SourceToken& token) { return token.text.find("simd") != std::string_view::npos; });
  }

  std::vector<Edit> run() {
    for (const Expression& expression : structure_.expressions) {
      if (expression.is_fixed || !is_suspect(expression.range)) continue;
      for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
        if (!tokens_[i].is_identifier() || is_called(i) || (i + 1 < tokens_.size() && tokens_[i + 1].is("."))) continue;
        const TokenRange name = {is_member(i) && i >= 2 ? i - 2 : i, i + 1};
        const bool is_element = i + 1 < tokens_.size() && tokens_[i + 1].is("[");
        if (is_target(name) || (is_array(tokens_[i].text) && !is_element) || names_pointer(expression, name)) continue;
        const TokenRange value = {name.first, is_element ? tokens_[i + 1].match + 1 : name.last};
        if (value.last > expression.range.last || is_target(value)) continue;
        wrap(expression, value);
        wrap_lanes(expression, value);
      }
      wrap_sums(expression);
      unwrap(expression);
    }
    return std::move(edits_);
  }

 private:
  struct Call {
    TokenRange whole;
    std::vector<TokenRange> arguments;
    bool is_own = false;  // of a function of this source
  };

  struct Function {
    std::string_view name;
    TokenRange body;
  };

  // What has a body behind its parentheses, and perhaps a word between them.
  void find_functions() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (!tokens_[i].is_identifier() || !tokens_[i + 1].is("(") || tokens_[i + 1].match <= i) continue;
      std::size_t behind = tokens_[i + 1].match + 1;
      while (behind < tokens_.size() && tokens_[behind].is_identifier()) ++behind;
      if (behind < tokens_.size() && tokens_[behind].is("{")) own_functions_.push_back({tokens_[i].text, {behind, tokens_[behind].match}});
    }
  }

  // Functions from a float to a float that no line calls: a call of one is missing.
  void find_unused() {
    const auto is_float = [](const SourceToken& token) { return token.is("float") || token.is("half") || token.is("T"); };
    for (std::size_t i = 1; i + 4 < tokens_.size(); ++i) {
      if (!is_own(tokens_[i].text) || !is_float(tokens_[i - 1]) || tokens_[i + 1].match != i + 4 || !is_float(tokens_[i + 2])) continue;
      const auto is_it = [&](const SourceToken& token) { return token.is(tokens_[i].text); };
      if (std::ranges::count_if(tokens_, is_it) == 1) unused_.push_back(tokens_[i].text);
    }
  }

  [[nodiscard]] bool is_own(std::string_view name) const {
    return std::ranges::any_of(own_functions_, [&](const Function& function) { return function.name == name; });
  }

  // Whether the value is within the function or an argument of it, so that a call would have no end or be one too many.
  [[nodiscard]] bool is_inside(const Expression& expression, TokenRange value, std::string_view name) const {
    const auto holds = [&](const Function& function) { return function.name == name && is_within(value, function.body); };
    if (std::ranges::any_of(own_functions_, holds)) return true;
    for (std::size_t i = expression.range.first + 1; i < value.first; ++i) {
      if (tokens_[i].is("(") && tokens_[i].match >= value.last && tokens_[i - 1].is(name)) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_statement(const Expression& expression, const Call& call) const {
    return call.whole.first == expression.range.first && call.whole.last == expression.range.last &&
           std::ranges::any_of(structure_.statements, [&](TokenRange range) { return range.first == call.whole.first; });
  }

  void find_calls() {
    constexpr std::size_t most = 24;
    std::set<std::string_view> texts;
    for (const Expression& expression : structure_.expressions) {
      for (std::size_t i = expression.range.first; i + 1 < expression.range.last && calls_.size() < most; ++i) {
        Call call = call_at(i);
        // A whole statement has no value.
        if (call.arguments.empty() || is_statement(expression, call) || changes_something(call.whole)) continue;
        if (texts.insert(text_of(call.whole)).second) calls_.push_back(std::move(call));
      }
    }
  }

  // Without arguments if there is no call of a function.
  [[nodiscard]] Call call_at(std::size_t i) const {
    constexpr std::string_view collective = "simd_";
    if (!tokens_[i].is_identifier() || is_builtin_type(tokens_[i].text) || is_member(i) || tokens_[i].text.starts_with(collective))
      return {};
    std::size_t open = i + 1;
    if (open < tokens_.size() && tokens_[open].is_angle && tokens_[open].match > open) open = tokens_[open].match + 1;
    if (open >= tokens_.size() || !tokens_[open].is("(") || tokens_[open].match <= open) return {};
    Call call = {.whole = {i, tokens_[open].match + 1}, .arguments = {}, .is_own = is_own(tokens_[i].text)};
    if (call.whole.last - call.whole.first > kLongest) return {};
    for (std::size_t first = open + 1; first < call.whole.last;) {
      std::size_t last = first;
      while (last + 1 < call.whole.last && !tokens_[last].is(",")) last = tokens_[last].match > last ? tokens_[last].match + 1 : last + 1;
      if (first < last) call.arguments.push_back({first, last});
      first = last + 1;
    }
    return call;
  }

  // Whether the value is an integer, as far as its type is known.
  [[nodiscard]] bool is_integer(const Expression& expression, TokenRange value) const {
    const std::size_t last = value.last - 1;
    if (tokens_[last].is("]") || is_float(expression, last)) return false;
    if (is_member(last)) return is_integer_type(members_.type_of(tokens_[last].text));
    const Variable* variable = find_variable(expression, tokens_[last].text);
    return variable != nullptr && is_integer_type(plain(variable->type));
  }

  // Whether it computes with integers only, and with more than one value.
  [[nodiscard]] bool is_integer_sum(const Expression& expression, TokenRange range) const {
    constexpr std::size_t longest = 9;
    if (range.last < range.first + 3 || range.last - range.first > longest) return false;
    bool adds = false;
    for (std::size_t i = range.first; i < range.last; ++i) {
      adds = adds || tokens_[i].is("+") || tokens_[i].is("-");
      const bool is_struct = i + 1 < tokens_.size() && tokens_[i + 1].is(".");
      if (tokens_[i].is_identifier() && !is_struct && !is_integer(expression, {i, i + 1})) return false;
      if (tokens_[i].is("(") || tokens_[i].is("[") || among(kTwoSignComparisons, tokens_[i].text) || tokens_[i].is("?")) return false;
    }
    return adds;
  }

  // In parentheses, or as an index.
  void wrap_sums(const Expression& expression) {
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      const bool is_index = tokens_[i].is("[");
      const bool is_group = tokens_[i].is("(") && (i == 0 || !tokens_[i - 1].is_identifier());
      if ((!is_index && !is_group) || tokens_[i].match >= expression.range.last || tokens_[i].match <= i) continue;
      const TokenRange sum = {i + 1, tokens_[i].match};
      if (is_integer_sum(expression, sum)) put_into_calls(expression, sum, is_group ? TokenRange{i, sum.last + 1} : sum);
    }
  }

  // A sum as an argument that is an integer.
  void put_into_calls(const Expression& expression, TokenRange sum, TokenRange replaced) {
    for (const Call& call : calls_) {
      if (!call.is_own || is_inside(expression, sum, tokens_[call.whole.first].text)) continue;
      for (const TokenRange& argument : call.arguments) {
        const bool is_name = argument.last == argument.first + 1 && tokens_[argument.first].is_identifier();
        if (is_name && named_integers().contains(tokens_[argument.first].text) && knows_rest(expression, call, argument))
          replace("wrapped", replaced, with_argument(call, argument, text_of(sum)));
      }
    }
  }

  // Whether all variables of the call but this argument exist there.
  [[nodiscard]] bool knows_rest(const Expression& expression, const Call& call, TokenRange argument) const {
    return is_known_in(expression, {call.whole.first, argument.first}) && is_known_in(expression, {argument.last, call.whole.last});
  }

  [[nodiscard]] std::string with_argument(const Call& call, TokenRange argument, std::string_view value) const {
    return fmt::format("{}{}{}", text_between(call.whole.first, argument.first), value, text_between(argument.last, call.whole.last));
  }

  // Whether the argument is a name or a member of the same kind.
  [[nodiscard]] bool may_replace(const Expression& expression, TokenRange value, TokenRange argument) const {
    if (text_of(value) == text_of(argument)) return true;
    const std::size_t last = argument.last - 1;
    const std::size_t first = is_member(last) && last >= 2 ? last - 2 : last;
    // A member is what a launch gives, and what is computed from it has a name of its own.
    if (first != argument.first || !tokens_[last].is_identifier() || is_member(value.last - 1)) return false;
    if (is_integer(expression, value)) return is_integer(expression, argument) || named_integers().contains(tokens_[last].text);
    return is_float(expression, value.last - 1) && is_float(expression, last);
  }

  // Names that are integers somewhere, for arguments of calls in other functions.
  [[nodiscard]] const std::set<std::string_view>& named_integers() const {
    if (integers_.empty()) {
      for (const Expression& expression : structure_.expressions) {
        for (const Variable& variable : expression.variables) {
          if (is_integer_type(plain(variable.type)) && variable.type.find('*') == std::string::npos) integers_.insert(variable.name);
        }
      }
    }
    return integers_;
  }

  [[nodiscard]] static bool is_within(TokenRange inner, TokenRange outer) { return outer.first <= inner.first && inner.last <= outer.last; }

  // Of lanes, where each has a part.
  void wrap_lanes(const Expression& expression, TokenRange value) {
    if (!is_float(expression, value.last - 1)) return;
    for (const std::string_view name : unused_) {
      if (!is_inside(expression, value, name)) replace("unused", value, fmt::format("{}({})", name, text_of(value)));
    }
    if (!uses_lanes_) return;
    for (const std::string_view name : {"simd_sum", "simd_max"}) {
      if (!is_inside(expression, value, name)) replace("summed", value, fmt::format("{}({})", name, text_of(value)));
    }
  }

  void wrap(const Expression& expression, TokenRange value) {
    constexpr std::size_t most = 6;
    struct Found {
      std::uint32_t distance = 0;
      std::string text;
    };
    std::vector<Found> found;
    const std::uint32_t line = line_of(value);
    const auto add = [&](TokenRange whole, std::string text) {
      const std::uint32_t other = line_of(whole);
      found.push_back({line > other ? line - other : other - line, std::move(text)});
    };
    for (const Call& call : calls_) {
      if (is_inside(expression, value, tokens_[call.whole.first].text)) continue;
      for (const TokenRange& argument : call.arguments) {
        const bool is_same = text_of(argument) == text_of(value);
        if (!is_same && (!call.is_own || !may_replace(expression, value, argument))) continue;
        if (knows_rest(expression, call, argument)) add(call.whole, with_argument(call, argument, text_of(value)));
      }
    }
    for (const TokenRange& whole : structure_.initial_values) {
      const std::size_t length = whole.last - whole.first;
      const bool holds = length > value.last - value.first && length <= kLongest && holds_value(whole, text_of(value));
      if (holds && !is_within(value, whole) && is_known_in(expression, whole) && !changes_something(whole))
        add(whole, fmt::format("({})", text_of(whole)));
    }
    order_by(found, [](const Found& one) { return one.distance; });
    found.resize(std::min(found.size(), most));
    for (Found& one : found) replace("wrapped", value, std::move(one.text));
  }

  // The text from token `first` to token `last`, with the spaces before the latter.
  [[nodiscard]] std::string_view text_between(std::size_t first, std::size_t last) const {
    const std::size_t begin = first == last ? 0 : tokens_[first].offset;
    const std::size_t end = first == last ? 0 : tokens_[last - 1].offset + tokens_[last - 1].text.size();
    const bool has_space = first != last && last < tokens_.size() && tokens_[last].offset > end && tokens_[last - 1].is(",");
    return std::string_view(source_.text()).substr(begin, end - begin + (has_space ? 1 : 0));
  }

  [[nodiscard]] bool holds_value(TokenRange whole, std::string_view text) const {
    for (std::size_t i = whole.first; i < whole.last; ++i) {
      if (!tokens_[i].is_identifier() || is_member(i)) continue;
      const std::size_t last = i + 2 < whole.last && tokens_[i + 1].is(".") ? i + 3 : i + 1;
      if (text_of({i, last}) == text && !is_called(last - 1)) return true;
    }
    return false;
  }

  void unwrap(const Expression& expression) {
    constexpr std::size_t most_arguments = 3;
    for (std::size_t i = expression.range.first; i + 1 < expression.range.last; ++i) {
      const Call call = call_at(i);
      if (call.whole.last > expression.range.last || call.arguments.size() > most_arguments || is_statement(expression, call)) continue;
      for (const TokenRange& argument : call.arguments) replace("unwrapped", call.whole, fmt::format("({})", text_of(argument)));
    }
  }

  std::vector<Function> own_functions_;
  std::vector<Call> calls_;
  std::vector<std::string_view> unused_;
  bool uses_lanes_ = false;  // whether it knows of simdgroups
  mutable std::set<std::string_view> integers_;
};

}  // namespace

std::vector<Edit> wrapping_edits(const Source& source, const LineSuspicion& suspicion) {
  return edits_by<WrappingEdits>(source, suspicion);
}

}  // namespace assay::harness

// Selects cases by names, globs and suites.
#include "harness/cases/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/digest.h"
#include "base/nearest_word.h"
#include "base/text.h"
#include "harness/cases/effort.h"

namespace assay::harness {

bool names_one_case(std::string_view word) { return !is_suite(word) && word.find_first_of("*?") == std::string_view::npos; }

bool glob_match(std::string_view pattern, std::string_view text) {
  // Backtracks only to the last '*': an earlier one cannot lead to more matches.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::size_t part = base::number_of<std::size_t>(text.substr(0, slash)).value_or(0);
  const std::size_t count = slash == std::string_view::npos ? 0 : base::number_of<std::size_t>(text.substr(slash + 1)).value_or(0);
  if (part == 0 || part > count || count > kMostShards) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a shard; write i/n with 1 <= i <= n <= {}, as in 2/4 for the second of four", text, kMostShards));
  }
  return {part - 1, count};
}

Shard parse_shard(std::string_view index, std::string_view count) {
  if (index.empty() && count.empty()) return {};
  const auto wrong = [&] {
    return std::invalid_argument(fmt::format(
        "GTEST_SHARD_INDEX '{}' and GTEST_TOTAL_SHARDS '{}' do not name a shard; the index starts at 0 and must be less than the total",
        index, count));
  };
  const auto first = base::number_of<std::size_t>(index);
  if (!first) throw wrong();
  try {
    return parse_shard(fmt::format("{}/{}", *first + 1, count));
  } catch (const std::invalid_argument&) {
    throw wrong();
  }
}

namespace {

std::string digest_of(std::span<const Case> cases) {
  std::uint64_t digest = base::kEmptyDigest;
  for (const Case& test_case : cases) base::add_to_digest(digest, format_case(test_case) + '\n');
  return fmt::format("{:016x}", digest);
}

// Whether names of the variant's cases can start like the glob, up to its first wildcard. Checked first, because listing a gate takes a
// tenth of a second.
bool may_match(std::string_view glob, const kernels::Variant& variant) {
  const std::string start = variant.name + "/";
  const std::size_t fixed = std::min(glob.find_first_of("*?"), start.size());
  return glob.substr(0, fixed) == start.substr(0, fixed);
}

// The cases that the words select, in their order and each once.
class Selector {
 public:
  Selector(const SelectionRequest& request, std::span<const kernels::Variant> variants) : request_(request) {
    for (const kernels::Variant& variant : variants) {
      if (!request.family.empty() && variant.family != request.family) continue;
      check_axis_names(variant);
      candidates_.push_back(&variant);
      names_.push_back(variant.name);
    }
    if (candidates_.empty()) {
      throw std::invalid_argument(request.family.empty() ? std::string("there are no variants")
                                                         : fmt::format("there is no variant of family {}", request.family));
    }
  }

  void select(const std::string& word) {
    if (is_suite(word)) {
      select_suite(word);
    } else if (word.find_first_of("*?") != std::string::npos) {
      select_glob(word);
    } else {
      select_case(word);
    }
  }

  [[nodiscard]] Selection take() { return std::move(selection_); }

 private:
  void select_suite(const std::string& word) {
    const Suite suite = selection_.suites.emplace_back(parse_suite(word));
    std::size_t count = 0;
    for (const kernels::Variant* variant : candidates_)
      count += add_if(suite_for(suite, *variant), *variant, [](const Case&) { return true; });
    if (count == 0) throw std::invalid_argument(fmt::format("suite '{}' has no case for {}", word, fmt::join(names_, ", ")));
  }

  void select_glob(const std::string& word) {
    std::size_t count = 0;
    for (const kernels::Variant* variant : candidates_) {
      if (!may_match(word, *variant)) continue;
      count += add_if(Suite::gate, *variant, [&](const Case& value) { return glob_match(word, format_case(value)); });
    }
    if (count == 0)
      throw std::invalid_argument(fmt::format("no case of the gate matches '{}'{}; `assay list --cases '*'` prints all names", word,
                                              is_known(variant_of(word)) ? "" : base::did_you_mean(variant_of(word), names_)));
  }

  void select_case(const std::string& word) {
    if (word.starts_with("--")) {
      throw std::invalid_argument(
          fmt::format("'{0}' is an option where a suite, a glob or the name of a case belongs: an option just before it, such as --cases, "
                      "needs a value, and took '{0}'",
                      word));
    }
    const auto variant =
        std::ranges::find_if(candidates_, [&](const kernels::Variant* candidate) { return candidate->name == variant_of(word); });
    if (variant == candidates_.end()) {
      const bool is_name = word == variant_of(word);
      std::vector<std::string_view> meant = names_;
      if (is_name) std::ranges::copy(suite_names(), std::back_inserter(meant));
      const std::string hint = base::did_you_mean(variant_of(word), meant);
      throw std::invalid_argument(fmt::format("'{}'{} is not a suite ({}), and '{}'{} is not a variant{} ({})", word, is_name ? hint : "",
                                              fmt::join(suite_names(), ", "), variant_of(word), is_name ? "" : hint,
                                              request_.family.empty() ? "" : " of family " + request_.family, fmt::join(names_, ", ")));
    }
    if (word == (*variant)->name) {
      throw std::invalid_argument(fmt::format(
          "'{}' is a variant, not a case; '{}/*' selects its gate, and `assay list --cases '{}/*'` prints the names of its cases", word,
          word, word));
    }
    add(parse_case(word, family_of(**variant)));
  }

  [[nodiscard]] bool is_known(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

  template <typename Wanted>
  std::size_t add_if(Suite suite, const kernels::Variant& variant, const Wanted& wanted) {
    std::size_t count = 0;
    for (Case& value : suite_cases(suite, variant, request_.seed, &selection_.left_out)) {
      if (!wanted(value)) continue;
      ++count;
      add(std::move(value));
    }
    return count;
  }

  void add(Case value) {
    if (taken_.insert(format_case(value)).second) selection_.cases.push_back(std::move(value));
  }

  const SelectionRequest& request_;
  std::vector<const kernels::Variant*> candidates_;
  std::vector<std::string_view> names_;  // of the candidates
  std::set<std::string> taken_;
  Selection selection_;
};

// Takes the shard of a suite that repeats its cases, without listing the rest. All of its cases are different.
Selection select_repeated(const SelectionRequest& request, std::span<const kernels::Variant> variants, Suite suite) {
  Selection selection;
  selection.suites = {suite};
  selection.shard = request.shard;
  std::uint64_t digest = base::kEmptyDigest;
  const auto add = [&](std::string_view text) { base::add_to_digest(digest, text); };
  for (const kernels::Variant& variant : variants) {
    if (!request.family.empty() && variant.family != request.family) continue;
    check_axis_names(variant);
    const SuiteList list = suite_list(suite_for(suite, variant), variant, request.seed, &selection.left_out);
    for (const std::vector<Case>* part : {&list.designed, &list.further}) {
      for (const Case& value : *part) add(format_case(value) + '\n');
    }
    add(fmt::format("{} repetitions\n", list.repetitions));
    selection.seconds += static_cast<double>(list.repetitions) * expected_seconds(list.designed) + expected_seconds(list.further);
    const std::size_t count = request.shard.count;
    // The first place at or behind the start of the list that belongs to the shard.
    for (std::size_t i = (request.shard.index + count - selection.selected % count) % count; i < list.size(); i += count)
      selection.cases.push_back(list.at(i));
    selection.selected += list.size();
  }
  selection.digest = fmt::format("{:016x}", digest);
  return selection;
}

}  // namespace

Selection select_cases(const SelectionRequest& request, std::span<const kernels::Variant> variants) {
  if (!request.family.empty()) static_cast<void>(find_family(request.family));
  Selector selector(request, variants);
  if (request.words.empty() && request.family.empty()) {
    throw std::invalid_argument(
        fmt::format("nothing was selected; name a case, a glob, a suite ({}) or a family", fmt::join(suite_names(), ", ")));
  }
  std::vector<std::string> words = request.words;
  if (words.empty()) words.emplace_back("gate");
  if (request.seed != 0 && std::ranges::all_of(words, names_one_case)) {
    throw std::invalid_argument(
        fmt::format("--seed shifts the seeds of suites and globs, but '{}' names its own seed; change its s<seed> instead", words.front()));
  }
  if (words.size() == 1 && is_suite(words.front()) && plan_of(parse_suite(words.front())).repetitions > 1) {
    Selection repeated = select_repeated(request, variants, parse_suite(words.front()));
    if (repeated.selected != 0) return repeated;
  }
  for (const std::string& word : words) selector.select(word);
  Selection selection = selector.take();
  selection.selected = selection.cases.size();
  selection.digest = digest_of(selection.cases);
  selection.seconds = expected_seconds(selection.cases);
  selection.shard = request.shard;
  if (request.shard.count > 1) {
    std::vector<Case> own;
    for (std::size_t i = request.shard.index; i < selection.selected; i += request.shard.count)
      own.push_back(std::move(selection.cases[i]));
    selection.cases = std::move(own);
  }
  return selection;
}

void keep_cases(Selection& selection, const std::function<bool(const Case&)>& is_wanted) {
  std::erase_if(selection.cases, [&](const Case& value) { return !is_wanted(value); });
  selection.digest = digest_of(selection.cases);
  selection.seconds = expected_seconds(selection.cases);
}

}  // namespace assay::harness

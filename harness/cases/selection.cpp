// Selects cases by names, globs and suites.
#include "harness/cases/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/digest.h"
#include "base/text.h"

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

}  // namespace

Selection select_cases(const SelectionRequest& request, std::span<const kernels::Variant> variants) {
  if (!request.family.empty()) static_cast<void>(find_family(request.family));
  std::vector<const kernels::Variant*> candidates;
  std::vector<std::string_view> names;
  for (const kernels::Variant& variant : variants) {
    if (!request.family.empty() && variant.family != request.family) continue;
    check_axis_names(variant);
    candidates.push_back(&variant);
    names.push_back(variant.name);
  }
  if (candidates.empty()) {
    throw std::invalid_argument(request.family.empty() ? std::string("there are no variants")
                                                       : fmt::format("there is no variant of family {}", request.family));
  }
  if (request.words.empty() && request.family.empty()) {
    throw std::invalid_argument(
        fmt::format("nothing was selected; name a case, a glob, a suite ({}) or a family", fmt::join(suite_names(), ", ")));
  }

  Selection selection;
  std::set<std::string> taken;
  const auto take = [&](Case value) {
    if (taken.insert(format_case(value)).second) selection.cases.push_back(std::move(value));
  };
  const auto take_suite = [&](auto&& suite_of, auto&& may_have, auto&& wanted) {
    std::size_t count = 0;
    for (const kernels::Variant* variant : candidates) {
      if (!may_have(*variant)) continue;
      for (Case& value : suite_cases(suite_of(*variant), *variant, request.seed, &selection.left_out)) {
        if (!wanted(value)) continue;
        ++count;
        take(std::move(value));
      }
    }
    return count;
  };

  std::vector<std::string> words = request.words;
  if (words.empty()) words.emplace_back("gate");
  if (request.seed != 0 && std::ranges::all_of(words, names_one_case)) {
    throw std::invalid_argument(
        fmt::format("--seed shifts the seeds of suites and globs, but '{}' names its own seed; change its s<seed> instead", words.front()));
  }
  for (const std::string& word : words) {
    if (is_suite(word)) {
      const Suite suite = selection.suites.emplace_back(parse_suite(word));
      const auto suite_of = [&](const kernels::Variant& variant) { return suite_for(suite, variant); };
      const auto all = [](const auto&) { return true; };
      if (take_suite(suite_of, all, all) == 0) {
        throw std::invalid_argument(fmt::format("suite '{}' has no case for {}", word, fmt::join(names, ", ")));
      }
    } else if (word.find_first_of("*?") != std::string::npos) {
      const auto suite_of = [](const kernels::Variant&) { return Suite::gate; };
      const auto may_have = [&](const kernels::Variant& variant) { return may_match(word, variant); };
      if (take_suite(suite_of, may_have, [&](const Case& value) { return glob_match(word, format_case(value)); }) == 0) {
        throw std::invalid_argument(fmt::format("no case of the gate matches '{}'; `assay list --cases '*'` prints all names", word));
      }
    } else {
      const auto variant =
          std::ranges::find_if(candidates, [&](const kernels::Variant* candidate) { return candidate->name == variant_of(word); });
      if (variant == candidates.end()) {
        throw std::invalid_argument(fmt::format("'{}' is not a suite ({}), and '{}' is not a variant{} ({})", word,
                                                fmt::join(suite_names(), ", "), variant_of(word),
                                                request.family.empty() ? "" : " of family " + request.family, fmt::join(names, ", ")));
      }
      if (word == (*variant)->name) {
        throw std::invalid_argument(fmt::format(
            "'{}' is a variant, not a case; '{}/*' selects its gate, and `assay list --cases '{}/*'` prints the names of its cases", word,
            word, word));
      }
      take(parse_case(word, find_family((*variant)->family)));
    }
  }
  selection.selected = selection.cases.size();
  selection.digest = digest_of(selection.cases);
  selection.shard = request.shard;
  if (request.shard.count > 1) {
    std::vector<Case> own;
    for (std::size_t i = request.shard.index; i < selection.selected; i += request.shard.count)
      own.push_back(std::move(selection.cases[i]));
    selection.cases = std::move(own);
  }
  return selection;
}

}  // namespace assay::harness

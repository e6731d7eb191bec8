// Compares a description with that of the base.
#include "kernels/trust.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tuple>

namespace assay::kernels {
namespace {

std::string text_of(const metal::FieldValue& value) { return fmt::format("{}:{}", static_cast<int>(value.kind), value.bits); }

std::string text_of(const ConstantAssignments& constants) {
  std::string text;
  for (const auto& [name, values] : constants) {
    text += name + " =";
    for (const metal::FieldValue& value : values) text += " " + text_of(value);
    text += "\n";
  }
  return text;
}

std::string text_of(const FieldValues& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += fmt::format("{} = {}\n", name, text_of(value));
  return text;
}

std::string text_of(const std::map<std::string, std::string, std::less<>>& names) {
  std::string text;
  for (const auto& [name, value] : names) text += fmt::format("{} = {}\n", name, value);
  return text;
}

std::string macros_of(const Variant& variant) {
  std::string text = fmt::format("{}\n", fmt::join(variant.compile.definitions, "\n"));
  for (const auto& [entry, macros] : variant.entry_definitions) text += fmt::format("{}: {}\n", entry, fmt::join(macros, "\n"));
  return text + (variant.compile.metal_version ? fmt::format("metal {}", *variant.compile.metal_version) : std::string());
}

std::string launch_of(const Variant& variant) { return variant.launch ? text_of(*variant.launch) : std::string(); }

// Relative to the description's folder.
std::string files_of(const Variant& variant, const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const std::filesystem::path& file : files) text += file.lexically_relative(variant.description.parent_path()).string() + "\n";
  return text;
}

bool is_same(const KnownFinding& one, const KnownFinding& other) { return one.when == other.when && one.shows == other.shows; }

bool is_same(const AxisLimit& one, const AxisLimit& other) {
  return one.axis == other.axis && std::ranges::is_permutation(one.values, other.values) &&
         std::ranges::is_permutation(one.pairs, other.pairs);
}

auto storage_of(const Accuracy& accuracy) {
  return std::tie(accuracy.accumulator, accuracy.accumulator_keys, accuracy.stores, accuracy.merge_store, accuracy.formats);
}

}  // namespace

// Long because it treats every excuse of a description, one after the other.
std::vector<std::string> restrict_to_base(Variant& variant, const Variant* base) {
  if (variant.description.empty()) return {};
  const Variant nothing;
  const Variant& trusted = base == nullptr ? nothing : *base;
  const std::string file = variant.description.string();
  const std::string why =
      base == nullptr ? "no --trust file describes " + variant.name : fmt::format("{} does not say the same", base->description.string());

  const auto require_equal = [&](std::string_view what, const std::string& ours, const std::string& theirs) {
    if (ours != theirs) throw VariantError(fmt::format("{}: {} chooses which code is judged, and {}", file, what, why));
  };
  require_equal("[constants]", text_of(variant.constants), text_of(trusted.constants));
  require_equal("[fields]", text_of(variant.fields), text_of(trusted.fields));
  // Variants of some families must have one; without a base, their files are believed like [entry].
  if (base != nullptr || !variant.contract->is_described)
    require_equal("[[dispatch]], [[scratch]] or [let]", launch_of(variant), launch_of(trusted));
  require_equal("a macro or metal_version of [compile] or [entry]", macros_of(variant), macros_of(trusted));
  if (base != nullptr) {
    require_equal("'family'", variant.family, trusted.family);
    require_equal("'source'", files_of(variant, variant.translation_unit()), files_of(trusted, trusted.translation_unit()));
    require_equal("[compile] include", files_of(variant, variant.compile.include_directories),
                  files_of(trusted, trusted.compile.include_directories));
    require_equal("[entry]", text_of(variant.entry), text_of(trusted.entry));
    require_equal("[bind]", text_of(variant.bind), text_of(trusted.bind));
  }

  std::vector<std::string> sentences;
  const auto tell = [&](std::uint32_t line, std::string_view what) {
    sentences.push_back(fmt::format("{}{}: {} does not count: {}", file, line == 0 ? "" : fmt::format(":{}", line), what, why));
  };
  std::erase_if(variant.known_findings, [&](const KnownFinding& finding) {
    if (std::ranges::any_of(trusted.known_findings, [&](const KnownFinding& other) { return is_same(finding, other); })) return false;
    tell(finding.line, fmt::format("the known finding (when {})", finding.when));
    return true;
  });
  if (storage_of(variant.accuracy) != storage_of(trusted.accuracy)) {
    if (storage_of(variant.accuracy) != storage_of(nothing.accuracy)) tell(0, "the weaker storage of [accuracy]");
    const std::optional<std::uint32_t> depth = variant.accuracy.dot_depth;
    variant.accuracy = trusted.accuracy;
    variant.accuracy.dot_depth = depth;
  }
  // Only ever makes bounds tighter, the smaller the more.
  if (trusted.accuracy.dot_depth && variant.accuracy.dot_depth.value_or(*trusted.accuracy.dot_depth + 1) > *trusted.accuracy.dot_depth) {
    tell(0, "dot_depth of [accuracy]");
    variant.accuracy.dot_depth = trusted.accuracy.dot_depth;
  }
  // The reference of the trusted folder decides, by the bounds and for the cases that it was written for.
  if (variant.custom && base != nullptr && trusted.custom) variant.custom = trusted.custom;
  if (variant.settings != trusted.settings) {
    tell(0, fmt::format("[{}]", variant.family));
    variant.settings = trusted.settings;
  }
  if (variant.reads_hidden && !trusted.reads_hidden) {
    tell(0, "reads_hidden = \"finite\"");
    variant.reads_hidden = false;
  }
  for (const AxisLimit& limit : variant.limits) {
    if (std::ranges::any_of(trusted.limits, [&](const AxisLimit& other) { return is_same(limit, other); })) continue;
    variant.has_untrusted_limits = true;
    tell(limit.line, fmt::format("the limit {} = [{}]", limit.axis, fmt::join(limit.values, ", ")));
  }
  variant.limits = trusted.limits;
  // Whoever does not repeat a claim would not have to keep it.
  for (const Claim& claim : trusted.claims) {
    if (std::ranges::find(variant.claims, claim.text, &Claim::text) != variant.claims.end()) continue;
    sentences.push_back(fmt::format("{}: the claim '{}' counts: {} makes it", file, claim.text, base->description.string()));
    variant.claims.push_back(claim);
    variant.claims.back().line = 0;
  }
  if (variant.superseded_by && (!trusted.superseded_by || trusted.superseded_by->name != variant.superseded_by->name)) {
    tell(variant.superseded_by->line, fmt::format("superseded_by = \"{}\"", variant.superseded_by->name));
    variant.superseded_by.reset();
  }
  return sentences;
}

}  // namespace assay::kernels

// Asks every family for a draft of a variant.toml.
#include "harness/prepare/drafts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "families/registry.h"
#include "harness/prepare/family_fit.h"

namespace assay::harness {
namespace {

// More functions than this are instances of a few templates.
constexpr std::size_t kMostFunctions = 64;

families::SketchSubject subject_of(const metal::Library& library, const std::string& source, unsigned jobs) {
  families::SketchSubject subject;
  subject.source = source;
  std::vector<metal::FunctionDeclaration> functions = library.functions();
  if (functions.size() > kMostFunctions) functions.resize(kMostFunctions);
  for (InspectedFunction& function : inspect_functions(library, functions, {}, jobs)) {
    if (function.is_compiled) subject.functions.push_back(std::move(function.layout));
  }
  for (const metal::FunctionConstantDeclaration& constant : library.function_constants())
    subject.constants.push_back({constant.name, constant.index, constant.type_name});
  return subject;
}

// For a family with a contract: its functions, under their names in the file.
families::Sketch sketch_of(const FamilyFit& fit, const std::string& source) {
  families::Sketch sketch;
  sketch.likeness = fit.is_named ? 1.0 : 0.6;
  sketch.toml = fmt::format("family = \"{}\"\nsource = \"{}\"\n", fit.family, source);
  if (fit.is_named) {
    sketch.inferred.emplace_back("the functions have the names of the family");
    return sketch;
  }
  sketch.toml += "\n[entry]\n";
  for (const auto& [entry, functions] : fit.functions) {
    sketch.toml += fmt::format("{} = \"{}\"\n", entry, functions.front());
    sketch.inferred.push_back(fmt::format("{} is {}, because its arguments match", functions.front(), entry));
    if (functions.size() > 1) sketch.questions.push_back(fmt::format("which of {} is {}?", fmt::join(functions, ", "), entry));
  }
  return sketch;
}

}  // namespace

std::vector<Draft> drafts_of(const metal::Library& library, const std::string& source, unsigned jobs) {
  std::vector<Draft> drafts;
  for (const FamilyFit& fit : fit_families(library).fits) drafts.push_back({fit.family, sketch_of(fit, source)});
  const families::SketchSubject subject = subject_of(library, source, jobs);
  for (const families::Family& family : families::all_families()) {
    if (!family.sketch) continue;
    if (std::optional<families::Sketch> sketch = family.sketch(subject)) drafts.push_back({std::string(family.name()), std::move(*sketch)});
  }
  std::ranges::sort(drafts, std::ranges::greater(), [](const Draft& draft) { return draft.sketch.likeness; });
  return drafts;
}

}  // namespace assay::harness

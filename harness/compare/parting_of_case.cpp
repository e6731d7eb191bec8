// Traces two iterations of a kernel on a case, and finds where they diverge.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/compare/parting.h"
#include "metal/execute/value_trace.h"
#include "metal/source_files.h"

namespace assay::harness {
namespace {

using metal::TracedOperation;
using metal::ValueTrace;

// The kernel's own file, under the name that its operations have, then every other file that a trace names.
std::vector<SourceText> texts_of(const ValueTrace& trace, const PreparedVariant& prepared) {
  const std::filesystem::path& source = prepared.variant.source;
  const std::string& name = prepared.libraries.front()->name();
  std::vector<SourceText> texts = {{name, metal::source_lines(name)}};
  std::set<std::string> known = {texts.front().file};
  for (const TracedOperation& operation : trace.operations) {
    const std::string& file = operation.place.file;
    if (!known.insert(file).second) continue;
    std::error_code unreadable;
    if (std::filesystem::equivalent(file, source, unreadable)) {
      if (!unreadable) texts.front().file = file;
      continue;
    }
    texts.push_back({file, metal::source_lines(file)});
  }
  return texts;
}

ValueTrace trace_of(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf) {
  ValueTrace trace;
  trace.followed = test_case.family->triage.followed;
  static_cast<void>(run_case(prepared, test_case, shelf, {.trace = &trace}));
  return trace;
}

}  // namespace

std::optional<Parting> find_parting(const PreparedVariant& old_variant, const Case& old_case, const PreparedVariant& new_variant,
                                    const Case& new_case, const fixtures::Shelf& shelf) {
  const ValueTrace old_trace = trace_of(old_variant, old_case, shelf);
  const ValueTrace new_trace = trace_of(new_variant, new_case, shelf);
  const std::vector<SourceText> old_texts = texts_of(old_trace, old_variant);
  const std::vector<SourceText> new_texts = texts_of(new_trace, new_variant);
  std::optional<Parting> parting = find_parting(old_trace, old_texts, new_trace, new_texts);
  if (parting && parting->read != 0) {
    families::Place place = new_case.family->triage.place(new_case, parting->read - 1);
    parting->place = std::move(place.text);
    parting->chunk = place.chunk;
  }
  return parting;
}

}  // namespace assay::harness

// Lists the errors of a compilation, each once.
#include "reports/compilation_errors.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace assay::reports {
namespace {

class Errors {
 public:
  // `function`: the one that the text is about; empty: the whole file.
  void add(std::string_view text, const std::string& function) {
    CompilationError* last = nullptr;
    bool is_new = false;
    for (Diagnostic& next : diagnostics_of(text)) {
      if (next.is_note && last != nullptr) {
        if (is_new) last->notes.push_back(std::move(next));
        continue;
      }
      const auto [place, added] = places_.emplace(std::tuple{next.place.file, next.place.line, next.text}, all_.size());
      is_new = added;
      if (is_new) all_.push_back({std::move(next), {}, {}});
      last = &all_[place->second];
      if (!function.empty() && std::ranges::find(last->functions, function) == last->functions.end()) last->functions.push_back(function);
    }
  }
  [[nodiscard]] std::vector<CompilationError> take() && { return std::move(all_); }

 private:
  std::vector<CompilationError> all_;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::size_t> places_;
};

}  // namespace

std::vector<CompilationError> errors_of(const Compilation& compilation) {
  Errors errors;
  for (const CompiledLibrary& library : compilation.libraries) {
    errors.add(library.failure, "");
    for (const harness::InspectedFunction& function : library.functions) errors.add(function.refusal, function.declaration.name);
    for (const metal::RefusedFunction& refused : library.refused) errors.add(refused.reason, refused.name);
  }
  return std::move(errors).take();
}

}  // namespace assay::reports

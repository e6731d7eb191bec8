#include "harness/run/verdict.h"

#include <fmt/format.h>

namespace assay::harness {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::passed:
      return "passed";
    case Status::failed:
      return "failed";
    case Status::hazard:
      return "hazard";
    case Status::crashed:
      return "crashed";
    case Status::timeout:
      return "timeout";
    case Status::rejected:
      return "rejected";
    case Status::mistrusted:
      return "mistrusted";
    case Status::known:
      return "known";
    case Status::skipped:
      return "skipped";
  }
  return "?";
}

std::string hazard_text(const metal::Hazard& hazard) {
  // It may bring its own place and kind.
  std::string_view message = hazard.message;
  const std::string place = fmt::format("{}:{}: ", hazard.first.file, hazard.first.line);
  const std::string kind = fmt::format("{}: ", metal::to_string(hazard.kind));
  if (message.starts_with(place)) message.remove_prefix(place.size());
  if (message.starts_with(kind)) message.remove_prefix(kind.size());
  return fmt::format("{}{} in {}: {}", hazard.first.line == 0 ? std::string() : place, metal::to_string(hazard.kind), hazard.function,
                     message);
}

std::string describe_failure(const Judgement& judgement) {
  std::string text;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(judgement.above_bound, "elements above their bound");
  add(judgement.not_written, "never written");
  add(judgement.nans, "NaN");
  add(judgement.infs, "infinite");
  add(judgement.guard_violations, "words written outside of the output");
  return text;
}

}  // namespace assay::harness

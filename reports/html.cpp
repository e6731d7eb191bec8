// Assembles the HTML page from embedded files and the data of a run.
#include "reports/html.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "reports/embedded_file.h"
#include "reports/page_data.h"
#include "reports/page_others.h"
#include "reports/places.h"
#include "reports/run_findings.h"

namespace assay::reports {
namespace {

// Placeholders: "@file(page.css)@" is replaced by that embedded file, "@run@" and "@details@" by the data.
constexpr std::string_view kFileMark = "@file(";

// A script element ends at the first "</script", wherever it occurs, and HTML comments hide text from some parsers.
std::string_view script_text(std::string_view name) {
  const std::string_view text = embedded_file(name);
  if (text.find("</script") != std::string_view::npos || text.find("<!--") != std::string_view::npos)
    throw std::logic_error(fmt::format("{} cannot be embedded in an HTML page", name));
  return text;
}

std::string in_page(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  // '<' occurs only in strings, where the escape has the same meaning.
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

std::string detail_elements(std::span<const harness::CaseRecord> cases, const Histories& histories, const SourceFiles& files) {
  std::string text;
  for (std::size_t first = 0; first < cases.size(); first += kDetailsPerPart) {
    const auto part = cases.subspan(first, std::min(kDetailsPerPart, cases.size() - first));
    text += fmt::format("<script type=\"application/json\" id=\"details-{}\">{}</script>\n", first / kDetailsPerPart,
                        in_page(page_details(part, &histories, &files)));
  }
  return text;
}

}  // namespace

std::string html(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases, const OtherRuns& others,
                 const SourceRoot* root) {
  const Histories histories(run, cases, others);
  const PageOthers beside = {.against = others.against ? &*others.against : nullptr,
                             .histories = others.past.empty() && others.trouble.empty() ? nullptr : &histories,
                             .root = root};
  std::string page;
  std::string_view rest = embedded_file("page.html");
  while (true) {
    const std::size_t start = rest.find('@');
    page += rest.substr(0, start);
    if (start == std::string_view::npos) return page;
    const std::size_t end = rest.find('@', start + 1);
    if (end == std::string_view::npos) throw std::logic_error("page.html: a mark without an end");
    const std::string_view mark = rest.substr(start, end - start);
    rest.remove_prefix(end + 1);
    if (mark.starts_with(kFileMark)) {
      page += script_text(mark.substr(kFileMark.size(), mark.size() - kFileMark.size() - 1));
    } else if (mark == "@title") {
      page += fmt::format("assay: run {}, {}", run.id, outcome_text(run));
    } else if (mark == "@run") {
      page += in_page(page_data(run, cases, beside));
    } else if (mark == "@details") {
      page += detail_elements(cases, histories, SourceFiles(run, root));
    } else {
      throw std::logic_error(fmt::format("page.html: unknown mark {}@", mark));
    }
  }
}

}  // namespace assay::reports

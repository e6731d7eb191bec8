#include "reports/run_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "reports/clean_text.h"
#include "reports/figures.h"
#include "reports/grouped.h"
#include "reports/replay.h"
#include "reports/run_findings.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;

constexpr std::size_t kMostFindings = 10;
constexpr std::size_t kMostElements = 3;
constexpr std::size_t kMostNotes = 10;
constexpr std::size_t kLongestText = 400;  // of one reason or note
constexpr std::size_t kLongestLine = 1000;

// At most `length` bytes of clean text in one line, never a part of a character.
std::string short_line(std::string_view text, std::size_t length) {
  std::string line = clean_text(text);
  std::ranges::replace(line, '\n', ' ');
  if (line.size() <= length) return line;
  while ((static_cast<unsigned char>(line[length]) & 0xC0) == 0x80) --length;
  return line.substr(0, length) + " ...";
}

// Entities rather than backslashes, which are no help inside of a word. GitHub takes @name and #12 for links even so, unless a comment
// stands between.
std::string prose(std::string_view text) {
  constexpr std::string_view kMarkup = "&<>*_`[]()|\\~!";
  std::string result;
  for (const char c : short_line(text, kLongestText)) {
    if (kMarkup.find(c) != std::string_view::npos) {
      result += fmt::format("&#{};", static_cast<int>(c));
    } else {
      result += c;
      if (c == '@' || c == '#') result += "<!-- -->";
    }
  }
  return result;
}

// A block whose fence is longer than any row of backticks inside, so that nothing in it ends it.
std::string code_block(std::string_view text) {
  const std::string line = short_line(text, kLongestLine);
  std::size_t longest = 0, row = 0;
  for (const char c : line) {
    row = c == '`' ? row + 1 : 0;
    longest = std::max(longest, row);
  }
  const std::string fence(std::max<std::size_t>(longest + 1, 3), '`');
  return fmt::format("{}\n{}\n{}\n", fence, line, fence);
}

std::string plural(std::size_t count, std::string_view noun) { return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s"); }

std::string element_rows(const CaseRecord& record) {
  if (record.judgement.worst.empty()) return {};
  const std::size_t row_length = std::max<std::size_t>(record.row_length, 1);
  std::string text = "| row | coordinate | expected | actual | bound | error / bound |\n|--:|--:|--:|--:|--:|--:|\n";
  for (std::size_t i = 0; i < std::min(kMostElements, record.judgement.worst.size()); ++i) {
    const harness::WorstElement& worst = record.judgement.worst[i];
    const bool is_missing = worst.fault == harness::ElementFault::not_written;
    text += fmt::format("| {} | {} | {:.9g} | {} | {:.3g} | {:.4g} |\n", worst.index / row_length, worst.index % row_length, worst.expected,
                        is_missing ? std::string("never written") : fmt::format("{:.9g}", worst.actual), worst.bound, worst.ratio);
  }
  return text + "\n";
}

std::string finding_text(const harness::RunRecord& run, std::span<const CaseRecord> cases, const RunFinding& finding) {
  const CaseRecord& smallest = cases[finding.smallest];
  const std::string reason = smallest.status ? smallest.reason : "the run was ended before there was a verdict";
  return fmt::format("### {}, {}: {}\n\n{}{}\n\n{}\n{}", prose(finding.variant), finding.status, prose(reason),
                     plural(finding.members.size(), "case"),
                     finding.members.size() == 1 ? ":" : "; the smallest:", code_block(replay_line(run, smallest)), element_rows(smallest));
}

struct VariantRow {
  std::size_t cases = 0, passed = 0, failed = 0, known = 0, skipped = 0;
  double largest_ratio = 0;

  void add(const CaseRecord& record) {
    ++cases;
    failed += counts_as_failure(record);
    passed += record.status == harness::Status::passed;
    known += record.status == harness::Status::known;
    skipped += record.status == harness::Status::skipped;
    if (record.status != harness::Status::known) largest_ratio = std::max(largest_ratio, record.judgement.max_ratio);
  }
};

std::string variant_table(std::span<const CaseRecord> cases) {
  std::map<std::string, VariantRow> rows;
  for (const CaseRecord& record : cases) rows[record.variant].add(record);
  std::string text = "| variant | cases | passed | failed | known | skipped | largest error / bound |\n|---|--:|--:|--:|--:|--:|--:|\n";
  for (const auto& [variant, row] : rows)
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {:.3g} |\n", prose(variant), row.cases, row.passed, row.failed, row.known,
                        row.skipped, row.largest_ratio);
  return text + "\n";
}

// Whole paragraphs as long as they fit.
class Document {
 public:
  void add(const std::string& paragraph) {
    if (is_cut_ || text_.size() + paragraph.size() + kCut.size() > kLongestMarkdown) {
      is_cut_ = true;
    } else {
      text_ += paragraph;
    }
  }
  [[nodiscard]] std::string take() && { return is_cut_ ? text_ + std::string(kCut) : text_; }

 private:
  static constexpr std::string_view kCut = "\n*More than fits here: `assay report --format html` has it all.*\n";
  std::string text_;
  bool is_cut_ = false;
};

}  // namespace

std::string run_markdown(const harness::RunRecord& run, std::span<const CaseRecord> cases) {
  std::vector<RunFinding> findings = run_findings(cases);
  std::erase_if(findings, [](const RunFinding& finding) { return !finding.is_failure; });

  Document document;
  document.add(run.failures == 0 ? fmt::format("## assay: none of {} failed\n\n", plural(run.verdicts, "case"))
                                 : fmt::format("## assay: {} of {} failed\n\n", grouped(run.failures), plural(run.verdicts, "case")));
  document.add(element_text(count_elements(cases)) + "; executed on the simulator");
  if (run.verdicts < run.description.selected)
    document.add(fmt::format("; {} of the {} selected without a verdict", grouped(run.description.selected - run.verdicts),
                             plural(run.description.selected, "case")));
  document.add(".\n\n");
  for (std::size_t i = 0; i < std::min(kMostFindings, findings.size()); ++i) document.add(finding_text(run, cases, findings[i]));
  if (findings.size() > kMostFindings)
    document.add(fmt::format("... and {}.\n\n", plural(findings.size() - kMostFindings, "further finding")));
  document.add("### Variants\n\n" + variant_table(cases));
  const std::vector<std::string>& notes = run.description.notes;
  for (std::size_t i = 0; i < std::min(kMostNotes, notes.size()); ++i) document.add(fmt::format("- {}\n", prose(notes[i])));
  if (notes.size() > kMostNotes) document.add(fmt::format("- ... and {}\n", plural(notes.size() - kMostNotes, "further note")));
  if (!notes.empty()) document.add("\n");
  document.add(fmt::format("Run {}, started {}:\n\n{}", run.id, run.started, code_block(run.description.command)));
  return std::move(document).take();
}

}  // namespace assay::reports

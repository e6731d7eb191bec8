// Finds the lines to which reports point.
#include "reports/places.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>

#include "reports/triage_record.h"

namespace assay::reports {

namespace fs = std::filesystem;

const metal::Hazard* first_defect(const harness::CaseRecord& record) {
  const auto found = std::ranges::find_if(record.hazards, [](const metal::Hazard& hazard) {
    return metal::is_defect(hazard.kind) && hazard.first.line != 0 && !hazard.lacks_line;
  });
  return found == record.hazards.end() ? nullptr : &*found;
}

Places::Places(const harness::RunRecord& run, const SourceRoot& root) : run_(run), root_(root), causes_(causes_by_case(run.findings)) {
  for (const harness::SourceRecord& source : run.description.environment.sources) sources_.emplace(source.variant, source.file);
}

metal::SourceLocation Places::of(const metal::SourceLocation& place) const { return {root_.path_of(place.file), place.line}; }

metal::SourceLocation Places::of_source(const std::string& variant) const {
  const auto found = sources_.find(variant);
  return {found == sources_.end() ? std::string() : root_.path_of(found->second), 0};
}

// Findings name files without their folders, and files of other variants with one folder.
metal::SourceLocation Places::of_suspect(const std::string& variant, const harness::SuspectRecord& suspect) const {
  const fs::path named = suspect.file;
  const auto found = sources_.find(variant);
  if (found == sources_.end() || named.empty()) return {};
  const fs::path source = found->second;
  if (source.filename() == named) return {root_.path_of(found->second), suspect.line};
  for (const fs::path& beside : {source.parent_path() / named, source.parent_path().parent_path() / named}) {
    std::error_code error;
    if (fs::is_regular_file(beside, error)) return {root_.path_of(beside.string()), suspect.line};
  }
  return of_source(variant);
}

metal::SourceLocation Places::of(const harness::FindingRecord& finding) const {
  return finding.suspects.empty() ? of_source(finding.variant) : of_suspect(finding.variant, finding.suspects.front());
}

metal::SourceLocation Places::of(const harness::CaseRecord& record) const {
  if (const metal::Hazard* const hazard = first_defect(record)) return of(hazard->first);
  for (const harness::Fault& fault : record.faults) {
    if (const auto* remark = fault.as<harness::fault::Remark>(); remark != nullptr && remark->place.line != 0) return of(remark->place);
  }
  if (const auto cause = causes_.find(record.name); cause != causes_.end()) return of(run_.findings[cause->second]);
  return of_source(record.variant);
}

std::string SourceFiles::shortened(std::string text, const harness::CaseRecord& record) const {
  if (text.find('/') == std::string::npos) return text;
  std::set<std::string, std::greater<>> files;  // of two that begin alike, the longer one first
  for (const harness::SourceRecord& source : run_.description.environment.sources) files.insert(source.file);
  for (const metal::Hazard& hazard : record.hazards) {
    files.insert(hazard.first.file);
    if (hazard.second) files.insert(hazard.second->file);
  }
  for (const std::string& file : files) {
    if (!file.starts_with('/')) continue;
    std::string name = root_ == nullptr ? file : root_->path_of(file);
    if (name.starts_with('/')) name = fs::path(file).filename().string();
    for (std::size_t at = 0; (at = text.find(file, at)) != std::string::npos; at += name.size()) text.replace(at, file.size(), name);
  }
  return text;
}

}  // namespace assay::reports

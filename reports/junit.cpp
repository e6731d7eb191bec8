// Writes a run as JUnit XML.
#include "reports/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "harness/findings/fault_text.h"
#include "reports/clean_text.h"
#include "reports/executed_on.h"
#include "reports/figures.h"
#include "reports/grouped.h"
#include "reports/places.h"
#include "reports/replay.h"
#include "reports/robustness.h"
#include "reports/run_findings.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;
using harness::Status;

// NaN has no error, and an element that was never written has no value.
std::string worst_line(const harness::WorstElement& worst, std::size_t row_length) {
  std::string text =
      fmt::format("row {}, coordinate {}: expected {:.9g}, ", worst.index / row_length, worst.index % row_length, worst.expected);
  if (worst.fault == harness::ElementFault::not_written) {
    text += "never written, ";
  } else {
    text += fmt::format("actual {:.9g}, ", worst.actual);
    if (const double error = std::abs(worst.actual - worst.expected); std::isfinite(error)) text += fmt::format("error {:.4g}, ", error);
  }
  return text + fmt::format("bound {:.4g}, error/bound {:.4g}\n", worst.bound, worst.ratio);
}

std::string details(const harness::RunRecord& run, const CaseRecord& record) {
  std::string text = harness::reason_of(record) + '\n';
  for (const metal::Hazard& hazard : record.hazards)
    text += fmt::format("{} ({})\n", harness::hazard_text(hazard), plural(hazard.count, "time"));
  for (const harness::WorstElement& worst : record.judgement.worst) text += worst_line(worst, std::max<std::size_t>(record.row_length, 1));
  return text + "replay: " + replay_line(run, record) + '\n';
}

// The element name: "failure", "error" or "skipped"; empty for a case that passed.
const char* element_of(const CaseRecord& record) {
  if (!record.status || *record.status == Status::crashed || *record.status == Status::timeout) return "error";
  // JUnit has no expected failures; readers notice skipped cases, so expected failures are reported as skipped.
  if (*record.status == Status::skipped || harness::is_expected_failure(*record.status)) return "skipped";
  return *record.status == Status::passed ? "" : "failure";
}

// Describes the cases that a stopped run never started; empty if there are none. Started cases have their own entries.
std::string missing_text(const harness::RunRecord& run, std::size_t begun) {
  const std::size_t selected = run.description.selected;
  if (begun < selected) return fmt::format("{} of {} selected cases were never started", grouped(selected - begun), grouped(selected));
  return run.stopped && without_verdict(run) == 0 ? "the run was stopped before every case had run" : "";
}

void append_missing(pugi::xml_node root, const harness::RunRecord& run, const std::string& missing) {
  pugi::xml_node suite = root.append_child("testsuite");
  suite.append_attribute("name") = "cases without a verdict";
  suite.append_attribute("tests") = 1;
  suite.append_attribute("failures") = 0;
  suite.append_attribute("errors") = 1;
  suite.append_attribute("skipped") = 0;
  suite.append_attribute("time") = "0.000000";
  suite.append_attribute("timestamp") = clean_text(run.started).c_str();
  pugi::xml_node testcase = suite.append_child("testcase");
  testcase.append_attribute("classname") = "assay";
  testcase.append_attribute("name") = "every selected case has a verdict";
  testcase.append_attribute("time") = "0.000000";
  pugi::xml_node error = testcase.append_child("error");
  error.append_attribute("type") = "no verdict";
  error.append_attribute("message") = missing.c_str();
  error.append_child(pugi::node_pcdata).set_value(clean_text("command: " + run.description.command + '\n').c_str());
}

// A case without a verdict has no counts.
double seconds_of(const CaseRecord& record) {
  const double seconds = record.oracle_seconds + record.simulator_seconds;
  return std::isfinite(seconds) ? seconds : 0;
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const CaseRecord& record) {
    const std::string_view element = element_of(record);
    ++tests;
    failures += element == "failure";
    errors += element == "error";
    skipped += element == "skipped";
    seconds += seconds_of(record);
  }
  void write(pugi::xml_node node) const {
    node.append_attribute("tests") = tests;
    node.append_attribute("failures") = failures;
    node.append_attribute("errors") = errors;
    node.append_attribute("skipped") = skipped;
    node.append_attribute("time") = fmt::format("{:.6f}", seconds).c_str();
  }
};

void append_property(pugi::xml_node properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  property.append_attribute("name") = name;
  property.append_attribute("value") = clean_text(value).c_str();
}

void append_result(pugi::xml_node testcase, const char* element, const harness::RunRecord& run, const CaseRecord& record) {
  const std::string reason = record.status ? harness::reason_of(record) : "the run was stopped before this case had a verdict";
  pugi::xml_node result = testcase.append_child(element);
  if (record.status != Status::skipped) {
    result.append_attribute("type") = record.status ? std::string(harness::to_string(*record.status)).c_str() : "no verdict";
  }
  result.append_attribute("message") = clean_text(reason).c_str();
  if (record.status != Status::skipped) result.append_child(pugi::node_pcdata).set_value(clean_text(details(run, record)).c_str());
}

void append_place(pugi::xml_node testcase, const metal::SourceLocation& place) {
  if (!place.file.empty()) testcase.append_attribute("file") = clean_text(place.file).c_str();
  if (!place.file.empty() && place.line != 0) testcase.append_attribute("line") = place.line;
}

void append_case(pugi::xml_node suite, const harness::RunRecord& run, const CaseRecord& record, const Places& places) {
  pugi::xml_node testcase = suite.append_child("testcase");
  testcase.append_attribute("classname") = clean_text(record.family + "." + record.variant).c_str();
  testcase.append_attribute("name") = clean_text(record.name).c_str();
  append_place(testcase, counts_as_failure(record) ? places.of(record) : places.of_source(record.variant));
  testcase.append_attribute("time") = fmt::format("{:.6f}", seconds_of(record)).c_str();
  if (const char* element = element_of(record); *element != '\0') append_result(testcase, element, run, record);
  if (!record.notes.empty())
    testcase.append_child("system-out").append_child(pugi::node_pcdata).set_value(clean_text(harness::text_of(record.notes)).c_str());
}

}  // namespace

std::string junit(const harness::RunRecord& run, std::span<const CaseRecord> cases, const SourceRoot& root) {
  const Places places(run, root);
  std::vector<std::string> families;
  Counts all;
  for (const CaseRecord& record : cases) {
    all.add(record);
    if (std::ranges::find(families, record.family) == families.end()) families.push_back(record.family);
  }
  const std::string missing = missing_text(run, cases.size());
  if (!missing.empty()) {
    ++all.tests;
    ++all.errors;
  }
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node suites = document.append_child("testsuites");
  suites.append_attribute("name") = "assay";
  all.write(suites);
  for (const std::string& family : families) {
    pugi::xml_node suite = suites.append_child("testsuite");
    suite.append_attribute("name") = clean_text(family).c_str();
    Counts counts;
    RunElements elements;
    for (const CaseRecord& record : cases) {
      if (record.family != family) continue;
      counts.add(record);
      elements.add(record);
    }
    counts.write(suite);
    suite.append_attribute("timestamp") = clean_text(run.started).c_str();
    pugi::xml_node properties = suite.append_child("properties");
    append_property(properties, "executed on", executed_on(run.description));
    append_property(properties, "assay", run.description.version);
    append_property(properties, "machine", run.description.machine);
    append_property(properties, "command", run.description.command);
    append_property(properties, "schedule", run.description.schedule.empty() ? "each case's own" : run.description.schedule);
    append_property(properties, "elements", element_text(elements));
    if (const std::string excused = excused_text(count_excused(run, cases)); !excused.empty())
      append_property(properties, "excused in the whole run", excused);
    if (const std::string text = robustness_text(run, cases); !text.empty()) append_property(properties, "fast math, the whole run", text);
    for (const std::string& note : run.description.notes) append_property(properties, "note", note);
    for (const CaseRecord& record : cases) {
      if (record.family == family) append_case(suite, run, record, places);
    }
  }
  if (!missing.empty()) append_missing(suites, run, missing);
  std::ostringstream stream;
  document.save(stream, "  ");
  return stream.str();
}

}  // namespace assay::reports

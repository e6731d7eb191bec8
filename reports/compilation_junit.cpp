// A compilation as JUnit XML.
#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>
#include <string>

#include "reports/clean_text.h"
#include "reports/compilation.h"
#include "reports/diagnostics.h"

namespace assay::reports {
namespace {

struct CompiledCase {
  std::string name;
  metal::SourceLocation place;
  std::string error;  // empty: it compiles
};

// The place of the error, which may lie in an included file, says more than that of the function.
metal::SourceLocation place_of_failure(const std::string& error, const metal::SourceLocation& otherwise) {
  for (const Diagnostic& diagnostic : diagnostics_of(error)) {
    if (diagnostic.place.line != 0) return diagnostic.place;
  }
  return otherwise;
}

std::vector<CompiledCase> cases_of(const Compilation& compilation) {
  std::vector<CompiledCase> cases;
  for (const CompiledLibrary& library : compilation.libraries) {
    if (!library.failure.empty())
      cases.push_back({compilation.file, place_of_failure(library.failure, {compilation.file, 0}), library.failure});
    for (const harness::InspectedFunction& function : library.functions) {
      const metal::SourceLocation declared = {function.declaration.file, function.declaration.line};
      cases.push_back({function.declaration.name, place_of_failure(function.refusal, declared), function.refusal});
    }
    for (const metal::RefusedFunction& refused : library.refused)
      cases.push_back({refused.name, {refused.file, refused.line}, refused.reason});
  }
  if (cases.empty()) cases.push_back({compilation.file, {compilation.file, 0}, "the file has no kernel"});
  return cases;
}

void append(pugi::xml_node suite, const CompiledCase& it, const Compilation& compilation, const SourceRoot& root) {
  pugi::xml_node testcase = suite.append_child("testcase");
  testcase.append_attribute("classname") = clean_text("compile." + compilation.file).c_str();
  testcase.append_attribute("name") = clean_text(it.name).c_str();
  testcase.append_attribute("file") = clean_text(root.path_of(it.place.file)).c_str();
  if (it.place.line != 0) testcase.append_attribute("line") = it.place.line;
  testcase.append_attribute("time") = "0.000000";
  if (it.error.empty()) return;
  pugi::xml_node failure = testcase.append_child("failure");
  failure.append_attribute("type") = "compile error";
  failure.append_attribute("message") = clean_text(it.error.substr(0, it.error.find('\n'))).c_str();
  failure.append_child(pugi::node_pcdata).set_value(clean_text(it.error).c_str());
}

}  // namespace

std::string compilation_junit(const Compilation& compilation, const SourceRoot& root) {
  const std::vector<CompiledCase> cases = cases_of(compilation);
  const auto failures = std::ranges::count_if(cases, [](const CompiledCase& it) { return !it.error.empty(); });
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node all = document.append_child("testsuites");
  all.append_attribute("name") = "assay";
  pugi::xml_node suite = all.append_child("testsuite");
  suite.append_attribute("name") = "compile";
  for (pugi::xml_node node : {all, suite}) {
    node.append_attribute("tests") = cases.size();
    node.append_attribute("failures") = failures;
    node.append_attribute("errors") = 0;
    node.append_attribute("skipped") = 0;
    node.append_attribute("time") = fmt::format("{:.6f}", compilation.seconds).c_str();
  }
  for (const CompiledCase& it : cases) append(suite, it, compilation, root);
  std::ostringstream stream;
  document.save(stream, "  ");
  return stream.str();
}

}  // namespace assay::reports

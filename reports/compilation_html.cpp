// A compilation as one HTML page. Without scripts: there is little to choose, and text becomes text nodes here.
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>
#include <string>

#include "harness/ledger/source_excerpt.h"
#include "reports/clean_text.h"
#include "reports/compilation_errors.h"
#include "reports/embedded_file.h"
#include "reports/grouped.h"
#include "reports/html.h"

namespace assay::reports {
namespace {

pugi::xml_node add_node(pugi::xml_node parent, const char* tag, std::string_view text = {}, const char* css_class = nullptr) {
  pugi::xml_node node = parent.append_child(tag);
  if (css_class != nullptr) node.append_attribute("class") = css_class;
  if (!text.empty()) node.append_child(pugi::node_pcdata).set_value(clean_text(text).c_str());
  return node;
}

pugi::xml_node add_head(pugi::xml_document& document, const std::string& title) {
  document.append_child(pugi::node_doctype).set_value("html");
  pugi::xml_node page = document.append_child("html");
  page.append_attribute("lang") = "en";
  pugi::xml_node head = page.append_child("head");
  head.append_child("meta").append_attribute("charset") = "utf-8";
  for (const auto& [name, content] :
       {std::pair("viewport", "width=device-width, initial-scale=1"), std::pair("color-scheme", "light dark")}) {
    pugi::xml_node meta = head.append_child("meta");
    meta.append_attribute("name") = name;
    meta.append_attribute("content") = content;
  }
  pugi::xml_node policy = head.append_child("meta");
  policy.append_attribute("http-equiv") = "Content-Security-Policy";
  policy.append_attribute("content") = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  add_node(head, "title", title);
  pugi::xml_node icon = head.append_child("link");
  icon.append_attribute("rel") = "icon";
  icon.append_attribute("href") = "data:,";
  // The style sheet as it is: within <style>, HTML knows no escapes.
  head.append_child("style").append_child(pugi::node_cdata).set_value("@style@");
  return page;
}

std::string place_text(const metal::SourceLocation& place, const SourceRoot& root) {
  if (place.file.empty()) return {};
  return place.line == 0 ? root.path_of(place.file) : fmt::format("{}:{}", root.path_of(place.file), place.line);
}

// The lines around the place, it being marked; else what the compiler quotes.
void add_excerpt(pugi::xml_node parent, const Diagnostic& diagnostic) {
  harness::SourceTexts texts;
  const std::vector<harness::SourceLine> lines = harness::lines_around(std::span(&diagnostic.place, 1), texts);
  if (lines.empty() && diagnostic.excerpt.empty()) return;
  pugi::xml_node listing = add_node(parent, "pre", lines.empty() ? diagnostic.excerpt : std::string(), "listing");
  for (const harness::SourceLine& line : lines) {
    const bool is_it = line.line == diagnostic.place.line;
    add_node(listing, "span", fmt::format("{} {:>5} | {}\n", is_it ? '>' : ' ', line.line, line.text), is_it ? "marked" : nullptr);
  }
  listing.append_attribute("tabindex") = "0";
  listing.append_attribute("role") = "region";
  listing.append_attribute("aria-label") = fmt::format("Source at line {}", diagnostic.place.line).c_str();
}

void add_error(pugi::xml_node parent, const CompilationError& it, const SourceRoot& root) {
  pugi::xml_node card = add_node(parent, "article", {}, "finding is-failure");
  pugi::xml_node title = add_node(card, "h3");
  add_node(title, "span", "error", "status fails");
  title.append_child(pugi::node_pcdata).set_value(clean_text(" " + it.error.text).c_str());
  if (const std::string place = place_text(it.error.place, root); !place.empty()) add_node(add_node(card, "p"), "code", place);
  add_excerpt(card, it.error);
  for (const Diagnostic& note : it.notes) {
    const std::string place = place_text(note.place, root);
    add_node(card, "p", fmt::format("Note{}{}: {}", place.empty() ? "" : " on ", place, note.text));
    add_excerpt(card, note);
  }
  if (it.functions.empty()) return;
  add_node(card, "p",
           fmt::format("{} {} not compile for this:", plural(it.functions.size(), "function"), it.functions.size() == 1 ? "does" : "do"),
           "quiet");
  pugi::xml_node list = add_node(card, "ul");
  for (const std::string& function : it.functions) add_node(add_node(list, "li"), "code", function);
}

}  // namespace

std::string compilation_html(const Compilation& compilation, const SourceRoot& root) {
  const std::string file = root.path_of(compilation.file);
  const std::string title = fmt::format("{} {}", file, compilation.is_sound() ? "compiles" : "does not compile");
  pugi::xml_document document;
  pugi::xml_node body = add_head(document, "assay: " + title).append_child("body");
  pugi::xml_node header = body.append_child("header");
  add_node(add_node(header, "p", "assay ", "brand"), "span", "numerical validation of Metal kernels");
  add_node(header, "h1", title);
  pugi::xml_node main = body.append_child("main");
  const std::vector<CompilationError> errors = errors_of(compilation);
  if (compilation.is_sound()) {
    add_node(main, "p", fmt::format("{}.", plural(compilation.functions(), "function")));
  } else if (errors.empty()) {
    add_node(main, "p", "The file has no kernel.");
  } else {
    add_node(main, "h2", plural(errors.size(), "error"));
    for (const CompilationError& it : errors) add_error(main, it, root);
  }
  std::ostringstream stream;
  document.save(stream, "", pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags, pugi::encoding_utf8);
  std::string page = stream.str();
  constexpr std::string_view kStyle = "<![CDATA[@style@]]>";
  page.replace(page.find(kStyle), kStyle.size(), embedded_file("page.css"));
  return page;
}

}  // namespace assay::reports

// Writes annotations as SARIF.
#include "reports/sarif.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "reports/clean_text.h"
#include "reports/json_text.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr std::string_view kRoot = "%SRCROOT%";
constexpr std::size_t kMostResults = 5000;                                         // GitHub shows no more of one file
constexpr std::array<std::string_view, 3> kLevels = {"note", "warning", "error"};  // in the order of Level

// RFC 3986: bytes that are neither unreserved nor '/' are encoded, so the result is a URI whatever the name of the file is.
std::string uri_path(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte < 0x80 && std::isalnum(byte) != 0) || std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

Json artifact(const std::string& file) {
  if (file.starts_with('/')) return {{"uri", "file://" + uri_path(file)}};
  return {{"uri", uri_path(file)}, {"uriBaseId", kRoot}};
}

Json location(const metal::SourceLocation& place) {
  return {{"physicalLocation",
           {{"artifactLocation", artifact(place.file)}, {"region", {{"startLine", std::max<std::uint32_t>(place.line, 1)}}}}}};
}

Json related(const RelatedPlace& it, std::size_t id) {
  Json json = location(it.place);
  json["id"] = id;
  json["message"] = {{"text", clean_text(it.text)}};
  return json;
}

Json rule(const Annotation& it) {
  return {{"id", clean_text(it.rule)},
          {"shortDescription", {{"text", clean_text(it.rule_says)}}},
          {"fullDescription", {{"text", clean_text(it.rule_says)}}},
          {"help", {{"text", clean_text(it.rule_says)}}},
          {"defaultConfiguration", {{"level", kLevels.at(static_cast<std::size_t>(it.level))}}}};
}

Json result(const Annotation& it, std::size_t rule_index) {
  base::Hash fingerprint;
  fingerprint.add(it.rule).add(it.place.file).add(it.subject).add(it.title);
  std::string message = clean_text(it.message);
  while (message.ends_with('\n')) message.pop_back();
  Json json = {{"ruleId", clean_text(it.rule)},
               {"ruleIndex", rule_index},
               {"level", kLevels.at(static_cast<std::size_t>(it.level))},
               {"message", {{"text", clean_text(it.title) + "\n" + message}}}};
  if (!it.place.file.empty()) json["locations"] = Json::array({location(it.place)});
  std::size_t id = 0;
  for (const RelatedPlace& other : it.related) {
    if (!other.place.file.empty()) json["relatedLocations"].push_back(related(other, ++id));
  }
  json["partialFingerprints"] = {{"assay/v1", fingerprint.hex()}};
  return json;
}

Json invocation_of(const SarifRun& run) {
  Json json = {{"executionSuccessful", run.is_complete}};
  if (!run.command.empty()) json["commandLine"] = clean_text(run.command);
  if (!run.started.empty()) json["startTimeUtc"] = clean_text(run.started);
  if (!run.finished.empty()) json["endTimeUtc"] = clean_text(run.finished);
  return json;
}

}  // namespace

std::string sarif(std::span<const Annotation> annotations, const SarifRun& run, const SourceRoot& root) {
  Json rules = Json::array();
  Json results = Json::array();
  std::map<std::string, std::size_t> indices;
  for (const Annotation& it : annotations.first(std::min(annotations.size(), kMostResults))) {
    const auto [place, is_new] = indices.emplace(it.rule, rules.size());
    if (is_new) rules.push_back(rule(it));
    results.push_back(result(it, place->second));
  }
  const Json driver = {{"name", "assay"}, {"version", clean_text(run.version)}, {"rules", std::move(rules)}};
  const std::string base = "file://" + uri_path(root.folder().generic_string()) + "/";
  return json_text({{"$schema", kSchema},
                    {"version", "2.1.0"},
                    {"runs", Json::array({{{"tool", {{"driver", driver}}},
                                           {"invocations", Json::array({invocation_of(run)})},
                                           {"originalUriBaseIds", {{kRoot, {{"uri", base}}}}},
                                           {"columnKind", "unicodeCodePoints"},
                                           {"results", std::move(results)}}})}});
}

}  // namespace assay::reports

// Reads manifests and results of bundles that come from elsewhere: every value is checked or compared before it is used.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/bundle.h"
#include "reports/strict_json.h"

namespace assay::reports {
namespace {

using Input = nlohmann::json;
using harness::BundleError;

constexpr int kDeepestManifest = 12;  // a manifest nests seven deep
constexpr std::size_t kLongestWord = 4096;
constexpr std::size_t kLongestDevice = 200;
constexpr std::size_t kMostBuffers = 1024;

// A file of the bundle as JSON; its errors name the file and the place.
class Document {
 public:
  Document(std::string_view text, std::filesystem::path path) : path_(std::move(path)) {
    root_ = parse_strict_json(text, kDeepestManifest, [this](const std::string& what) { fail("", what); });
  }

  [[nodiscard]] const Input& root() const { return root_; }

  [[noreturn]] void fail(const std::string& place, std::string_view what) const {
    throw BundleError(path_, place.empty() ? std::string(what) : fmt::format("{}: {}", place, what));
  }

  [[nodiscard]] const Input& member(const Input& object, const std::string& place, const char* key, Input::value_t type) const {
    const std::string below = place.empty() ? std::string(key) : fmt::format("{}.{}", place, key);
    if (!object.is_object()) fail(place, fmt::format("must be an object, not {}", object.type_name()));
    const auto found = object.find(key);
    if (found == object.end()) fail(below, "is missing");
    if (found->type() != type) fail(below, fmt::format("must be {}, not {}", Input(type).type_name(), found->type_name()));
    return *found;
  }
  [[nodiscard]] std::string word(const Input& object, const std::string& place, const char* key, std::size_t longest = kLongestWord) const {
    auto text = member(object, place, key, Input::value_t::string).get<std::string>();
    if (text.size() > longest) fail(fmt::format("{}.{}", place, key), fmt::format("has more than {} characters", longest));
    return text;
  }
  [[nodiscard]] const Input& list(const Input& object, const std::string& place, const char* key, std::size_t most) const {
    const Input& list = member(object, place, key, Input::value_t::array);
    if (list.size() > most) fail(place.empty() ? key : fmt::format("{}.{}", place, key), fmt::format("has more than {} entries", most));
    return list;
  }
  void require_keys(const Input& object, const std::string& place, std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) == known.end()) fail(place.empty() ? key : fmt::format("{}.{}", place, key), "is an unknown key");
    }
  }
  void require_format(const char* format) const {
    if (word(root_, "", "format") != format) fail("format", fmt::format("must be \"{}\"", format));
    const Input& version = member(root_, "", "version", Input::value_t::number_unsigned);
    if (version.get<std::uint64_t>() != kBundleVersion)
      fail("version", fmt::format("is {}; this assay has version {}", version.get<std::uint64_t>(), kBundleVersion));
  }

 private:
  std::filesystem::path path_;
  Input root_;
};

std::string quoted_value(const Input& value) {
  constexpr std::size_t kLongest = 80;
  std::string text = value.dump(-1, ' ', true, Input::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// Fails at the first value that differs.
void require_equal(const Document& document, const std::string& place, const Input& theirs, const Input& ours) {
  if (theirs.is_object() && ours.is_object()) {
    for (const auto& [key, value] : theirs.items()) {
      const std::string below = place.empty() ? key : fmt::format("{}.{}", place, key);
      if (!ours.contains(key)) document.fail(below, "is an unknown key");
      // An id is a hash of what follows, which says more.
      if (key != "id") require_equal(document, below, value, ours[key]);
    }
    for (const auto& [key, value] : ours.items()) {
      const std::string below = place.empty() ? key : fmt::format("{}.{}", place, key);
      if (!theirs.contains(key)) document.fail(below, fmt::format("is missing; it must be {}", quoted_value(value)));
    }
    if (theirs != ours)
      document.fail(place + ".id", fmt::format("is {}; it must be {}", quoted_value(theirs["id"]), quoted_value(ours["id"])));
  } else if (theirs.is_array() && ours.is_array()) {
    for (std::size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i)
      require_equal(document, fmt::format("{}[{}]", place, i), theirs[i], ours[i]);
    if (theirs.size() != ours.size()) document.fail(place, fmt::format("has {} entries; it must have {}", theirs.size(), ours.size()));
  } else if (theirs != ours) {
    document.fail(place, fmt::format("is {}; this case, kernel and assay have {} there", quoted_value(theirs), quoted_value(ours)));
  }
}

std::uint64_t digest_in(const Document& document, const Input& object, const std::string& place) {
  const std::string text = document.word(object, place, "digest", 16);
  std::uint64_t digest = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size())
    document.fail(place + ".digest", "must have 16 hexadecimal digits");
  return digest;
}

harness::ReturnedCase returned_case(const Document& document, const Input& object, const std::string& place) {
  harness::ReturnedCase one{.name = document.word(object, place, "name"), .id = document.word(object, place, "id")};
  document.require_keys(object, place, {"name", "id", "error", "buffers"});
  if (object.contains("error")) {
    const std::string below = place + ".error";
    const Input& error = document.member(object, place, "error", Input::value_t::object);
    document.require_keys(error, below, {"stage", "text"});
    one.refusal = {document.word(error, below, "stage"), document.word(error, below, "text")};
    if (std::ranges::find(harness::kStages, one.refusal->stage) == std::end(harness::kStages))
      document.fail(below + ".stage", fmt::format("is '{}', which is no stage of a runner", one.refusal->stage));
  }
  const Input& buffers = document.list(object, place, "buffers", kMostBuffers);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::string below = fmt::format("{}.buffers[{}]", place, i);
    const Input& number = document.member(buffers[i], below, "buffer", Input::value_t::number_unsigned);
    document.require_keys(buffers[i], below, {"buffer", "digest"});
    one.buffers.push_back({number.get<std::uint64_t>(), digest_in(document, buffers[i], below)});
  }
  return one;
}

}  // namespace

ManifestHead parse_manifest_head(std::string_view text, const std::filesystem::path& file) {
  const Document document(text, file);
  document.require_format("assay-bundle");
  ManifestHead head;
  const std::string math = document.word(document.root(), "", "math");
  if (math != "precise" && math != "fast") document.fail("math", fmt::format("is '{}'; accepted: precise, fast", math));
  head.math = math == "fast" ? harness::BundleMath::fast : harness::BundleMath::precise;
  const Input& cases = document.list(document.root(), "", "cases", kMostBundledCases);
  if (cases.empty()) document.fail("cases", "is empty");
  for (std::size_t i = 0; i < cases.size(); ++i) head.names.push_back(document.word(cases[i], fmt::format("cases[{}]", i), "name"));
  return head;
}

void require_manifest(const harness::BundleFolder& folder, const BundleManifest& made) {
  const Document document(folder.read_at_most(kManifestFile, kLargestManifest), folder.path() / kManifestFile);
  require_equal(document, "", document.root(), Input::parse(made.text));
}

ManifestHead read_manifest_head(const harness::BundleFolder& folder) {
  return parse_manifest_head(folder.read_at_most(kManifestFile, kLargestManifest), folder.path() / kManifestFile);
}

harness::Returned read_results(const harness::BundleFolder& folder) {
  return parse_results(folder.read_at_most(kResultsFile, kLargestManifest), folder.path() / kResultsFile);
}

harness::Returned parse_results(std::string_view text, const std::filesystem::path& file) {
  const Document document(text, file);
  document.require_format("assay-results");
  document.require_keys(document.root(), "", {"format", "version", "runner", "executed_on", "cases"});
  harness::Returned returned;
  returned.executed_on = document.word(document.root(), "", "executed_on", kLongestDevice);
  const bool is_plain = std::ranges::all_of(returned.executed_on, [](char c) { return c >= ' ' && c <= '~'; });
  if (returned.executed_on.empty() || !is_plain) document.fail("executed_on", "must name the device in printable ASCII");
  const Input& cases = document.list(document.root(), "", "cases", kMostBundledCases);
  for (std::size_t i = 0; i < cases.size(); ++i) returned.cases.push_back(returned_case(document, cases[i], fmt::format("cases[{}]", i)));
  return returned;
}

}  // namespace assay::reports

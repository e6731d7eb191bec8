// Manifests and results of bundles: any bytes are read within limits, or are a BundleError with the file.
#include <algorithm>
#include <string_view>

#include "harness/bundle/folder.h"
#include "reports/bundle.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

template <typename Read>
void check(const Read& read) {
  try {
    read();
  } catch (const harness::BundleError& error) {
    require(std::string_view(error.what()).starts_with("fuzz.json: "), "a message begins with the file");
    note_outcome(error.what());
  }
}

void check_manifest(std::string_view text) {
  const reports::ManifestHead head = reports::parse_manifest_head(text, "fuzz.json");
  require(!head.names.empty() && head.names.size() <= reports::kMostBundledCases, "a manifest has some cases");
  note_outcome("manifest");
}

void check_results(std::string_view text) {
  const harness::Returned returned = reports::parse_results(text, "fuzz.json");
  require(std::ranges::all_of(returned.executed_on, [](char c) { return c >= ' ' && c <= '~'; }), "a device has a printable name");
  note_outcome("results");
  for (const harness::ReturnedCase& one : returned.cases) {
    note_outcome(one.refusal ? one.refusal->stage : "outputs");
    require(!one.refusal || std::ranges::find(harness::kStages, one.refusal->stage) != std::end(harness::kStages),
            "a stage is one of ours");
  }
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text = tests::text_of(data, size);
  tests::check([&] { tests::check_manifest(text); });
  tests::check([&] { tests::check_results(text); });
  return 0;
}

// The JSON of bundles: the manifest that we write, and readers of manifests and results that come from elsewhere (docs/BUNDLES.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bundle/bundle.h"
#include "harness/bundle/folder.h"
#include "harness/bundle/returned.h"

namespace assay::reports {

inline constexpr int kBundleVersion = 1;
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kResultsFile = "results.json";
inline constexpr std::uint64_t kLargestManifest = std::uint64_t{64} << 20;  // bytes; the same for results
inline constexpr std::size_t kMostBundledCases = 10000;

[[nodiscard]] std::string_view to_string(harness::BundleMath math);

struct BundleManifest {
  std::string text;
  std::vector<std::string> ids;  // of the cases: a hash of all that their manifest says
};
[[nodiscard]] BundleManifest bundle_manifest(harness::BundleMath math, std::span<const harness::BundleCase> cases);

// What a manifest from elsewhere says of itself; the rest is not read, but compared.
struct ManifestHead {
  harness::BundleMath math = harness::BundleMath::precise;
  std::vector<std::string> names;  // of the cases
};
// `file` is for messages. Throws harness::BundleError.
[[nodiscard]] ManifestHead parse_manifest_head(std::string_view text, const std::filesystem::path& file);
[[nodiscard]] ManifestHead read_manifest_head(const harness::BundleFolder& folder);

// Throws harness::BundleError at the first value of the folder's manifest that is not the one of `made`.
void require_manifest(const harness::BundleFolder& folder, const BundleManifest& made);

// The results that a runner wrote. Throws harness::BundleError.
[[nodiscard]] harness::Returned parse_results(std::string_view text, const std::filesystem::path& file);
[[nodiscard]] harness::Returned read_results(const harness::BundleFolder& folder);

}  // namespace assay::reports

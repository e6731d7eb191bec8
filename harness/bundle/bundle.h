// A case as files for a device elsewhere: sources, buffers, the calls to an encoder, and what to return.
//
// A bundle is never read back into these types. Who judges makes it again from the names of its cases, and compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/job.h"
#include "fixtures/shelf.h"
#include "harness/cases/case.h"
#include "harness/prepare/workbench.h"
#include "metal/devices/commands.h"

namespace assay::harness {

// Where kernels may round more freely, as MTLCompileOptions has it.
enum class BundleMath : std::uint8_t { precise, fast };

// Bytes of a buffer before the dispatches: those of a file, or one byte repeated.
struct BundleRegion {
  std::uint64_t at = 0, bytes = 0;
  std::string file;  // in the bundle; empty: `fill`
  std::byte fill = {};
};

struct BundleBuffer {
  std::string argument;
  families::BufferRole role = families::BufferRole::input;
  std::size_t pass = 0;               // 0 for inputs, which all passes share
  std::uint64_t bytes = 0;            // with guard bands
  std::uint32_t fill = 0;             // the word, little-endian, of everything outside of the regions; the last one may be cut
  std::vector<BundleRegion> regions;  // written in this order
};

struct BundleConstant {
  std::uint32_t index = 0;
  std::string type;   // "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float"; "uint2"
  std::string bytes;  // little-endian, as setConstantValue takes them
};

struct BundlePipeline {
  std::string source;     // file in the bundle, with everything that it includes
  int metal_version = 0;  // 310: 3.1
  std::string function;
  std::vector<BundleConstant> constants;  // those that the source declares
};

struct BundleCase {
  std::string name;
  std::vector<BundlePipeline> pipelines;
  std::vector<BundleBuffer> buffers;                // inputs first, then the others pass by pass
  std::vector<std::vector<metal::Command>> passes;  // their numbers are those of `pipelines` and `buffers`
};

// Which buffer of a job a buffer of its bundle is.
struct BundlePlace {
  std::size_t buffer = 0, pass = 0;
};
// In the order of BundleCase::buffers.
[[nodiscard]] std::vector<BundlePlace> places_of(const families::Job& job);

// Takes the contents of a file and returns its name in the bundle, which depends on nothing but `folder`, the contents and `suffix`.
using KeepFile = std::function<std::string(std::string_view folder, std::span<const std::byte> contents, std::string_view suffix)>;

// The name of a file by its contents: "inputs/<64 hexadecimal digits>.bin".
[[nodiscard]] std::string content_name(std::string_view folder, std::span<const std::byte> contents, std::string_view suffix);

// Why a case cannot be judged by the outputs of one run elsewhere; empty if it can.
[[nodiscard]] std::string why_not_bundled(const PreparedVariant& prepared, const Case& test_case);

// Throws std::invalid_argument for a source that is more than a bundle can hold, and what encode_case() throws.
[[nodiscard]] BundleCase make_bundle(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf,
                                     const KeepFile& keep);

}  // namespace assay::harness

// Cases whose inputs are read from a fixture file: `h5-<stem>` instead of the fixture's name.
//
//   tq4_v1/d256/h8x2/kv300c300/ring37/win100/nwg16/h5-tq4_ring/s7     reads tq4_ring.h5
//
// The attributes of /format say what the file contains (docs/FIXTURES.md): either `case`, the text of the case that it was made from,
// with the family instead of the variant, or one attribute per axis. A case on a file must have the file's axis values and seed, except
// for axes that affect neither inputs nor expectation (Axis::is_launch_choice).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/hdf5_file.h"
#include "fixtures/shelf.h"
#include "harness/cases/case.h"

namespace assay::harness {

// The version of the layout: the only one that is written and read.
inline constexpr std::int64_t kFileVersion = 1;

// The stem in a fixture word; nullopt if the word is not of the form h5-<stem>.
[[nodiscard]] std::optional<std::string_view> file_stem(std::string_view fixture);
[[nodiscard]] inline bool is_on_file(const Case& value) { return file_stem(value.fixture).has_value(); }
// The word "h5-<stem>" for a file.
[[nodiscard]] std::string file_word(const std::filesystem::path& file);

// The case that a file describes, without a variant; not verified. `generator` is the fixture that made its inputs, empty if
// they were captured.
struct FileCase {
  Case value;
  std::string generator;
};

// Throws fixtures::FileError, naming the attribute, if the attributes do not describe a case.
[[nodiscard]] FileCase read_file_case(const std::filesystem::path& file, const fixtures::FileDescription& description);

// The attributes for a file with the inputs of a generated case.
[[nodiscard]] fixtures::Attributes file_attributes(const Case& value);

// Throws fixtures::FileError with both values if the case does not match the file.
void require_agreement(const Case& value, const std::filesystem::path& file, const FileCase& of_file);

// The cases of the corpus that belong to this family, one per file, for one variant. The corpus is read once per process.
[[nodiscard]] std::vector<Case> corpus_cases(const Family& family, const std::string& variant);

}  // namespace assay::harness

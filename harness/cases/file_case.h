// Cases whose inputs are read from a fixture file instead of made: `h5-<stem>` in the place of the fixture's name.
//
//   tq4_v1/d256/h8x2/kv300c300/ring37/win100/nwg16/h5-tq4_ring/s7     reads tq4_ring.h5
//
// The file says what it is in the attributes of /format (docs/FIXTURES.md): either `case`, the text of the case that it was
// made from, with the family in the variant's place, or one attribute per axis. A case on a file must have that file's axis
// values and seed, except for axes that neither inputs nor expectation depend on (Axis::is_launch_choice).
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

// The version of the layout that is written, and the only one that is read.
inline constexpr std::int64_t kFileVersion = 1;

// The stem that a fixture word names; nullopt if it is no such word.
[[nodiscard]] std::optional<std::string_view> file_stem(std::string_view fixture);
[[nodiscard]] inline bool is_on_file(const Case& value) { return file_stem(value.fixture).has_value(); }
// "h5-<stem>" of a file.
[[nodiscard]] std::string file_word(const std::filesystem::path& file);

// What a file says it is: a case without a variant, on the file's own word. `generator` is the fixture that made its inputs,
// empty if they were captured.
struct FileCase {
  Case value;
  std::string generator;
};

// Throws fixtures::FileError, naming the attribute, if the attributes do not make a case.
[[nodiscard]] FileCase read_file_case(const std::filesystem::path& file, const fixtures::FileDescription& description);

// The attributes of a file with the inputs of a case that a generator makes.
[[nodiscard]] fixtures::Attributes file_attributes(const Case& value);

// Throws fixtures::FileError with both values if the case is not the file's.
void require_agreement(const Case& value, const std::filesystem::path& file, const FileCase& of_file);

// The cases of the corpus that are of this family, one per file, for one variant; read once per process.
[[nodiscard]] std::vector<Case> corpus_cases(const Family& family, const std::string& variant);

}  // namespace assay::harness

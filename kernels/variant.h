// A variant: one iteration of a kernel, described by a `variant.toml` beside its `.metal` source and found at run time.
// docs/VARIANT.md has the grammar of variant.toml: its tables and keys, with types, defaults and meaning. Every key that is not there is
// refused, with file, line and the accepted keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compile_settings.h"
#include "kernels/contract.h"
#include "metal/argument_layout.h"

namespace assay::kernels {

// A variant.toml, a kernel path or a `--set` that cannot be used; what() names the place.
class VariantError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A lone file, of which nobody says what it implements.
class FamilyUnknown : public VariantError {
 public:
  using VariantError::VariantError;
};

// The only values of one axis that a variant supports. Axes belong to the harness, which checks the name.
struct AxisLimit {
  std::string axis;
  std::vector<std::int64_t> values;
  std::uint32_t line = 0;  // in the variant.toml, for messages; 0 of a lone file
  bool is_found = false;   // by trying a lone file, not said by anybody: each case outside of it tells why itself
};

// A promise: the outputs are bit by bit those of `same_bits_as`, in every case whose axes have the values of `where`. Axes belong to the
// harness, which checks the names.
struct Claim {
  std::string text;  // as it was written
  std::string same_bits_as;
  std::vector<std::pair<std::string, std::int64_t>> where;
  std::uint32_t line = 0;
};

// The variant that replaces another one.
struct Successor {
  std::string name;
  std::uint32_t line = 0;
};

struct Accuracy {
  std::optional<std::uint32_t> dot_depth;
  std::string accumulator = "float";
  std::optional<std::uint32_t> accumulator_keys;
  std::vector<std::string> stores;
  std::optional<std::string> merge_store;
  std::string reason;
};

struct KnownFinding {
  std::string when;   // predicate over axes
  std::string shows;  // failure signature
  std::string see;
  std::uint32_t line = 0;
};

using FieldValues = std::map<std::string, metal::FieldValue, std::less<>>;
// Of function constants, by name or index: a number, or the components of a vector.
using ConstantAssignments = std::map<std::string, std::vector<metal::FieldValue>, std::less<>>;

struct Variant {
  std::string name;                   // the folder's name, or the stem of a lone .metal file with '_' for what no case name has
  std::filesystem::path description;  // the variant.toml; empty for a lone file
  std::string family;
  const FamilyContract* contract = nullptr;            // of that family; outlives this
  std::filesystem::path source;                        // the first file, if there are several
  std::vector<std::filesystem::path> further_sources;  // the same translation unit goes on with them
  CompileSettings compile;
  std::string about;
  std::vector<Claim> claims;
  std::optional<Successor> superseded_by;
  std::uint32_t offset_bits = 32;
  std::map<std::string, std::string, std::less<>> entry;                           // entry key -> function
  std::map<std::string, std::vector<std::string>, std::less<>> entry_definitions;  // entry key -> macros of its pipelines alone
  std::vector<AxisLimit> limits;
  FieldValues fields;
  std::map<std::string, std::uint32_t, std::less<>> field_lines;  // where [fields] says them; none of --set
  ConstantAssignments constants;                                  // function constants that the family does not set
  std::map<std::string, std::string, std::less<>> bind;           // the family's argument name -> the kernel's
  Accuracy accuracy;
  std::vector<KnownFinding> known_findings;

  // Function of an entry key, as [entry] or the family has it.
  [[nodiscard]] std::string function(std::string_view entry_key) const;
  // `source` and those behind it.
  [[nodiscard]] std::vector<std::filesystem::path> translation_unit() const;
  // What [entry] defines for the pipelines of an entry, besides `compile`.
  [[nodiscard]] std::vector<std::string> definitions_of(std::string_view entry_key) const;
};

// The following take the contracts of the families that a description may name; the variants point into them.
//
// Reads the text of a variant.toml. `file` stands in messages and is what `source` is relative to. Throws VariantError.
[[nodiscard]] Variant parse_variant(std::string_view text, std::string name, const std::filesystem::path& file, Contracts contracts);

// Reads `file`; the variant is named after its folder. What `superseded_by` names must stand beside that. Throws VariantError.
[[nodiscard]] Variant read_variant(const std::filesystem::path& file, Contracts contracts);

// Every folder below `directory` that holds a variant.toml, sorted by name. Throws VariantError if the directory cannot
// be read or a description is wrong.
[[nodiscard]] std::vector<Variant> find_variants(const std::filesystem::path& directory, Contracts contracts);

// Where this build's own variants are: $ASSAY_VARIANTS if set, else the folder in the source tree.
[[nodiscard]] std::filesystem::path default_variants_directory();

// A user's kernel: a directory with a variant.toml, the variant.toml itself, a .metal file that the variant.toml beside it describes, or a
// lone one; `family` makes any file a lone one and is required for that. A `family` that contradicts the description is refused. Throws
// VariantError.
[[nodiscard]] Variant variant_from_path(const std::filesystem::path& path, std::string_view family, Contracts contracts);

// `axis=value` or `axis=value,value`, whole numbers: what [limits] says of a described variant. Throws VariantError.
[[nodiscard]] AxisLimit parse_limit_assignment(std::string_view text);

// `name=value`, value an integer, a floating-point number, true or false. Throws VariantError.
[[nodiscard]] std::pair<std::string, metal::FieldValue> parse_field_assignment(std::string_view text);

// The same of a function constant, which may be a vector: `name=value` or `name=value,value`. Throws VariantError.
[[nodiscard]] std::pair<std::string, std::vector<metal::FieldValue>> parse_constant_assignment(std::string_view text);

}  // namespace assay::kernels

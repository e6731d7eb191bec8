// A variant: one iteration of a kernel, described by a `variant.toml` beside its `.metal` source and found at run time.
// docs/VARIANT.md has the grammar of variant.toml: its tables and keys, with types, defaults and meaning. Every key that is not there is
// refused, with file, line and the accepted keys.
#pragma once

#include <algorithm>
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
#include "kernels/custom.h"
#include "kernels/launch.h"
#include "metal/argument_layout.h"

namespace assay::kernels {

// A variant.toml, kernel path or `--set` that cannot be used; what() names the place.
class VariantError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A .metal file without variant.toml and without --family.
class FamilyUnknown : public VariantError {
 public:
  using VariantError::VariantError;
};

// The only values of one axis that a variant supports. harness/ checks the axis names.
struct AxisLimit {
  std::string axis;
  std::vector<std::int64_t> values;
  std::uint32_t line = 0;  // line in variant.toml, for messages; 0 without one
  bool is_found = false;   // detected by compiling the kernel, not given by the user; each case outside of it reports its own reason
  // If the limit names pairs: the other axis, and all that the two may be together, the other axis first. Else every value of one is
  // admitted with every value of the other.
  std::string partner = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs = {};

  // Whether the value is admitted beside a value of the partner, which is ignored without pairs.
  [[nodiscard]] bool admits(std::int64_t value, std::int64_t beside) const {
    if (std::ranges::find(values, value) == values.end()) return false;
    return pairs.empty() || std::ranges::find(pairs, std::pair(beside, value)) != pairs.end();
  }
};

// A claim that the outputs equal those of `same_bits_as` bit for bit, or that the kernel does what its family's contract leaves out
// (`omission`), in every case whose axes have the values of `where`. harness/ checks the names of axes and omissions.
struct Claim {
  std::string text;          // the claim as written
  std::string same_bits_as;  // a variant; empty for a claim about an omission
  std::string omission;
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
  std::map<std::string, std::string, std::less<>> formats;  // keys of the family (FamilyContract::accuracy_formats) that are not float
  std::string reason;

  // The format of such a key; "float" if it is not declared.
  [[nodiscard]] std::string_view format(std::string_view key) const;
};

struct KnownFinding {
  std::string when;   // predicate over axes
  std::string shows;  // failure signature
  std::string see;
  std::uint32_t line = 0;
};

// Values of function constants, by name or index: a number, or the components of a vector.
using ConstantAssignments = std::map<std::string, std::vector<metal::FieldValue>, std::less<>>;

struct Variant {
  std::string name;  // the folder's name, or the stem of a .metal file with '_' for characters that case names cannot contain
  std::filesystem::path description;  // the variant.toml; empty without one
  std::string family;
  const FamilyContract* contract = nullptr;            // contract of the family; must outlive this
  std::filesystem::path source;                        // the first file, if there are several
  std::vector<std::filesystem::path> further_sources;  // further files of the same translation unit
  CompileSettings compile;
  std::string about;
  std::vector<Claim> claims;
  std::optional<Successor> superseded_by;
  std::uint32_t offset_bits = 32;
  bool reads_hidden = false;                                                       // reads rows of hidden keys, which must then be finite
  std::map<std::string, std::string, std::less<>> entry;                           // entry key -> function
  std::map<std::string, std::vector<std::string>, std::less<>> entry_definitions;  // entry key -> macros of its pipelines only
  std::vector<AxisLimit> limits;
  bool has_untrusted_limits = false;  // its file has some that do not count (trust.h)
  FieldValues fields;
  std::map<std::string, std::uint32_t, std::less<>> field_lines;  // lines of [fields]; without values of --set
  ConstantAssignments constants;                                  // function constants that the family does not set
  std::map<std::string, std::string, std::less<>> bind;           // the family's argument name -> the kernel's
  Accuracy accuracy;
  std::vector<KnownFinding> known_findings;
  std::map<std::string, std::int64_t, std::less<>> settings;  // of the family's own table
  std::string text;                                           // of the variant.toml, if it describes a launch
  std::optional<LaunchDescription> launch;                    // [let], [[scratch]], [[dispatch]]
  std::optional<CustomDescription> custom;                    // [axes], [tensors], [bound], [reference]

  // The value of a key of the family's own table, or its initial one. Throws std::invalid_argument if the family has no such key.
  [[nodiscard]] std::int64_t setting(std::string_view key) const;
  // The function name of an entry key, from [entry] or the family.
  [[nodiscard]] std::string function(std::string_view entry_key) const;
  // `source` and `further_sources`.
  [[nodiscard]] std::vector<std::filesystem::path> translation_unit() const;
  // Macros that [entry] defines for the pipelines of an entry, in addition to `compile`.
  [[nodiscard]] std::vector<std::string> definitions_of(std::string_view entry_key) const;
};

// Gives the variant another source, which may include what its own includes by `#include "..."`.
void replace_source(Variant& variant, const std::filesystem::path& source);

// The following functions take the contracts of the accepted families; variants keep pointers to them.
//
// The contents of a file. Throws VariantError if it cannot be read.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

// Parses the text of a variant.toml. `file` is used in messages, and `source` is relative to it. Throws VariantError.
[[nodiscard]] Variant parse_variant(std::string_view text, std::string name, const std::filesystem::path& file, Contracts contracts);

// Reads a description alone, without the files that it names, such as one of another branch. Its variant is named after its folder. Throws
// VariantError.
[[nodiscard]] Variant read_description(const std::filesystem::path& file, Contracts contracts);

// Reads `file` and names the variant after its folder. The variant of `superseded_by` must be in the same parent folder. Throws
// VariantError.
[[nodiscard]] Variant read_variant(const std::filesystem::path& file, Contracts contracts);

// Loads every folder below `directory` that contains a variant.toml, sorted by name. Throws VariantError if the directory cannot be read or
// a variant.toml is invalid.
[[nodiscard]] std::vector<Variant> find_variants(const std::filesystem::path& directory, Contracts contracts);

// $ASSAY_VARIANTS if set, else the folder of our own variants.
[[nodiscard]] std::filesystem::path default_variants_directory();

// Loads a user's kernel: a directory with a variant.toml, the variant.toml itself, a .metal file with a variant.toml beside it, or a single
// .metal file, which needs `family`. A `family` that contradicts the variant.toml is rejected. Throws VariantError.
[[nodiscard]] Variant variant_from_path(const std::filesystem::path& path, std::string_view family, Contracts contracts);

// Parses `axis=value` or `axis=value,value` with integers or names of values, like an entry of [limits]. Throws VariantError.
[[nodiscard]] AxisLimit parse_limit_assignment(std::string_view text, const FamilyContract& contract);

// Parses `name=value`; the value is an integer, a floating-point number, true or false. Throws VariantError.
[[nodiscard]] std::pair<std::string, metal::FieldValue> parse_field_assignment(std::string_view text);

// Parses a function constant, which may be a vector: `name=value` or `name=value,value`. Throws VariantError.
[[nodiscard]] std::pair<std::string, std::vector<metal::FieldValue>> parse_constant_assignment(std::string_view text);

}  // namespace assay::kernels

// The descriptor of a family. Everything above this folder knows a family only through it.
//
// Also the interface for families of other repositories (docs/FAMILIES.md). Everything that a descriptor refers to (string views, spans,
// the contract) must live as long as the program. Its functions are called in worker processes too, and the name of a case must replay
// it: their results may depend on the arguments alone. An exception that a comment here does not name is an internal error and makes the
// case `mistrusted`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/draw.h"
#include "families/feature.h"
#include "families/job.h"
#include "families/landmarks.h"
#include "families/minimum.h"
#include "families/misfit.h"
#include "families/omission.h"
#include "families/promise.h"
#include "families/sketch.h"
#include "families/source.h"
#include "fixtures/generators.h"
#include "fixtures/tensor.h"
#include "kernels/binding.h"
#include "kernels/contract.h"
#include "kernels/launch.h"
#include "oracles/expected.h"

namespace assay::families {

struct Case;
class Model;
struct Mistake;

// How much a value of an axis adds to the effort of understanding a case. Triage searches for the failing case with the least effort.
enum class Weight : std::uint8_t {
  none,
  factor,  // multiplies everything: heads, keys, coordinates
  repeat,  // a little for each value beyond the first: workgroups, masks
  extent,  // almost nothing for each unit: room
  start,   // a little if not 0, and almost nothing for each unit
  choice,  // a little if not the simplest value
};

// The smaller values of a single axis that a search tries.
enum class Tried : std::uint8_t { nothing, counts, simplest };

// The ways in which a function of the family's launch receives an axis: a field of its struct, or a function constant. A function with
// neither is made for a single value.
struct Reception {
  std::string_view meaning;  // "the bits of the codebook"
  std::string_view field;
  std::uint32_t constant;
};

// One integer coordinate of a case. The range limits what a name may contain. The launch code decides whether a kernel accepts the
// value, so that a refusal can be a case too.
struct Axis {
  std::string_view name;
  std::int64_t minimum;
  std::int64_t maximum;
  std::int64_t initial;         // the value if a name omits the axis
  std::string_view brief = {};  // a second, short name for predicates; may be empty

  // Whether the axis only says how a host splits the work: inputs and expected values do not depend on it. Bounds may, because merges
  // round.
  bool is_launch_choice = false;
  // Whether a kernel may be made for some of the values only. For a lone file, these are found by trying.
  bool is_capability = false;
  // A captured file may omit this axis, unless it has this other axis with a value other than 0.
  bool may_be_absent = false;
  std::string_view needed_by = {};
  // For an axis that is a float: numbers up to this one are values of the axis itself, numbers from kSmallestFloatBits on are the bits
  // of a float, and there are none in between.
  std::optional<std::int64_t> largest_whole = {};
  std::int64_t zero_in_files = 0;             // the value of an integer 0 in a fixture file
  std::span<const std::int64_t> values = {};  // the only ones, if there are any

  Weight weight = Weight::none;
  Tried tried = Tried::nothing;
  std::int64_t simplest = 0;
  std::string_view simplest_as = {};  // the axis whose value is the simplest one of this axis

  bool is_length = false;      // number of keys, or room for keys, which suites of short cases limit; the first such axis is the
                               // number of keys
  bool is_simdgroups = false;  // number of simdgroups per workgroup, whose results the kernel merges
  std::optional<Reception> received_by = {};

  [[nodiscard]] bool holds(std::int64_t value) const;
  // A description for messages of the values that holds() accepts.
  [[nodiscard]] std::string range() const;
};

// One spelling of a word in a case name: `{axis}` stands for a decimal number, all other text for itself. A form with `fixed` settings
// is only used if the axes have these values; reading it sets them.
struct WordForm {
  std::string_view pattern;
  std::vector<std::pair<std::string_view, std::int64_t>> fixed;
};

// One word of a case name. The first form that fits is printed; every form can be read. An optional word is omitted if its axes have
// their initial values.
struct Word {
  std::vector<WordForm> forms;
  bool optional = false;
};

// The value of an axis that the factors set so far do not determine.
inline constexpr std::int64_t kOpen = -1;

// One factor of a covering design.
struct Factor {
  std::string_view name;
  std::vector<std::string> levels;  // by level
  std::size_t everyday = 0;         // the number of levels, from the first on, that smoke and gate use; longer suites use the others too
  // Whether a case with these values is at that level. Several levels may have the same value: for n = 64, a capacity of 64 is both n
  // and the next power of two.
  std::function<bool(std::size_t level, std::span<const std::int64_t> values)> holds;
};

// A partition of the cases by the meaning of their values to the kernel; -1 for axis values to which it does not apply.
struct Classifier {
  std::string_view name;
  std::vector<std::string> classes;
  std::function<int(std::span<const std::int64_t> values)> classify;
};

// The form of a family's inputs in fixture files.
struct FileRules {
  // The tensors of a file: names ("inputs/..."), types, and shapes, the outermost dimension first.
  std::function<std::vector<fixtures::TensorSpec>(const Case& test_case)> inputs;
  // Of the judged output, the outermost dimension first.
  std::function<std::vector<std::uint64_t>(const Case& test_case)> output_shape;
  // The inputs that a generator makes: the tensors above, in their order.
  std::function<std::vector<fixtures::Tensor>(const Case& test_case, const fixtures::Fixture& fixture)> generate;
  // The oracle's result for these inputs, an element per element of the judged output; it holds for every variant (no tightened depth).
  // Throws fixtures::FileError if they
  // contain an invalid value.
  std::function<oracles::Expected(const Case& test_case, const Source& source)> expect;
};

// A property of a case that is not an axis, for the predicates of known findings. Has no value where it cannot be determined.
struct Quantity {
  std::string_view name;
  std::optional<std::int64_t> (*of)(const Case& test_case, bool is_on_file);
};

// The axes in which cases are reduced at the same time.
enum class Smaller : std::uint8_t {
  in_one_axis,  // or in axes that belong together
  in_length,    // length, with the axes that depend on it
  in_several,   // length, window, ring and fixture
  in_seed,      // length and seed: with few keys a mistake may need other data to show
};

// Values for some axes; axes that a family does not have belong to related families.
using Settings = std::vector<std::pair<std::string_view, std::int64_t>>;

// Lowers axes to these values. Has an effect if any of them (with `first_alone`: the first) is larger.
struct ShrinkStep {
  Settings settings;
  bool first_alone = false;
};

// What an input buffer contains at a byte: "slot 37 of KV head 0, chunk 1 of 32 keys".
struct Place {
  std::string text;
  std::optional<std::uint64_t> chunk;  // of 32 keys
};

// A part of a row's position in the judged output: {"heads", 8}.
struct RowPart {
  std::string_view name;
  std::size_t count;
};

// A table of constants that kernels of a family contain, if they do not compute it.
struct ContractTable {
  std::string meaning;         // "the codebook of 4 bits"
  std::vector<double> values;  // floats, or bytes
  bool is_of_bytes = false;    // the source may also store them as wider integers, or as a prefix of a longer table
};

// What triage and comparisons need to know about a family.
struct TriageRules {
  // A model that computes a case in double, with switches for mistakes; null for a case whose model would take gigabytes. Throws
  // fixtures::FileError if a file contains an invalid value.
  std::function<std::shared_ptr<const Model>(const Case& test_case, const Source& source)> model;
  std::vector<Mistake> (*mistakes)();
  // What every right kernel holds at some point; null for a family that says nothing about it.
  LandmarksOf landmarks = nullptr;
  // Mistakes for a table that Model::learn_codebook() derived from an output; null for a family that reads none.
  std::vector<Mistake> (*codebook_mistakes)(const std::vector<double>& codebook) = nullptr;

  // What cases may have, each feature with the class of mistakes in it; may be empty.
  std::span<const Feature> features = {};

  // Cases near a failing one that distinguish classes of mistakes; some may not exist.
  std::function<std::vector<Case>(const Case& test_case)> probes;
  // Cases that are smaller in several axes at once; some may not exist. Null if axes are only reduced one by one.
  std::vector<Case> (*smaller)(const Case& test_case, Smaller how) = nullptr;
  // In each group, the first step that keeps the searched property is taken. The order makes traces short and easy to read.
  std::vector<std::vector<ShrinkStep>> steps;

  std::string_view followed;  // the argument whose reads follow the order of the work
  Place (*place)(const Case& test_case, std::uint64_t byte);

  // From the outermost inwards.
  std::function<std::vector<RowPart>(const Case& test_case)> row_parts;
  // The number of elements at the start of a row that are integers, not rounded; null: none.
  std::size_t (*row_indices)(const Case& test_case) = nullptr;
  // Describes the elements at these places of a row; null if all are coordinates. If it is not null, only indices are integers.
  std::string (*describe_places)(const Case& test_case, const std::set<std::size_t>& places) = nullptr;
};

// Members without a default must be set in an initialiser; omitting one is a warning and thus an error. A default means "none".
struct Family {
  const kernels::FamilyContract& contract;
  std::vector<kernels::FamilyContract> helper_contracts = {};  // of functions that the launch needs and that belong to no family
  std::string_view description;
  std::vector<Axis> axes;
  std::vector<Word> words;
  std::vector<Factor> factors;

  // Number of levels per combination in the gate, in every valid way; the full suite uses one more.
  std::size_t gate_strength = 2;

  // Sets axis values, in the order of `axes`, from one level per factor (-1: open); kOpen for axes that open factors determine.
  // Returns false if no completion of the open factors gives a valid case; exact once no factor is open.
  std::function<bool(std::span<const int> levels, std::span<std::int64_t> values)> realise;

  // Draws the axes without structure (numbers of heads and rows, lengths, ring starts) of a valid case anew. The result is as valid.
  std::function<void(Draw& draw, std::span<std::int64_t> values)> draw;

  // Cases that the gate always contains: names without the variant, for shapes that no design combines.
  std::vector<std::string_view> own_cases = {};
  // The same for suites with long contexts: the longest cases, of which a design would make too many.
  std::vector<std::string_view> long_cases = {};
  // The suite `long`: contexts for which a simulator takes minutes. A case whose bounds could not be informative is not among them.
  std::vector<std::string_view> longest_cases = {};

  // The least cost of a case, in multiplications of its dot products or work that takes as long; open axes at their cheapest.
  std::function<std::int64_t(std::span<const std::int64_t> values)> work;

  std::vector<std::size_t> class_factors = {};  // the factors on which the classifiers depend
  // The suites contain every possible triple of their classes, with the fixture as one more class. May be empty.
  std::vector<Classifier> classifiers = {};
  // The number of classifiers, from the first on, that describe the structure of a case; fixtures are combined with pairs
  // of their classes.
  std::size_t structural_classifiers = 0;

  std::function<bool(const fixtures::Fixture& fixture)> has_fixture;

  // The launch of variants that describe none: launch_of_family(). Null if every variant describes its launch.
  const kernels::LaunchDescription* launch;
  // The names that expressions may use, with their values for a case, and the layouts of its tensors.
  std::function<std::shared_ptr<const kernels::Names>(const Case& test_case, const kernels::Variant& variant)> expression_names;
  // For a family whose variants define their own axes: the family of one variant. Empty for all others.
  std::function<Family(const kernels::Variant& variant)> of_variant = {};
  // Called before cases of such a family run, while there is one process: what takes less time for many cases at once. May be empty.
  std::function<void(std::span<const Case> cases)> ask_ahead = {};

  // Drafts a variant.toml for a file without one; nothing if the family does not recognise it. Empty: only the contract's names are
  // recognised.
  std::function<std::optional<Sketch>(const SketchSubject& subject)> sketch = {};

  // Throws std::invalid_argument, naming the field, if the launch code would reject the case.
  std::function<void(const Case& test_case)> validate;
  // Why the kernel is not made for the case, which is then skipped; nothing if it is. Empty for families with kernels of one kind.
  std::function<std::optional<Misfit>(const Case& test_case, const kernels::BoundKernel& kernel)> misfit = {};
  // Number of simdgroups per threadgroup in the dispatch that decides the verdict.
  std::function<std::int64_t(const Case& test_case)> simdgroups;
  FileRules files;
  // Makes the job of a case: what a device and the judge need.
  std::function<Job(const JobRequest& request)> job;
  // The minimum cost of a case whose values the launch code accepts.
  std::function<Minimum(const Case& test_case, const Source& source)> minimum;
  std::vector<Quantity> quantities = {};  // may be empty
  std::vector<Promise> promises = {};     // may be empty
  // The tables that the values of a case depend on. Empty: none.
  std::vector<ContractTable> (*tables)(const Case& test_case) = nullptr;
  TriageRules triage;
  // Whether the bound has terms for a kernel whose storage is weaker than the contract's: [accuracy] in variant.toml.
  bool bounds_weaker_storage = false;
  // What its contract leaves out, with unique ids. contract.md has the list too.
  std::vector<Omission> omissions = {};

  [[nodiscard]] std::string_view name() const { return contract.name; }
  // Throws std::invalid_argument if there is no such axis.
  [[nodiscard]] std::size_t axis_index(std::string_view axis) const;
  [[nodiscard]] bool has_axis(std::string_view axis) const;
  // nullptr if there is none.
  [[nodiscard]] const Omission* find_omission(std::string_view id) const;
};

// One variant at one point of its family's axes, with one fixture and one seed.
struct Case {
  std::string variant;
  const Family* family = nullptr;
  std::vector<std::int64_t> values;  // one per axis of the family
  std::string fixture;
  std::uint64_t seed = 0;
  std::string beyond = {};  // the omission of the family that the case is about; empty: none, so that the contract covers the case

  // Value of an axis; throws std::invalid_argument if the family has none of that name.
  [[nodiscard]] std::int64_t at(std::string_view axis) const { return values[family->axis_index(axis)]; }
  // The same for an axis that is a count.
  [[nodiscard]] std::size_t size(std::string_view axis) const { return static_cast<std::size_t>(at(axis)); }
  friend bool operator==(const Case&, const Case&) = default;
};

// Why the kernel is not made for the case, which is then skipped; nothing if it is.
[[nodiscard]] inline std::optional<Misfit> misfit_of(const Case& test_case, const kernels::BoundKernel& kernel) {
  if (!test_case.family->misfit) return std::nullopt;
  return test_case.family->misfit(test_case, kernel);
}

// The bits of the smallest float that is not subnormal, 2^-126.
inline constexpr std::int64_t kSmallestFloatBits = 0x00800000;

}  // namespace assay::families

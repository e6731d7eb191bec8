// What a family is: the one descriptor through which everything above this folder knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/job.h"
#include "families/minimum.h"
#include "families/misfit.h"
#include "families/source.h"
#include "fixtures/generators.h"
#include "fixtures/tensor.h"
#include "kernels/binding.h"
#include "kernels/contract.h"
#include "oracles/expected.h"

namespace assay::families {

struct Case;

// One integer coordinate of a case. The range is what a name may say; whether a kernel accepts the value is for the
// launch code to decide, so that a refusal can be a case too.
struct Axis {
  std::string_view name;
  std::int64_t minimum;
  std::int64_t maximum;
  std::int64_t initial;  // where a name leaves the axis out

  // How a host splits the work: neither inputs nor expectation depend on it.
  bool is_launch_choice = false;
  // A kernel may be made for some of the values only. Of a lone file, trying tells which.
  bool is_capability = false;
  // A captured file may leave it out; not so if it has this other axis, and not as 0.
  bool may_be_absent = false;
  std::string_view needed_by = {};
  // Of an axis that is a float: numbers up to here are what the axis says they are, those from kSmallestFloatBits on the bits of a float,
  // and none between.
  std::optional<std::int64_t> largest_whole = {};

  [[nodiscard]] bool holds(std::int64_t value) const;
  // A short name for predicates, as n for kv_len; empty if it has none.
  [[nodiscard]] std::string_view brief() const;
  // What holds() wants, as a message says it.
  [[nodiscard]] std::string range() const;
};

// One spelling of a word in a case name: `{axis}` stands for a decimal number, everything else for itself. A form with
// `fixed` settings is only used where the axes have these values, and sets them.
struct WordForm {
  std::string_view pattern;
  std::vector<std::pair<std::string_view, std::int64_t>> fixed;
};

// One word of a case name: the first form that fits is printed, any may be read. An optional word is left out where its
// axes have their initial values.
struct Word {
  std::vector<WordForm> forms;
  bool optional = false;
};

// Stands for the value of an axis that the factors set so far leave open.
inline constexpr std::int64_t kOpen = -1;

// One factor of a covering design.
struct Factor {
  std::string_view name;
  std::vector<std::string> levels;  // their labels
  std::size_t everyday = 0;         // how many of them, from the first on, smoke and gate use; the others are for longer suites
  // Whether a case with these values is at that level. Several levels may come to the same: a capacity of 64 is both n and the
  // next power of two for n = 64.
  std::function<bool(std::size_t level, std::span<const std::int64_t> values)> holds;
};

// A partition of the cases by what their values mean to the kernel; -1 marks the axis values to which it does not apply.
struct Classifier {
  std::string_view name;
  std::vector<std::string> classes;
  std::function<int(std::span<const std::int64_t> values)> classify;
};

// A function of another family.
struct HelperKey {
  std::string_view family;
  kernels::FunctionKey function;
};

// How a family's inputs stand in fixture files.
struct FileRules {
  std::vector<fixtures::TensorSpec> (*inputs)(const Case& about);
  std::vector<std::uint64_t> (*output_shape)(const Case& about);
  // The inputs that a generator makes.
  std::vector<fixtures::Tensor> (*generate)(const Case& about, const fixtures::Fixture& fixture);
  // The oracle on these inputs, for every variant (no tightened depth). Throws fixtures::FileError if a value in them is forbidden.
  oracles::Expected (*expect)(const Case& about, const Source& source);
};

// What can be said of a case and is none of its axes, for the predicates of known findings; nothing if it cannot be told.
struct Quantity {
  std::string_view name;
  std::optional<std::int64_t> (*of)(const Case& about, bool is_on_file);
};

struct Family {
  const kernels::FamilyContract* contract = nullptr;
  std::vector<kernels::FamilyContract> helper_contracts;  // of functions that its launch needs and no family has
  std::string_view about;
  std::vector<Axis> axes;
  std::vector<Word> words;
  std::vector<Factor> factors;

  // How many levels of the gate meet in every way that makes sense; in the full suite one more.
  std::size_t gate_strength = 2;

  // Axis values of one level per factor (-1: open), kOpen for those that open factors decide. False if no completion of the
  // open factors makes a sensible case; exact once no factor is open.
  std::function<bool(std::span<const int> levels, std::span<std::int64_t> values)> realise;

  // Cases that the gate takes as they are: names without the variant, for shapes that no design combines.
  std::vector<std::string_view> own_cases;
  // The same for suites with long contexts: the longest, of which a design would make too many.
  std::vector<std::string_view> long_cases;

  // What a case costs at least, in multiplications of its dot products or what takes as long; open axes at their cheapest.
  std::function<std::int64_t(std::span<const std::int64_t> values)> work;

  std::vector<std::size_t> class_factors;  // the factors that the classifiers look at
  // The suites meet every triple of their classes, the fixture being one more, that any case can have. May be empty.
  std::vector<Classifier> classifiers;
  // So many of them, the first, tell how a case's parts lie to each other; fixtures meet pairs of those.
  std::size_t structural_classifiers = 0;

  bool (*has_fixture)(const fixtures::Fixture& fixture) = nullptr;

  // The function that a case runs.
  std::function<kernels::FunctionKey(std::span<const std::int64_t> values)> function_key;

  // Functions of other families that its launch dispatches as well. May be empty.
  std::function<std::vector<HelperKey>(std::span<const std::int64_t> values)> helpers;

  // Throws std::invalid_argument naming the field if the launch code would refuse the case.
  void (*validate)(const Case& about) = nullptr;
  // Why the kernel was not made for the case, which is then skipped; nothing if it was. Null for families with kernels of one kind.
  std::optional<Misfit> (*misfit)(const Case& about, const kernels::BoundKernel& kernel) = nullptr;
  // Simdgroups in a threadgroup of the dispatch that decides the verdict.
  std::int64_t (*simdgroups)(const Case& about) = nullptr;
  FileRules files = {};
  // What a case asks of a device and of the judge.
  Job (*job)(const JobRequest& request) = nullptr;
  // What any kernel needs for a case whose values the launch code accepts.
  Minimum (*minimum)(const Case& about, const Source& source) = nullptr;
  std::vector<Quantity> quantities;  // may be empty

  [[nodiscard]] std::string_view name() const { return contract->name; }
  // Throws std::invalid_argument if there is no such axis.
  [[nodiscard]] std::size_t axis_index(std::string_view axis) const;
  [[nodiscard]] bool has_axis(std::string_view axis) const;
};

// One variant at one point of its family's axes, with one fixture and one seed.
struct Case {
  std::string variant;
  const Family* family = nullptr;
  std::vector<std::int64_t> values;  // one per axis of the family
  std::string fixture;
  std::uint64_t seed = 0;

  // Value of an axis; throws std::invalid_argument if the family has none of that name.
  [[nodiscard]] std::int64_t at(std::string_view axis) const { return values[family->axis_index(axis)]; }
  // The same of one that counts something.
  [[nodiscard]] std::size_t size(std::string_view axis) const { return static_cast<std::size_t>(at(axis)); }
  friend bool operator==(const Case&, const Case&) = default;
};

// Why the kernel was not made for the case, which is then skipped; nothing if it was.
[[nodiscard]] inline std::optional<Misfit> misfit_of(const Case& about, const kernels::BoundKernel& kernel) {
  if (about.family->misfit == nullptr) return std::nullopt;
  return about.family->misfit(about, kernel);
}

// The scale axis of decode attention.
inline constexpr std::int64_t kScaleInverseRoot = 0;  // 1 / sqrt(D), rounded to float
inline constexpr std::int64_t kScaleOne = 1;
// Anything above is the bits of a positive float, for inputs that were captured with another factor.
inline constexpr std::int64_t kScaleLargest = 0x7f7fffff;
// Those of the smallest float that is not subnormal, 2^-126.
inline constexpr std::int64_t kSmallestFloatBits = 0x00800000;

// The scale_factor_d512 axis: 0 is sqrt(512), rounded to float; up to kScaleFactorWhole the number itself; above, the bits of a positive
// float (every float from 2^-125 on has larger bits than that).
inline constexpr std::int64_t kScaleFactorRoot = 0;
inline constexpr std::int64_t kScaleFactorWhole = 65536;

}  // namespace assay::families

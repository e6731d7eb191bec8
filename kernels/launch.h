// A launch as data: [let], [[scratch]] and [[dispatch]] of a variant.toml. docs/LAUNCH.md has the grammar for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/contract.h"
#include "kernels/expression.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"
#include "metal/size3.h"

namespace assay::kernels {

class BoundKernel;

// Values by name: fields of structs, function constants' names, and numbers of a launch.
using FieldValues = std::map<std::string, metal::FieldValue, std::less<>>;

// A name for an expression. It may use the names of the case and the lets before it.
struct LetDescription {
  std::string name;
  Expression value;
};

// A buffer for results that one dispatch passes to another; its bytes are poison before the first one.
struct ScratchDescription {
  std::string name;
  Expression bytes;
};

// What a kernel's argument gets: the name of a buffer; a number, or one for each element of a vector or array; or the fields of a struct.
struct ArgumentDescription {
  std::vector<Expression> elements;
  std::map<std::string, std::vector<Expression>, std::less<>> fields;
  std::string where;  // "file:line", for messages
};

struct DispatchDescription {
  TextTemplate function;
  std::string family;              // of a function that another family's contract has, such as a merge; empty: the variant's own
  bool concurrent = false;         // no barrier is between this dispatch and the one before it
  std::optional<Expression> when;  // the dispatch is left out where it is false
  std::vector<Expression> grid;    // 1 to 3 numbers
  bool grid_counts_threads = false;
  std::vector<Expression> threads;                                    // per threadgroup
  std::map<std::uint32_t, Expression> memory;                         // bytes by [[threadgroup(index)]]
  std::map<std::string, Expression, std::less<>> constants;           // function constants, by name or index
  std::map<std::string, ArgumentDescription, std::less<>> arguments;  // by the kernel's names
  std::string where;                                                  // "file:line", for messages
};

struct LaunchDescription {
  // The launch of a family, not of a variant: arguments have the names of its contract, `memory` is that of its one threadgroup argument,
  // and function constants that a kernel lacks are ignored.
  bool is_of_family = false;
  std::vector<LetDescription> lets;
  std::vector<ScratchDescription> scratch;
  std::vector<DispatchDescription> dispatches;
};

// Reads the launch of a family: [let], [[scratch]] and [[dispatch]], where `constants` are indices. `file` is used in messages. Throws
// VariantError.
[[nodiscard]] LaunchDescription parse_launch_of_family(std::string_view text, const std::filesystem::path& file);

// The number of a field's value.
[[nodiscard]] Value value_of(const metal::FieldValue& value);

// The names of a case, with [let] and, for all other names, [fields] and `--set`. A field replaces a let of its name. All references must
// outlive this.
class LaunchNames final : public Names {
 public:
  // Throws ExpressionError from a let.
  LaunchNames(const LaunchDescription& launch, const FieldValues& fields, const Names& of_case);
  [[nodiscard]] std::optional<Value> value(std::string_view name) const override;
  [[nodiscard]] const NamedTensor* tensor(std::string_view name) const override { return of_case_.tensor(name); }
  [[nodiscard]] std::vector<std::string> all() const override;

 private:
  const FieldValues& fields_;
  const Names& of_case_;
  std::map<std::string, Value, std::less<>> lets_;
};

// One dispatch of a case, in numbers.
struct PlannedDispatch {
  const DispatchDescription* description = nullptr;
  bool is_of_family = false;
  FunctionKey function;
  metal::Size3 grid;
  metal::Size3 threads;
  std::vector<std::pair<std::uint32_t, std::size_t>> memory;  // index, bytes (rounded up to 16)
};

// The dispatches of a case, in order. Throws ExpressionError, also for sizes that are not positive; std::invalid_argument if all are left
// out.
[[nodiscard]] std::vector<PlannedDispatch> plan_launch(const LaunchDescription& launch, const Names& names);

// Its tables without their places in the file: equal where launches are.
[[nodiscard]] std::string text_of(const LaunchDescription& launch);

// The names that it defines or uses, but those in names of functions.
[[nodiscard]] std::set<std::string> names_in(const LaunchDescription& launch);

// Bytes of each scratch buffer. Throws ExpressionError.
[[nodiscard]] std::vector<std::size_t> scratch_sizes(const LaunchDescription& launch, const Names& names);

// A buffer for an argument of which the kernel must use no byte.
inline constexpr std::string_view kNoBuffer = "none";

// Tensors and scratch buffers by name.
using NamedViews = std::map<std::string, metal::BufferView, std::less<>>;

// Encodes one dispatch. An argument or field that the description leaves out gets the buffer or the value of its own name.
// Throws ExpressionError; metal::AbiMismatch for an argument without a value and for a value that does not fit its type;
// metal::EncodeError as the encoder does.
void encode_dispatch(metal::ComputeEncoder& encoder, const PlannedDispatch& dispatch, const BoundKernel& kernel, const Names& names,
                     const NamedViews& buffers);

}  // namespace assay::kernels

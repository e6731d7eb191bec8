// What a variant of a family without an oracle describes: axes, tensors, bounds and a reference. docs/CUSTOM.md has the grammar for users.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression.h"
#include "metal/argument_layout.h"

namespace assay::kernels {

struct CustomAxis {
  std::string name;
  std::vector<std::int64_t> values;  // ascending
};

// The values of an input.
struct Fill {
  enum class Kind : std::uint8_t { gauss, uniform, zero, one, integers } kind = Kind::gauss;
  double scale = 1.0;                // of gauss and uniform
  std::int64_t least = 0, most = 0;  // of integers
};

struct CustomTensor {
  std::string name;
  metal::ScalarType type = metal::ScalarType::float32;
  std::string type_name;  // as in Metal: "half"
  std::vector<Expression> shape;
  Fill fill;
  bool is_output = false;
  std::vector<Expression> strides;   // in elements, one per axis; empty: without gaps
  std::optional<Expression> offset;  // in elements
  std::string where;                 // "file:line", for messages
};

// The largest error of an element: the sum of all parts that are not 0.
struct CustomBound {
  enum class Of : std::uint8_t { element, row_max, row_norm } of = Of::element;  // whose unit in the last place `ulps` counts
  double ulps = 0;
  double absolute = 0;
  double relative = 0;           // of |expected|
  bool is_of_reference = false;  // the reference returns it
};

struct CustomReference {
  enum class Kind : std::uint8_t { command, library, file } kind = Kind::command;
  std::vector<std::string> command;  // the program, found on PATH, and its arguments
  std::filesystem::path library;     // a shared object, with this function:
  std::string function = "assay_reference";
  std::optional<TextTemplate> file;  // relative to the folder
  std::int64_t seconds = 60;         // that one call of the command or function may take
};

struct CustomDescription {
  std::filesystem::path folder;       // of the file, in which the reference lies
  std::vector<CustomAxis> axes;       // in the order of the file
  std::vector<CustomTensor> tensors;  // in the order of the file
  std::vector<CustomBound> bounds;    // one per output, in the order of the tensors
  CustomReference reference;
  std::optional<Expression> valid;  // whether a combination of axis values is a case
  std::vector<std::string> fixtures;
};

}  // namespace assay::kernels

// Drafts a variant.toml of family `custom`: tensors from pointers, axes from integers, and questions.
#include "families/custom/custom_sketch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace assay::families {
namespace {

using metal::ArgumentLayout;
using metal::BoundArgument;
using metal::ScalarType;

constexpr std::size_t kMostAxes = 8;  // more integers than that are no sizes

// What [tensors] calls a type; empty for types that tensors cannot have.
std::string_view tensor_type(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
      return "half";
    case ScalarType::bfloat16:
      return "bfloat";
    case ScalarType::float32:
      return "float";
    case ScalarType::int8:
      return "char";
    case ScalarType::uint8:
    case ScalarType::boolean:
      return "uchar";
    case ScalarType::int16:
      return "short";
    case ScalarType::uint16:
      return "ushort";
    case ScalarType::int32:
      return "int";
    case ScalarType::uint32:
      return "uint";
    default:
      return "";
  }
}

bool is_whole(ScalarType type) {
  return type != ScalarType::other && type != ScalarType::float16 && type != ScalarType::bfloat16 && type != ScalarType::float32;
}

// Strides and offsets are whole numbers too, but no sizes of a problem.
bool is_size(const std::string& name) {
  std::string plain = name;
  std::ranges::transform(plain, plain.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool ends_with_digit = std::isdigit(static_cast<unsigned char>(plain.back())) != 0;  // which no axis may
  return !ends_with_digit && plain != "s" && plain != "seed" && plain != "fixture" &&
         std::ranges::none_of(std::array<std::string_view, 4>{"stride", "offset", "flag", "has_"},
                              [&](std::string_view part) { return plain.find(part) != std::string::npos; });
}

class CustomDrafter {
 public:
  explicit CustomDrafter(const SketchSubject& subject) : subject_(subject), main_(subject.functions.front()) {}

  Sketch draft() {
    sort_arguments();
    line("family = \"custom\"");
    line(fmt::format("source = \"{}\"", subject_.source));
    write_axes();
    write_tensors();
    write_reference();
    write_bound();
    write_dispatch();
    sketch_.likeness = 0.1;  // it fits every file, and says least about any
    sketch_.toml = std::move(text_);
    return std::move(sketch_);
  }

 private:
  struct Number {
    std::string argument, field;  // no field: a scalar
    std::string type_name;
    [[nodiscard]] const std::string& name() const { return field.empty() ? argument : field; }
  };

  void line(const std::string& text) { text_ += text + "\n"; }
  void ask(const std::string& question) {
    line("# QUESTION: " + question);
    sketch_.questions.push_back(question);
  }

  void add_number(Number number, ScalarType type) {
    const bool is_axis = axes_.size() < kMostAxes && is_whole(type) && type != ScalarType::boolean && is_size(number.name());
    if (!is_axis) {
      others_.push_back(std::move(number));
    } else if (std::ranges::find(axes_, number.name()) == axes_.end()) {
      axes_.push_back(number.name());
    }
  }

  void sort_arguments() {
    for (const BoundArgument& argument : main_.arguments) {
      if (argument.space == metal::AddressSpace::threadgroup) {
        memory_.push_back(fmt::format("{} = 16384", argument.index));
      } else if (argument.layout) {
        for (const metal::StructField& field : argument.layout->fields)
          add_number({argument.name, field.name, field.type_name}, field.count == 1 ? field.type : ScalarType::other);
      } else if (argument.is_reference) {
        add_number({argument.name, {}, argument.type_name}, argument.element_count == 1 ? argument.element : ScalarType::other);
      } else {
        tensors_.push_back(&argument);
      }
    }
  }

  void write_axes() {
    line("\n[axes]");
    if (axes_.empty()) {
      axes_.emplace_back("n");
      ask("which sizes does a launch have? No argument is an integer that looks like one");
    } else {
      sketch_.inferred.push_back(fmt::format("axes {} from integer arguments, which get their values by name", fmt::join(axes_, ", ")));
      ask("which values may the axes have? Write those at the edges of tiles and vectors; other sizes need an axis of their own");
    }
    for (const std::string& axis : axes_) line(fmt::format("{} = [1, 2, 33, 64]", axis));
  }

  void write_tensors() {
    line("\n[tensors]");
    ask("which shape has each tensor, the outermost dimension first? All axes is a guess");
    std::vector<std::string> shape;
    for (const std::string& axis : axes_) shape.push_back(fmt::format("\"{}\"", axis));
    for (const BoundArgument* tensor : tensors_) {
      const std::string_view type = tensor_type(tensor->element);
      if (type.empty()) {
        ask(fmt::format("what is argument '{}' ({}*)? Its elements are no numbers; uchar is a guess", tensor->name, tensor->type_name));
      }
      const std::string fill = !tensor->is_const                           ? "output = true"
                               : type.empty() || is_whole(tensor->element) ? "fill = [0, 1]"
                                                                           : "fill = \"gauss\"";
      if (tensor->is_const && is_whole(tensor->element)) ask(fmt::format("which integers may '{}' hold? [0, 1] is a guess", tensor->name));
      line(fmt::format("{} = {{ type = \"{}\", shape = [{}], {} }}", tensor->name, type.empty() ? "uchar" : type, fmt::join(shape, ", "),
                       fill));
      sketch_.inferred.push_back(
          fmt::format("{} is {}, because the kernel {}", tensor->name, tensor->is_const ? "an input" : "an output",
                      tensor->is_const ? "cannot write it" : "may write it; working memory belongs into [[scratch]]"));
    }
  }

  void write_reference() {
    line("\n[reference]");
    ask("what is the right result? Write reference.py, or name a library or files (docs/CUSTOM.md); to begin with:");
    line("#   import sys, h5py, numpy as np");
    line("#   for question, answer in zip(sys.argv[1::2], sys.argv[2::2]):");
    line("#       with h5py.File(question) as asked, h5py.File(answer, \"w\") as out:");
    for (const std::string& axis : axes_) line(fmt::format("#           {0} = int(asked[\"format\"].attrs[\"{0}\"])", axis));
    for (const BoundArgument* tensor : tensors_) {
      if (tensor->is_const) line(fmt::format("#           {0} = asked[\"inputs/{0}\"][:]", tensor->name));
    }
    for (const BoundArgument* tensor : tensors_) {
      if (!tensor->is_const) line(fmt::format("#           out[\"expected/{}\"] = ...  # in double", tensor->name));
    }
    line("command = [\"python3\", \"reference.py\"]");
  }

  void write_bound() {
    std::vector<std::string> bounds;
    for (const BoundArgument* tensor : tensors_) {
      if (!tensor->is_const && !is_whole(tensor->element) && tensor->element != ScalarType::other)
        bounds.push_back(fmt::format("{} = {{ ulps = 1, of = \"row_max\" }}", tensor->name));
    }
    if (bounds.empty()) return;
    line("\n[bound]");
    ask("how far off may a value be? One unit in the last place of its row's largest value is a guess");
    for (const std::string& bound : bounds) line(bound);
  }

  void write_dispatch() {
    line("\n[[dispatch]]");
    line(fmt::format("function = \"{}\"", main_.function));
    if (subject_.functions.size() > 1) {
      std::vector<std::string> names;
      for (std::size_t i = 1; i < subject_.functions.size(); ++i) names.push_back(subject_.functions[i].function);
      ask(fmt::format("what are the other functions of the file, {}? Each launch is a [[dispatch]]", fmt::join(names, ", ")));
    }
    ask("how many threadgroups does the host launch?");
    line(fmt::format("grid     = [\"{}\"]", axes_.front()));
    if (main_.max_total_threads < 1024) {
      sketch_.inferred.push_back(fmt::format("{} threads, as the function declares", main_.max_total_threads));
    } else {
      ask("how many threads has a threadgroup?");
    }
    line(fmt::format("threads  = [{}]", main_.max_total_threads < 1024 ? main_.max_total_threads : 32));
    if (!memory_.empty()) {
      ask("how many bytes of threadgroup memory does the host set?");
      line(fmt::format("memory   = {{ {} }}", fmt::join(memory_, ", ")));
    }
    write_constants();
    if (others_.empty()) return;
    line("\n[dispatch.arguments]");
    for (const Number& number : others_) {
      const std::string key = number.field.empty() ? number.argument : fmt::format("{}.{}", number.argument, number.field);
      ask(fmt::format("what is '{}' ({})?", key, number.type_name));
      line(fmt::format("# {} = \"\"", key));
    }
  }

  void write_constants() {
    std::vector<std::string> constants;
    for (const SketchedConstant& constant : subject_.constants) {
      ask(fmt::format("what is function constant {} ({}, index {})?", constant.name, constant.type_name, constant.index));
      constants.push_back(fmt::format("{} = ...", constant.name));
    }
    if (!constants.empty()) line(fmt::format("# constants = {{ {} }}", fmt::join(constants, ", ")));
  }

  const SketchSubject& subject_;
  const ArgumentLayout& main_;
  std::vector<const BoundArgument*> tensors_;
  std::vector<std::string> axes_, memory_;
  std::vector<Number> others_;
  std::string text_;
  Sketch sketch_;
};

}  // namespace

std::optional<Sketch> sketch_custom(const SketchSubject& subject) {
  if (subject.functions.empty()) return std::nullopt;
  return CustomDrafter(subject).draft();
}

}  // namespace assay::families

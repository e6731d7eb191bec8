// Descriptions of arguments, constants and compile errors.
#include "reports/compilation_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::reports {
namespace {

std::string place_of_argument(metal::AddressSpace space, std::uint32_t index) {
  return fmt::format("{} {}", space == metal::AddressSpace::threadgroup ? "threadgroup" : "buffer", index);
}

ArgumentWords words_of(const metal::BoundArgument& argument) {
  // Constant memory is const, so the word is omitted.
  const bool says_const = argument.is_const && argument.space != metal::AddressSpace::constant;
  return {place_of_argument(argument.space, argument.index), argument.name,
          fmt::format("{}{} {}{}", says_const ? "const " : "", to_string(argument.space), argument.type_name,
                      argument.is_reference ? "&" : "*"),
          argument.size, argument.layout ? &*argument.layout : nullptr};
}

}  // namespace

std::vector<ArgumentWords> arguments_of(const harness::InspectedFunction& function, bool is_listing) {
  std::vector<ArgumentWords> words;
  if (is_listing) {
    for (const metal::ArgumentDeclaration& argument : function.declaration.arguments)
      words.push_back({place_of_argument(argument.space, argument.index), argument.name,
                       argument.type_name + (argument.is_conditional ? ", if a function constant enables it" : "")});
    return words;
  }
  for (const metal::BoundArgument& argument : function.layout.arguments) words.push_back(words_of(argument));
  return words;
}

std::string shape_of(const harness::InspectedFunction& function, bool is_listing) {
  std::string shape;
  for (const ArgumentWords& argument : arguments_of(function, is_listing)) {
    shape += fmt::format("{} {};", argument.place, argument.name);
    if (argument.layout == nullptr) continue;
    shape += fmt::format("struct {} {}:", argument.layout->name, argument.layout->size);
    for (const metal::StructField& field : argument.layout->fields)
      shape += fmt::format("{} {} {},", field.offset, field.name, field.type_name);
  }
  for (const std::uint32_t index : function.unset) shape += fmt::format(" {}", index);
  return shape;
}

std::string constant_words(const CompiledLibrary& library, std::uint32_t index) {
  const auto constant = std::ranges::find(library.constants, index, &metal::FunctionConstantDeclaration::index);
  if (constant == library.constants.end()) return fmt::format("index {}", index);
  return fmt::format("{} ({}, index {})", constant->name, constant->type_name, index);
}

std::string cause_of(const harness::InspectedFunction& function) {
  // The first line states the error; the following lines say how the compiler got there.
  std::string cause = function.refusal.substr(0, function.refusal.find('\n'));
  const std::string quoted = "'" + function.declaration.name + "'";
  for (std::size_t at = 0; (at = cause.find(quoted, at)) != std::string::npos;) cause.replace(at, quoted.size(), "it");
  return cause;
}

std::string indented(std::string_view text, std::size_t blanks) {
  std::string result;
  for (const std::string_view line : base::lines_of(text)) result += fmt::format("{:{}}{}\n", "", blanks, line);
  return result;
}

}  // namespace assay::reports

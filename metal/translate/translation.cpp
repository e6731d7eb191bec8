#include "metal/translate/translation.h"

#include <fmt/format.h>

#include <algorithm>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

// Text that was taken out of the source before its words were replaced.
std::string translated(std::string_view text) {
  auto stream = tokenize(std::string(text), "");
  std::string result;
  for (const auto& token : stream.tokens) {
    if (!result.empty() && !token.leading.empty()) result += ' ';
    if (token.is("device")) {
      result += "__attribute__((opencl_global_device))";
    } else if (token.is("constant")) {
      result += "__global const";
    } else if (token.is("thread")) {
      result += "__private";
    } else if (token.is("threadgroup")) {
      result += "__local";
    } else if (token.is("restrict")) {
      result += "__restrict";
    } else {
      result += token.text;
    }
  }
  return result;
}

std::string argument(const Parameter& parameter, bool typed) {
  std::string value;
  switch (parameter.role) {
    case Role::builtin:
      return fmt::format("__assay::builtin<{}>({})", translated(parameter.type), static_cast<unsigned>(parameter.builtin));
    case Role::threadgroup:
      value = "threadgroup_argument";
      break;
    case Role::buffer:
      value = parameter.space == AddressSpace::device ? "device_buffer" : "constant_buffer";
      break;
  }
  value = fmt::format("__assay::{}<{}, ({})>()", value, parameter.index,
                      parameter.condition.empty() ? "true" : translated(parameter.condition));
  return typed ? fmt::format("static_cast<{}>({})", translated(parameter.type), value) : value;
}

std::string entry_point(const Kernel& kernel) {
  std::string arguments;
  for (const auto& parameter : kernel.parameters) {
    if (!arguments.empty()) arguments += ", ";
    arguments += argument(parameter, kernel.typed_arguments);
  }
  return fmt::format(" extern \"C\" void __assay_entry(__generic void*) {{ {}({}); }}", translated(kernel.callee), arguments);
}

std::string literal(const FunctionConstant& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}l", *integer);
  return fmt::format("{:a}", std::get<double>(value));
}

std::string declaration(const FunctionConstantUse& constant, const std::map<std::uint32_t, FunctionConstant>& values) {
  const auto value = values.find(constant.index);
  if (value == values.end()) {
    return fmt::format(" extern __global const {} {} __asm__(\"__assay_unset_function_constant.{}.{}\");", constant.type, constant.name,
                       constant.index, constant.name);
  }
  return fmt::format(" __global constexpr {} {} = ({})({});", constant.type, constant.name, constant.type, literal(value->second));
}

}  // namespace

Translation Translation::of(std::string preprocessed, std::string file) {
  return Translator(tokenize(std::move(preprocessed), std::move(file))).run();
}

const Kernel* Translation::find(std::string_view host_name) const {
  const auto found = std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernel& kernel) { return kernel.host_name == host_name; });
  return found == kernels_.end() ? nullptr : &*found;
}

std::string Translation::render(const Kernel& kernel, const std::map<std::uint32_t, FunctionConstant>& constants, ThreadSpace spaces,
                                Casts casts) const {
  TokenStream stream = stream_;
  if (casts == Casts::bridged) {
    // The left side is in source order and the right side against it, so that inner casts stay inside.
    for (const auto& cast : casts_) {
      stream.tokens[cast.first_token].before += fmt::format(" (::__assay::cast_to<{}>(),", cast.type);
      stream.tokens[cast.last_token].after.insert(0, ")");
    }
  }
  if (spaces != ThreadSpace::relaxed) {
    for (const auto token : unqualified_members_) stream.tokens[token].after += " __private";
  }
  if (spaces == ThreadSpace::exact) {
    for (const auto token : unqualified_const_members_) stream.tokens[token].after += " __private";
  } else {
    for (const auto token : const_thread_words_) stream.tokens[token].replacement = "";
  }
  for (const auto& constant : constants_) stream.tokens[constant.last_token].after += declaration(constant, constants);
  std::map<std::string_view, std::uint32_t> indices;
  for (const auto& constant : constants_) indices.emplace(constant.name, constant.index);
  for (const auto& query : defined_queries_) {
    const auto constant = indices.find(query.name);
    if (constant == indices.end()) {
      const Token& token = stream.tokens[query.first_token];
      throw CompileError(fmt::format("{}:{}: error: is_function_constant_defined('{}'): no function constant has that name",
                                     stream.files[token.file], token.line, query.name));
    }
    stream.tokens[query.last_token].replacement = constants.contains(constant->second) ? " true" : " false";
  }
  // Other kernels' bodies may need constants that this pipeline does not set.
  for (const auto& other : kernels_) {
    if (&other == &kernel || other.last_body_token == 0) continue;
    for (std::size_t token = other.first_body_token; token <= other.last_body_token; ++token) {
      stream.tokens[token].replacement = token == other.last_body_token ? ";" : "";
      stream.tokens[token].before.clear();
      stream.tokens[token].after.clear();
      stream.tokens[token].drops_pragmas = true;
    }
  }
  stream.tokens[kernel.entry_token].after += entry_point(kernel);
  return write(stream);
}

}  // namespace assay::metal::translate

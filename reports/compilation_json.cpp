// A compilation as one JSON document, by docs/compile.schema.json.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/compilation.h"
#include "reports/json_text.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

Json struct_json(const metal::StructLayout& layout) {
  const auto fields = json_list(layout.fields, [](const metal::StructField& field) -> Json {
    return {{"name", field.name}, {"type", field.type_name}, {"offset", field.offset}, {"size", field.size}};
  });
  return {{"name", layout.name}, {"size", layout.size}, {"fields", fields}};
}

Json arguments_json(const harness::InspectedFunction& function, bool is_listing) {
  if (is_listing)
    return json_list(function.declaration.arguments, [](const metal::ArgumentDeclaration& argument) -> Json {
      return {{"name", argument.name},
              {"space", to_string(argument.space)},
              {"index", argument.index},
              {"type", argument.type_name},
              {"conditional", argument.is_conditional}};
    });
  return json_list(function.layout.arguments, [](const metal::BoundArgument& argument) -> Json {
    return {{"name", argument.name},
            {"space", to_string(argument.space)},
            {"index", argument.index},
            {"type", argument.type_name},
            {"access", argument.is_const ? "read" : "read_write"},
            {"reference", argument.is_reference},
            {"size", argument.size},
            {"struct", argument.layout ? struct_json(*argument.layout) : Json(nullptr)}};
  });
}

Json function_json(const harness::InspectedFunction& function, const CompiledLibrary& library, bool is_listing) {
  Json json = {{"name", function.declaration.name}, {"file", function.declaration.file}, {"line", function.declaration.line}};
  if (is_listing) {
    json["arguments"] = arguments_json(function, is_listing);
    return json;
  }
  json["compiles"] = function.is_compiled;
  json["error"] = function.is_compiled ? Json(nullptr) : Json(function.refusal);
  json["needs_constants"] = json_list(function.unset, [&](std::uint32_t index) -> Json {
    return {{"name", std::ranges::find(library.constants, index, &metal::FunctionConstantDeclaration::index)->name}, {"index", index}};
  });
  json["arguments"] = arguments_json(function, is_listing);
  json["threadgroup_bytes"] = function.layout.static_threadgroup_bytes;
  json["lane_by_lane"] = function.layout.vector_refusal.empty() ? Json(nullptr) : Json(function.layout.vector_refusal);
  json["max_threads"] = function.layout.max_total_threads;
  return json;
}

Json families_json(const harness::FamilyFits& families) {
  Json fits = Json::array();
  for (const harness::FamilyFit& fit : families.fits) {
    Json entries = Json::object();
    for (const auto& [entry, functions] : fit.functions) entries[entry] = functions;
    fits.push_back({{"family", fit.family}, {"by_name", fit.is_named}, {"entries", std::move(entries)}});
  }
  Json nearest = nullptr;
  if (families.nearest) {
    nearest = {{"family", families.nearest->family}, {"function", families.nearest->function}, {"missing", families.nearest->obstacle}};
  }
  return {{"fits", std::move(fits)}, {"nearest", std::move(nearest)}};
}

Json library_json(const CompiledLibrary& library, bool is_listing) {
  Json json = {{"definitions", library.configuration}, {"error", library.failure.empty() ? Json(nullptr) : Json(library.failure)}};
  json["functions"] = json_list(library.functions, [&](const auto& function) { return function_json(function, library, is_listing); });
  json["refused"] = json_list(library.refused, [](const metal::RefusedFunction& function) -> Json {
    return {{"name", function.name}, {"file", function.file}, {"line", function.line}, {"error", function.reason}};
  });
  json["constants"] = json_list(library.constants, [](const metal::FunctionConstantDeclaration& constant) -> Json {
    return {{"name", constant.name}, {"index", constant.index}, {"type", constant.type_name}, {"line", constant.line}};
  });
  json["notes"] = json_list(
      library.notes, [](const metal::SourceNote& note) -> Json { return {{"file", note.file}, {"line", note.line}, {"text", note.text}}; });
  json["families"] = is_listing ? Json(nullptr) : families_json(library.families);
  return json;
}

}  // namespace

std::string compilation_json(const Compilation& compilation) {
  const auto libraries =
      json_list(compilation.libraries, [&](const CompiledLibrary& library) { return library_json(library, compilation.is_listing); });
  return json_text({{"format", "assay-compile"},
                    {"version", kCompilationVersion},
                    {"file", compilation.file},
                    {"listing", compilation.is_listing},
                    {"functions", compilation.functions()},
                    {"failures", compilation.failures()},
                    {"all_compile", compilation.is_sound()},
                    {"libraries", libraries}});
}

}  // namespace assay::reports

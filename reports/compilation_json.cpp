// A compilation as one JSON document, by docs/compile.schema.json.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/compilation.h"
#include "reports/json_text.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

const char* space_key(metal::AddressSpace space) {
  switch (space) {
    case metal::AddressSpace::device:
      return "device";
    case metal::AddressSpace::constant:
      return "constant";
    case metal::AddressSpace::threadgroup:
      return "threadgroup";
  }
  return "device";
}

Json struct_json(const metal::StructLayout& layout) {
  Json fields = Json::array();
  for (const metal::StructField& field : layout.fields)
    fields.push_back({{"name", field.name}, {"type", field.type_name}, {"offset", field.offset}, {"size", field.size}});
  return {{"name", layout.name}, {"size", layout.size}, {"fields", std::move(fields)}};
}

Json arguments_json(const harness::InspectedFunction& function, bool is_listing) {
  Json arguments = Json::array();
  if (is_listing) {
    for (const metal::ArgumentDeclaration& argument : function.declaration.arguments) {
      arguments.push_back({{"name", argument.name},
                           {"space", space_key(argument.space)},
                           {"index", argument.index},
                           {"type", argument.type_name},
                           {"conditional", argument.is_conditional}});
    }
    return arguments;
  }
  for (const metal::BoundArgument& argument : function.layout.arguments) {
    arguments.push_back({{"name", argument.name},
                         {"space", space_key(argument.space)},
                         {"index", argument.index},
                         {"type", argument.type_name},
                         {"access", argument.is_const ? "read" : "read_write"},
                         {"reference", argument.is_reference},
                         {"size", argument.size},
                         {"struct", argument.layout ? struct_json(*argument.layout) : Json(nullptr)}});
  }
  return arguments;
}

Json function_json(const harness::InspectedFunction& function, const CompiledLibrary& library, bool is_listing) {
  Json json = {{"name", function.declaration.name}, {"file", function.declaration.file}, {"line", function.declaration.line}};
  if (is_listing) {
    json["arguments"] = arguments_json(function, is_listing);
    return json;
  }
  json["compiles"] = function.is_compiled;
  json["error"] = function.is_compiled ? Json(nullptr) : Json(function.refusal);
  Json needed = Json::array();
  for (const std::uint32_t index : function.unset) {
    const auto constant = std::ranges::find(library.constants, index, &metal::FunctionConstantDeclaration::index);
    needed.push_back({{"name", constant->name}, {"index", index}});
  }
  json["needs_constants"] = std::move(needed);
  json["arguments"] = arguments_json(function, is_listing);
  json["threadgroup_bytes"] = function.layout.static_threadgroup_bytes;
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
  Json functions = Json::array();
  for (const harness::InspectedFunction& function : library.functions) functions.push_back(function_json(function, library, is_listing));
  json["functions"] = std::move(functions);
  Json refused = Json::array();
  for (const metal::RefusedFunction& function : library.refused)
    refused.push_back({{"name", function.name}, {"file", function.file}, {"line", function.line}, {"error", function.reason}});
  json["refused"] = std::move(refused);
  Json constants = Json::array();
  for (const metal::FunctionConstantDeclaration& constant : library.constants)
    constants.push_back({{"name", constant.name}, {"index", constant.index}, {"type", constant.type_name}, {"line", constant.line}});
  json["constants"] = std::move(constants);
  Json notes = Json::array();
  for (const metal::SourceNote& note : library.notes) notes.push_back({{"file", note.file}, {"line", note.line}, {"text", note.text}});
  json["notes"] = std::move(notes);
  json["families"] = is_listing ? Json(nullptr) : families_json(library.families);
  return json;
}

}  // namespace

std::string compilation_json(const Compilation& compilation) {
  Json libraries = Json::array();
  for (const CompiledLibrary& library : compilation.libraries) libraries.push_back(library_json(library, compilation.is_listing));
  return json_text({{"format", "assay-compile"},
                    {"version", kCompilationVersion},
                    {"file", compilation.file},
                    {"listing", compilation.is_listing},
                    {"functions", compilation.functions()},
                    {"failures", compilation.failures()},
                    {"all_compile", compilation.is_sound()},
                    {"libraries", std::move(libraries)}});
}

}  // namespace assay::reports

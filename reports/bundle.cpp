// The manifest of a bundle as JSON.
#include "reports/bundle.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "base/hash.h"
#include "reports/json_text.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;
namespace command = metal::command;

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string hex_of_word(std::uint32_t word) {
  std::string bytes;
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(word >> (8 * i) & 0xffU);
  return hex_of(bytes);
}

Json size_json(const metal::Size3& size) { return {size.x, size.y, size.z}; }

Json json_of(const harness::BundlePipeline& pipeline) {
  return {{"source", pipeline.source},
          {"metal_version", pipeline.metal_version},
          {"function", pipeline.function},
          {"constants", json_list(pipeline.constants, [](const harness::BundleConstant& constant) -> Json {
             return {{"index", constant.index}, {"type", constant.type}, {"hex", hex_of(constant.bytes)}};
           })}};
}

std::string_view word_of(families::BufferRole role) {
  return role == families::BufferRole::input ? "input" : role == families::BufferRole::output ? "output" : "scratch";
}

Json json_of(const harness::BundleBuffer& buffer, const std::string& returns) {
  return {{"argument", buffer.argument},
          {"role", word_of(buffer.role)},
          {"pass", buffer.pass},
          {"bytes", buffer.bytes},
          {"fill", hex_of_word(buffer.fill)},
          {"regions", json_list(buffer.regions,
                                [](const harness::BundleRegion& region) {
                                  Json json = {{"at", region.at}, {"bytes", region.bytes}};
                                  if (region.file.empty())
                                    json["byte"] = std::to_integer<unsigned>(region.fill);
                                  else
                                    json["file"] = region.file;
                                  return json;
                                })},
          {"returns", returns}};
}

Json json_of(const command::SetPipeline& call) { return {{"call", "set_pipeline"}, {"pipeline", call.number}}; }
Json json_of(const command::SetBuffer& call) {
  Json json = {{"call", "set_buffer"}, {"index", call.index}};
  json["buffer"] = call.number ? Json(*call.number) : Json(nullptr);
  json["offset"] = call.offset;
  return json;
}
Json json_of(const command::SetBytes& call) { return {{"call", "set_bytes"}, {"index", call.index}, {"hex", hex_of(call.bytes)}}; }
Json json_of(const command::SetThreadgroupMemory& call) {
  return {{"call", "set_threadgroup_memory"}, {"index", call.index}, {"bytes", call.bytes}};
}
Json json_of(const command::MemoryBarrier&) { return {{"call", "barrier"}}; }
Json json_of(const command::DispatchThreadgroups& call) {
  return {{"call", "dispatch_threadgroups"}, {"grid", size_json(call.threadgroups)}, {"threads", size_json(call.threads_per_threadgroup)}};
}
Json json_of(const command::DispatchThreads& call) {
  return {{"call", "dispatch_threads"}, {"grid", size_json(call.threads)}, {"threads", size_json(call.threads_per_threadgroup)}};
}

Json json_of(const harness::BundleCase& one, std::size_t number) {
  Json json = {{"name", one.name}};
  json["pipelines"] = json_list(one.pipelines, [](const auto& pipeline) { return json_of(pipeline); });
  json["buffers"] = Json::array();
  for (std::size_t i = 0; i < one.buffers.size(); ++i)
    json["buffers"].push_back(json_of(one.buffers[i], harness::returned_file(number, i)));
  json["passes"] = json_list(one.passes, [](const std::vector<metal::Command>& commands) {
    return json_list(commands, [](const metal::Command& any) { return std::visit([](const auto& call) { return json_of(call); }, any); });
  });
  return json;
}

}  // namespace

std::string_view to_string(harness::BundleMath math) { return math == harness::BundleMath::fast ? "fast" : "precise"; }

BundleManifest bundle_manifest(harness::BundleMath math, std::span<const harness::BundleCase> cases) {
  BundleManifest manifest;
  Json root = {{"format", "assay-bundle"}, {"version", kBundleVersion}, {"math", to_string(math)}, {"cases", Json::array()}};
  for (std::size_t number = 0; number < cases.size(); ++number) {
    Json json = json_of(cases[number], number);
    manifest.ids.push_back(base::Hash().add(json.dump()).hex());
    json["id"] = manifest.ids.back();
    root["cases"].push_back(std::move(json));
  }
  manifest.text = json_text(root);
  return manifest;
}

}  // namespace assay::reports

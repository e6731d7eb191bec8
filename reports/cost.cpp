// The cost of a case as text and JSON.
#include "reports/cost.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/execute/source_lines.h"
#include "reports/cost_counters.h"
#include "reports/grouped.h"
#include "reports/json_text.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

double quotient(std::uint64_t a, std::uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// Counted and minimum figures, in the same units.
struct Balance {
  struct Row {
    const char* key;
    const char* heading;
    std::uint64_t counted;
    std::uint64_t least;
  };
  std::array<Row, 4> rows;
  double intensity, least_intensity;  // operations per byte moved

  explicit Balance(const harness::CaseCost& cost)
      : rows{{{"distinct_bytes", "distinct bytes", cost.total.distinct_device_bytes, cost.minimum.distinct_bytes},
              {"bytes_read", "bytes read", cost.total.device_bytes_read, cost.minimum.bytes_read},
              {"bytes_written", "bytes written", cost.total.device_bytes_written, cost.minimum.bytes_written},
              {"flops", "operations", cost.total.float_operations + cost.total.half_operations + cost.total.bfloat_operations,
               cost.minimum.flops}}},
        intensity(quotient(rows[3].counted, rows[1].counted + rows[2].counted)),
        least_intensity(quotient(rows[3].least, rows[1].least + rows[2].least)) {}
};

std::string short_name(const std::string& file) {
  const std::filesystem::path path = file;
  return (path.parent_path().filename() / path.filename()).generic_string();
}

std::string row_text(std::string_view place, const metal::Cost& cost, std::string_view source) {
  std::string text = fmt::format("  {:>5}", place);
  for (const CostCounter& counter : kCostCounters) {
    const std::uint64_t value = cost.*counter.value;
    text += fmt::format(" {:>13}", value == 0 ? "." : grouped(value));
  }
  return source.empty() ? text + "\n" : fmt::format("{}  {}\n", text, source);
}

Json json_of(const metal::Cost& cost) {
  Json json = Json::object();
  for (const CostCounter& counter : kCostCounters) json[counter.key] = cost.*counter.value;
  return json;
}

}  // namespace

std::string cost_text(const harness::CaseCost& cost) {
  harness::SourceLines sources;
  std::string text;
  std::string headings = fmt::format("  {:>5}", "line");
  for (const CostCounter& counter : kCostCounters) headings += fmt::format(" {:>13}", counter.heading);
  for (const metal::KernelCost& kernel : cost.kernels) {
    text += fmt::format(
        "{} ({} dispatch{}): device bytes read, written, distinct; threadgroup accesses; SIMD-group calls; barriers; "
        "floating-point operations by type\n",
        kernel.function, kernel.dispatches, kernel.dispatches == 1 ? "" : "es");
    if (!kernel.lane_by_lane.empty())
      text += fmt::format("  runs lane by lane, several times slower than as vectors: {}\n", kernel.lane_by_lane);
    text += headings + "\n";
    std::string file;
    for (const metal::LineCost& line : kernel.lines) {
      if (line.place.file != file) text += fmt::format("  {}\n", file = line.place.file);
      text += row_text(fmt::format("{}", line.place.line), line.cost, sources.line(line.place));
    }
    text += row_text("total", kernel.total, "") + "\n";
  }
  const Balance balance(cost);
  text += fmt::format(
      "compared with the minimum that any kernel needs for the case (harness/cases/minimum.h)\n  {:<32} {:>16} {:>16}   times\n", "",
      "counted", "minimum");
  for (const Balance::Row& row : balance.rows)
    text += fmt::format("  {:<32} {:>16} {:>16}   {:.3f}\n", row.heading, grouped(row.counted), grouped(row.least),
                        quotient(row.counted, row.least));
  text += fmt::format("  {:<32} {:>16.3f} {:>16.3f}\n", "operations per byte moved", balance.intensity, balance.least_intensity);
  return text +
         "counted on the simulator, per lane: caches are not modelled, and constant memory is not counted. Additions inside SIMD-group "
         "functions "
         "count as calls, not as operations\n";
}

std::string cost_json(const harness::CaseCost& cost, std::string_view verdict) {
  harness::SourceLines sources;
  Json json = {{"format", "assay-cost"}, {"version", kCostVersion}, {"case", cost.name}, {"verdict", verdict}};
  json["kernels"] = Json::array();
  for (const metal::KernelCost& kernel : cost.kernels) {
    Json one = {{"function", kernel.function}, {"dispatches", kernel.dispatches}, {"total", json_of(kernel.total)}};
    one["lane_by_lane"] = kernel.lane_by_lane.empty() ? Json(nullptr) : Json(kernel.lane_by_lane);
    one["lines"] = Json::array();
    for (const metal::LineCost& line : kernel.lines) {
      Json entry = {{"file", short_name(line.place.file)}, {"line", line.place.line}};
      entry.update(json_of(line.cost));
      entry["source"] = sources.line(line.place);
      one["lines"].push_back(std::move(entry));
    }
    json["kernels"].push_back(std::move(one));
  }
  json["total"] = json_of(cost.total);
  const Balance balance(cost);
  json["minimum"] = Json::object();
  json["ratio"] = Json::object();
  for (const Balance::Row& row : balance.rows) {
    json["minimum"][row.key] = row.least;
    json["ratio"][row.key] = quotient(row.counted, row.least);
  }
  json["flops_per_byte"] = {{"counted", balance.intensity}, {"minimum", balance.least_intensity}};
  return json_text(json);
}

}  // namespace assay::reports

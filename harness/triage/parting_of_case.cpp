#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/code_bytes.h"
#include "families/shared/dense_launch.h"
#include "harness/triage/parting.h"
#include "metal/devices/simulator.h"

namespace assay::harness {
namespace {

using metal::TracedOperation;
using metal::ValueTrace;

SourceText read_text(const std::filesystem::path& path, std::string name) {
  SourceText text{std::move(name), {}};
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) text.lines.push_back(std::move(line));
  return text;
}

// The kernel's own file, under the name that its operations have, then every other one that a trace names.
std::vector<SourceText> texts_of(const ValueTrace& trace, const PreparedVariant& prepared) {
  const std::filesystem::path& source = prepared.variant.source;
  std::vector<SourceText> texts = {read_text(source, prepared.libraries.front()->name())};
  std::set<std::string> known = {texts.front().file};
  for (const TracedOperation& operation : trace.operations) {
    const std::string& file = operation.place.file;
    if (!known.insert(file).second) continue;
    std::error_code unreadable;
    if (std::filesystem::equivalent(file, source, unreadable)) {
      if (!unreadable) texts.front().file = file;
      continue;
    }
    texts.push_back(read_text(file, file));
  }
  return texts;
}

constexpr std::uint64_t kKeysOfChunk = 32;

std::uint64_t axis(const Case& about, std::string_view name) { return static_cast<std::uint64_t>(about.at(name)); }

FollowedPlace key_place(std::uint64_t head, std::uint64_t slot, std::string_view what) {
  const std::uint64_t chunk = slot / kKeysOfChunk;
  return {fmt::format("{} {} of KV head {}, chunk {} of {} keys", what, slot, head, chunk, kKeysOfChunk), chunk};
}

// [G, capacity] rows of codes.
FollowedPlace place_in_cache(const Case& about, std::uint64_t offset) {
  const std::uint64_t row = offset / base::code_bytes(about.family->name() == "tq4" ? 4 : 8, axis(about, "head_dim"));
  return key_place(row / axis(about, "kv_capacity"), row % axis(about, "kv_capacity"), "slot");
}

// [B, G, n + room] rows, and a row between batches of seeds that are not dense (families/shared/dense_inputs.cpp).
FollowedPlace place_in_keys(const Case& about, std::uint64_t offset) {
  constexpr std::uint64_t kDenseSeeds = 4;
  const std::uint64_t rows_of_head = axis(about, "kv_len") + axis(about, "kv_room");
  const std::uint64_t rows_of_batch = axis(about, "n_kv_heads") * rows_of_head + (about.seed % kDenseSeeds == kDenseSeeds - 1 ? 0 : 1);
  const std::uint64_t row = offset / families::kBf16RowBytes;
  return key_place(row % rows_of_batch / rows_of_head, row % rows_of_batch % rows_of_head, "key");
}

FollowedPlace place_in_rows(const Case& about, std::uint64_t offset, std::string_view what) {
  const std::uint64_t element = offset / sizeof(float);
  const std::uint64_t head_dim = axis(about, "head_dim");
  return {fmt::format("{} {}, coordinate {} (block {} of 256)", what, element / head_dim, element % head_dim, element % head_dim / 256),
          {}};
}

FollowedPlace place_in_head(const Case& about, std::uint64_t offset) { return place_in_rows(about, offset, "head"); }

FollowedPlace place_in_partials(const Case& about, std::uint64_t offset) {
  const std::uint64_t element = offset / sizeof(float);
  const std::uint64_t nwg = axis(about, "nwg");
  const std::uint64_t row_size = axis(about, "head_dim") * nwg;
  const std::uint64_t outputs = axis(about, "nrows") * row_size;
  if (element < outputs) {
    const std::uint64_t column = element / 4;
    return {fmt::format("row {}, workgroup {}, coordinate {}", element / row_size, column % nwg,
                        column % (row_size / 4) / nwg * 4 + element % 4),
            {}};
  }
  const std::uint64_t pair = (element - outputs) / 2;
  return {fmt::format("row {}, workgroup {}, its {}", pair / nwg, pair % nwg, (element - outputs) % 2 == 0 ? "sum" : "maximum"), {}};
}

FollowedPlace place_in_codes(const Case& about, std::uint64_t offset) {
  const std::uint64_t row_bytes = base::code_bytes(about.at("bits"), axis(about, "head_dim"));
  const std::uint64_t row = offset / row_bytes;
  const std::uint64_t capacity = axis(about, "cache_capacity");
  return {fmt::format("byte {} of slot {} of head {}", offset % row_bytes, row % capacity, row / capacity), {}};
}

struct Row {
  std::string_view family;
  std::string_view buffer;
  FollowedPlace (*place)(const Case&, std::uint64_t);
};
constexpr Row kRows[] = {{"tq4", "K_packed", place_in_cache}, {"tqhb", "K_packed", place_in_cache},    {"bf16_prefill", "k", place_in_keys},
                         {"bf16_vec", "k", place_in_keys},    {"reduce", "htmp", place_in_partials},   {"fwht", "data", place_in_head},
                         {"quantize", "src", place_in_head},  {"dequantize", "packed", place_in_codes}};

const Row* row_of(const Case& about) {
  const auto* row = std::ranges::find(kRows, about.family->name(), &Row::family);
  return row == std::end(kRows) ? nullptr : row;
}

ValueTrace trace_of(const PreparedVariant& prepared, const Case& about, const fixtures::Shelf& shelf) {
  ValueTrace trace;
  trace.followed = followed_buffer(about);
  metal::Simulator simulator(prepared.libraries, {.trace = &trace});
  encode_case(prepared, about, shelf, simulator);
  return trace;
}

}  // namespace

std::string followed_buffer(const Case& about) {
  const Row* row = row_of(about);
  return row == nullptr ? std::string() : std::string(row->buffer);
}

FollowedPlace followed_place(const Case& about, std::uint64_t offset) {
  const Row* row = row_of(about);
  return row == nullptr ? FollowedPlace{} : row->place(about, offset);
}

std::optional<Parting> find_parting(const PreparedVariant& old_variant, const Case& old_case, const PreparedVariant& new_variant,
                                    const Case& new_case, const fixtures::Shelf& shelf) {
  const ValueTrace old_trace = trace_of(old_variant, old_case, shelf);
  const ValueTrace new_trace = trace_of(new_variant, new_case, shelf);
  const std::vector<SourceText> old_texts = texts_of(old_trace, old_variant);
  const std::vector<SourceText> new_texts = texts_of(new_trace, new_variant);
  std::optional<Parting> parting = find_parting(old_trace, old_texts, new_trace, new_texts);
  if (parting && parting->read != 0) {
    FollowedPlace place = followed_place(new_case, parting->read - 1);
    parting->place = std::move(place.text);
    parting->chunk = place.chunk;
  }
  return parting;
}

}  // namespace assay::harness

// A case as files for a device elsewhere: sources, buffers, the calls to an encoder, and what to return.
#include "harness/bundle/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <variant>

#include "base/hash.h"
#include "harness/bundle/flat_source.h"
#include "harness/cases/suite.h"
#include "harness/execute/execute_job.h"
#include "harness/execute/job_memory.h"
#include "metal/guarded_memory.h"

namespace assay::harness {
namespace {

using families::BufferRole;
using families::Gap;
using families::Job;
using families::JobBuffer;
using metal::FunctionConstantType;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <typename T>
void append(std::string& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The words for one number of a type, and its little-endian bytes. A table, because Metal has several names for some.
struct ScalarWord {
  std::string_view name, canonical;
};
constexpr ScalarWord kScalarWords[] = {
    {"bool", "bool"},       {"char", "char"},     {"int8_t", "char"},   {"uchar", "uchar"},   {"unsigned char", "uchar"},
    {"uint8_t", "uchar"},   {"short", "short"},   {"int16_t", "short"}, {"ushort", "ushort"}, {"unsigned short", "ushort"},
    {"uint16_t", "ushort"}, {"int", "int"},       {"int32_t", "int"},   {"uint", "uint"},     {"unsigned int", "uint"},
    {"unsigned", "uint"},   {"uint32_t", "uint"}, {"long", "long"},     {"int64_t", "long"},  {"ulong", "ulong"},
    {"uint64_t", "ulong"},  {"size_t", "ulong"},  {"half", "half"},     {"float", "float"},   {"unsigned long", "ulong"},
};

// "uint" of "metal::uint3" and of "vec<uint, 3>"; empty for what a runner cannot set.
std::string_view scalar_of(std::string_view type, std::uint32_t components) {
  if (type.starts_with("metal::")) type.remove_prefix(7);
  if (type.starts_with("vec<")) type = type.substr(4, type.find(',') - 4);
  if (type.starts_with("metal::")) type.remove_prefix(7);
  if (components > 1 && !type.empty() && type.back() == static_cast<char>('0' + components)) type.remove_suffix(1);
  const auto* const found = std::ranges::find(kScalarWords, type, &ScalarWord::name);
  return found == std::end(kScalarWords) ? std::string_view() : found->canonical;
}

double number_of(const metal::ConstantScalar& value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}
std::int64_t integer_of(const metal::ConstantScalar& value) {
  return std::visit([](auto number) { return static_cast<std::int64_t>(number); }, value);
}

void append_scalar(std::string& bytes, std::string_view word, const metal::ConstantScalar& value) {
  const std::map<std::string_view, std::size_t> sizes = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2},
                                                         {"int", 4},  {"uint", 4},  {"long", 8},  {"ulong", 8}};
  if (word == "bool") {
    append(bytes, static_cast<std::uint8_t>(number_of(value) != 0));
  } else if (word == "float") {
    append(bytes, static_cast<float>(number_of(value)));
  } else if (word == "half") {
    append(bytes, static_cast<_Float16>(number_of(value)));
  } else {
    const std::int64_t number = integer_of(value);
    bytes.append(reinterpret_cast<const char*>(&number), sizes.at(word));
  }
}

std::vector<BundleConstant> constants_of(const metal::Library& library, const metal::PipelineDescriptor& descriptor) {
  std::vector<BundleConstant> constants;
  for (const auto& [index, value] : descriptor.constants) {
    const auto declared = std::ranges::find(library.function_constants(), index, &metal::FunctionConstantDeclaration::index);
    if (declared == library.function_constants().end()) continue;
    const std::uint32_t components = declared->type.components;
    const std::string_view word = scalar_of(declared->type_name, components);
    if (word.empty())
      throw std::invalid_argument(fmt::format("{}:{}: a bundle cannot hold the function constant '{}' of type {}", library.name(),
                                              declared->line, declared->name, declared->type_name));
    BundleConstant& constant = constants.emplace_back();
    constant.index = index;
    constant.type = components == 1 ? std::string(word) : fmt::format("{}{}", word, components);
    for (const metal::ConstantScalar& component : metal::components_of(value)) append_scalar(constant.bytes, word, component);
    // A vector of three has the size of one of four.
    if (components == 3) constant.bytes.append(constant.bytes.size() / 3, '\0');
  }
  return constants;
}

BundlePipeline bundled_pipeline(const PreparedVariant& prepared, const metal::PipelineDescriptor& descriptor, const KeepFile& keep) {
  const auto library = std::ranges::find_if(prepared.libraries, [&](const auto& one) { return one->offers(descriptor); });
  if (library == prepared.libraries.end())
    throw std::invalid_argument(fmt::format("no library has the function '{}'", descriptor.function));
  const std::string text = flat_source(**library);
  return {.source = keep("sources", bytes_of(text), ".metal"),
          .metal_version = (*library)->options().metal_version,
          .function = descriptor.function,
          .constants = constants_of(**library, descriptor)};
}

std::uint32_t fill_of(Gap gap) {
  switch (gap) {
    case Gap::untouched:
      return 0;
    case Gap::forbidden:
      return metal::kReadPoisonWord;
    case Gap::unwritten:
      break;
  }
  return metal::kPoisonWord;
}

// What JobMemory makes.
BundleBuffer buffer_of(const JobBuffer& described, std::size_t pass, std::uint64_t bytes, const KeepFile& keep) {
  BundleBuffer buffer{.argument = std::string(described.argument),
                      .role = described.role,
                      .pass = pass,
                      .bytes = bytes,
                      .fill = fill_of(described.gap),
                      .regions = {}};
  const std::uint64_t guard = described.has_guards ? kGuardBytes : 0;
  if (!described.fills.empty() && described.gap != Gap::untouched)
    buffer.regions.push_back({guard, described.size, {}, described.fills[pass]});
  for (const families::Range& range : described.filled)
    buffer.regions.push_back({guard + range.at, range.length, {}, described.fills[pass]});
  for (const families::Piece& piece : described.contents) {
    if (!piece.bytes.empty()) buffer.regions.push_back({guard + piece.at, piece.bytes.size(), keep("inputs", piece.bytes, ".bin"), {}});
  }
  return buffer;
}

}  // namespace

std::string content_name(std::string_view folder, std::span<const std::byte> contents, std::string_view suffix) {
  return fmt::format("{}/{}{}", folder, base::Hash().add({reinterpret_cast<const char*>(contents.data()), contents.size()}).hex(), suffix);
}

std::string why_not_bundled(const PreparedVariant& prepared, const Case& test_case) {
  if (const Omission* omission = omission_of(test_case); omission != nullptr && omission->same_bits)
    return "it compares several executions with each other";
  return why_not_executed(prepared, test_case);
}

BundleCase make_bundle(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf, const KeepFile& keep) {
  BundleCase bundle;
  bundle.name = format_case(test_case);
  with_job(prepared, test_case, shelf, nullptr, [&](const Job& job, const JobMemory& memory) {
    metal::CommandRecorder recorder;
    for (const BundlePlace& place : places_of(job)) {
      static_cast<void>(recorder.number_of(*memory.view(place.buffer, place.pass).buffer));
      bundle.buffers.push_back(buffer_of(job.buffers[place.buffer], place.pass, memory.whole(place.buffer, place.pass).size(), keep));
    }
    std::size_t done = 0;
    for (std::size_t pass = 0; pass < job.passes.size(); ++pass) {
      job.passes[pass].encode(recorder, memory.views(pass));
      const std::vector<metal::Command>& commands = recorder.commands();
      bundle.passes.emplace_back(commands.begin() + static_cast<std::ptrdiff_t>(done), commands.end());
      done = commands.size();
    }
    if (recorder.buffers().size() != bundle.buffers.size())
      throw std::logic_error(fmt::format("{}: its launch binds a buffer that its job does not have", bundle.name));
    for (const metal::PipelineDescriptor& descriptor : recorder.pipelines())
      bundle.pipelines.push_back(bundled_pipeline(prepared, descriptor, keep));
  });
  return bundle;
}

std::vector<BundlePlace> places_of(const Job& job) {
  std::vector<BundlePlace> places;
  for (std::size_t number = 0; number < job.buffers.size(); ++number) {
    if (job.buffers[number].role == BufferRole::input) places.push_back({number, 0});
  }
  for (std::size_t pass = 0; pass < job.passes.size(); ++pass) {
    for (std::size_t number = 0; number < job.buffers.size(); ++number) {
      if (job.buffers[number].role != BufferRole::input) places.push_back({number, pass});
    }
  }
  return places;
}

}  // namespace assay::harness

// Foreign runs on the simulator.
#include "tests/foreign/execute_run.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "metal/compile/library.h"
#include "tests/support/both_engines.h"
#include "tests/support/on_gpu.h"

namespace assay::foreign {

namespace {

constexpr std::size_t kListedMistakes = 4;

template <typename T>
T read(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::size_t size_of(Format format) {
  switch (format) {
    case Format::i8:
    case Format::u8:
      return 1;
    case Format::f16:
    case Format::bf16:
    case Format::i16:
    case Format::u16:
      return 2;
    case Format::f32:
    case Format::i32:
    case Format::u32:
      return 4;
    case Format::i64:
    case Format::u64:
      return 8;
  }
  throw std::logic_error("a format without a size");
}

double value_at(std::span<const std::byte> bytes, Format format, std::size_t index) {
  switch (format) {
    case Format::f32:
      return static_cast<double>(read<float>(bytes, index));
    case Format::f16:
      return static_cast<double>(half_value(read<std::uint16_t>(bytes, index)));
    case Format::bf16:
      return static_cast<double>(bfloat_value(read<std::uint16_t>(bytes, index)));
    case Format::i8:
      return read<std::int8_t>(bytes, index);
    case Format::u8:
      return read<std::uint8_t>(bytes, index);
    case Format::i16:
      return read<std::int16_t>(bytes, index);
    case Format::u16:
      return read<std::uint16_t>(bytes, index);
    case Format::i32:
      return read<std::int32_t>(bytes, index);
    case Format::u32:
      return read<std::uint32_t>(bytes, index);
    case Format::i64:
      return static_cast<double>(read<std::int64_t>(bytes, index));
    case Format::u64:
      return static_cast<double>(read<std::uint64_t>(bytes, index));
  }
  throw std::logic_error("a format that is not read");
}

bool agrees(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= tolerance;  // false for a NaN
}

void compare(const Expectation& expectation, std::span<const std::byte> bytes, Outcome& outcome) {
  if (expectation.values.size() != expectation.tolerances.size())
    throw std::invalid_argument(fmt::format("{} values with {} tolerances", expectation.values.size(), expectation.tolerances.size()));
  const std::size_t elements = bytes.size() / size_of(expectation.format);
  if (expectation.first + expectation.values.size() > elements)
    throw std::invalid_argument(fmt::format("buffer {} has {} elements, {} from {} on are expected", expectation.index, elements,
                                            expectation.values.size(), expectation.first));
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < expectation.values.size(); ++index) {
    const double actual = value_at(bytes, expectation.format, expectation.first + index);
    if (agrees(actual, expectation.values[index], expectation.tolerances[index])) continue;
    if (++wrong > kListedMistakes) continue;
    outcome.mistakes.push_back(fmt::format("buffer {} element {}: {} where {} +- {} is expected", expectation.index,
                                           expectation.first + index, actual, expectation.values[index], expectation.tolerances[index]));
  }
  if (wrong > kListedMistakes) outcome.mistakes.push_back(fmt::format("buffer {}: {} wrong in all", expectation.index, wrong));
  outcome.compared += expectation.values.size();
}

}  // namespace

void PrintTo(const Run& run, std::ostream* stream) { *stream << run.file << ", " << run.function; }

std::string path_of(const std::string& file) { return fmt::format("{}/tests/kernels/foreign/{}", ASSAY_SOURCE_DIR, file); }

namespace {

using Buffers = std::vector<std::unique_ptr<metal::Buffer>>;

// By index of the argument; empty places are null.
Buffers make_buffers(const Run& run) {
  std::map<std::uint32_t, std::unique_ptr<metal::Buffer>> made;
  for (const auto& [index, bytes] : run.buffers) made[index] = metal::Buffer::of<std::byte>(bytes);
  for (const auto& [index, size] : run.fresh_buffers) made[index] = std::make_unique<metal::Buffer>(size);
  Buffers buffers(made.empty() ? 0 : made.rbegin()->first + 1);
  for (auto& [index, buffer] : made) buffers[index] = std::move(buffer);
  return buffers;
}

void encode(const Run& run, metal::ComputeEncoder& encoder, const Buffers& buffers) {
  metal::PipelineDescriptor pipeline{run.function, {}};
  for (const auto& [index, value] : run.constants) std::visit([&, at = index](auto v) { pipeline.constants[at] = v; }, value);
  encoder.set_pipeline(pipeline);
  for (std::uint32_t index = 0; index < buffers.size(); ++index) {
    if (buffers[index] != nullptr) encoder.set_buffer(index, {buffers[index].get(), 0});
  }
  for (const auto& [index, bytes] : run.set_bytes) encoder.set_bytes(index, bytes);
  for (const auto& [index, size] : run.threadgroup_memory) encoder.set_threadgroup_memory_length(index, size);
  const auto size3 = [](const Size& size) { return metal::Size3{size[0], size[1], size[2]}; };
  if (run.grid_counts_threads) {
    encoder.dispatch_threads(size3(run.grid), size3(run.threads_per_threadgroup));
  } else {
    encoder.dispatch_threadgroups(size3(run.grid), size3(run.threads_per_threadgroup));
  }
}

}  // namespace

Outcome execute(const Run& run, metal::Policy policy) {
  metal::SimulatorOptions options;
  options.policy = policy;
  const auto library = metal::Library::from_file(path_of(run.file));
  metal::Simulator simulator({library}, options);
  const Buffers buffers = make_buffers(run);
  encode(run, simulator, buffers);
  tests::expect_same_on_fibers(
      {library}, options, simulator, [&](metal::ComputeEncoder& encoder, const Buffers& fresh) { encode(run, encoder, fresh); }, buffers,
      make_buffers(run));
  if (tests::tests_on_gpu() && policy == metal::Policy::native) {
    tests::expect_same_on_gpu(
        {library}, [&](metal::ComputeEncoder& encoder, const Buffers& fresh) { encode(run, encoder, fresh); }, buffers, make_buffers(run));
  }

  Outcome outcome;
  for (const auto& hazard : simulator.hazards()) {
    if (metal::is_defect(hazard.kind)) outcome.hazards.push_back(fmt::format("{}: {}", metal::to_string(hazard.kind), hazard.message));
  }
  for (const auto& expectation : run.expectations) {
    const metal::Buffer& buffer = *buffers.at(expectation.index);
    compare(expectation, buffer.bytes(), outcome);
  }
  return outcome;
}

}  // namespace assay::foreign

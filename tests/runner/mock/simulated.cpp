// The simulator behind the mock of Metal.
#include "tests/runner/mock/simulated.h"

#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/commands.h"
#include "metal/devices/simulator.h"
#include "metal/function_constant.h"

// The runtime of GNU knows no exceptions of C++ in Objective-C++, Apple's does. The tables that clang writes are those of C++.
extern "C" {
_Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions, std::uint64_t kind, _Unwind_Exception* exception,
                                         _Unwind_Context* context);
_Unwind_Reason_Code __gnu_objc_personality_v0(int version, _Unwind_Action actions, std::uint64_t kind, _Unwind_Exception* exception,
                                              _Unwind_Context* context) {
  return __gxx_personality_v0(version, actions, kind, exception, context);
}
}

namespace assay::tests::simulated {
namespace {

// Every call of this process; written at its end.
struct Record {
  std::set<std::string> calls;
  int alive = 0;
  ~Record() {
    const char* file = std::getenv("ASSAY_MOCK_CALLS");
    if (file == nullptr) return;
    std::ofstream stream(file, std::ios::app);
    for (const std::string& call : calls) stream << call << '\n';
    stream << "alive " << alive << '\n';
  }
};

Record& record() {
  static Record it;
  return it;
}

template <typename T>
T value_at(const std::string& bytes, std::size_t component) {
  T value{};
  std::memcpy(&value, bytes.substr(component * sizeof(T), sizeof(T)).data(), sizeof(T));
  return value;
}

// By the enumerators of MTLDataType.
metal::ConstantScalar scalar_of(const Constant& constant, std::uint64_t type, std::size_t component) {
  switch (type) {
    case 3:
      return static_cast<double>(value_at<float>(constant.bytes, component));
    case 16:
      return static_cast<double>(value_at<_Float16>(constant.bytes, component));
    case 29:
      return std::int64_t{value_at<std::int32_t>(constant.bytes, component)};
    case 33:
      return std::int64_t{value_at<std::uint32_t>(constant.bytes, component)};
    case 37:
      return std::int64_t{value_at<std::int16_t>(constant.bytes, component)};
    case 41:
      return std::int64_t{value_at<std::uint16_t>(constant.bytes, component)};
    case 45:
      return std::int64_t{value_at<std::int8_t>(constant.bytes, component)};
    case 49:
      return std::int64_t{value_at<std::uint8_t>(constant.bytes, component)};
    case 53:
      return value_at<std::uint8_t>(constant.bytes, component) != 0;
    case 81:
      return value_at<std::int64_t>(constant.bytes, component);
    case 85:
      return static_cast<std::int64_t>(value_at<std::uint64_t>(constant.bytes, component));
    default:
      throw std::invalid_argument("a data type that the mock does not know");
  }
}

metal::FunctionConstant constant_of(const Constant& constant) {
  constexpr std::uint64_t kFirst[] = {85, 81, 53, 49, 45, 41, 37, 33, 29, 16, 3};
  const std::uint64_t type = *std::ranges::find_if(kFirst, [&](std::uint64_t first) { return first <= constant.type; });
  std::vector<metal::ConstantScalar> components;
  for (std::size_t i = 0; i <= constant.type - type; ++i) components.push_back(scalar_of(constant, type, i));
  return metal::constant_of_components(components);
}

metal::Size3 size_of(Size size) {
  return {static_cast<std::uint32_t>(size.x), static_cast<std::uint32_t>(size.y), static_cast<std::uint32_t>(size.z)};
}

}  // namespace

struct Library {
  std::shared_ptr<metal::Library> library;
};
struct Pipeline {
  std::shared_ptr<metal::Library> library;
  metal::PipelineDescriptor descriptor;
  std::uint64_t most_threads = 0;
};
struct Memory {
  std::unique_ptr<metal::Buffer> buffer;
};
struct Commands {
  metal::CommandRecorder recorder;
  std::vector<std::shared_ptr<metal::Library>> libraries;
  std::vector<std::shared_ptr<Memory>> memory;  // kept until it is executed
};

bool is_asked(std::string_view failure) {
  const char* asked = std::getenv("ASSAY_MOCK_METAL");
  return asked != nullptr && failure == asked;
}

void note_call(const char* name) { record().calls.insert(name); }
void add_alive(int difference) { record().alive += difference; }

std::shared_ptr<Library> make_library(const std::string& source, std::uint64_t language_version) {
  static int number = 0;
  metal::CompileOptions options;
  options.metal_version = static_cast<int>((language_version >> 16U) * 100 + (language_version & 0xffffU) * 10);
  // Libraries of the same functions are distinct.
  options.configuration = {"ASSAY_MOCK_LIBRARY=" + std::to_string(number++)};
  return std::make_shared<Library>(metal::Library::from_source(source, "program_source", options));
}

std::shared_ptr<Pipeline> make_pipeline(const std::shared_ptr<Library>& library, const std::string& function, const Constants& constants) {
  if (!library->library->has_function(function)) throw std::invalid_argument("there is no function named " + function);
  auto pipeline = std::make_shared<Pipeline>();
  pipeline->library = library->library;
  pipeline->descriptor = {function, {}, library->library->configuration()};
  for (const auto& [index, constant] : constants) pipeline->descriptor.constants[static_cast<std::uint32_t>(index)] = constant_of(constant);
  pipeline->most_threads = library->library->pipeline(pipeline->descriptor)->layout().max_total_threads;
  return pipeline;
}

std::uint64_t most_threads(const Pipeline& pipeline) { return pipeline.most_threads; }

std::shared_ptr<Memory> make_memory(std::size_t bytes) { return std::make_shared<Memory>(metal::Buffer::sparse(bytes, "MTLBuffer")); }
void* contents(const Memory& memory) { return memory.buffer->bytes().data(); }

std::shared_ptr<Commands> make_commands() { return std::make_shared<Commands>(); }

void set_pipeline(Commands& commands, const std::shared_ptr<Pipeline>& pipeline) {
  commands.libraries.push_back(pipeline->library);
  commands.recorder.set_pipeline(pipeline->descriptor);
}

void set_buffer(Commands& commands, const std::shared_ptr<Memory>& memory, std::uint64_t offset, std::uint64_t index) {
  if (memory != nullptr) commands.memory.push_back(memory);
  commands.recorder.set_buffer(static_cast<std::uint32_t>(index),
                               {.buffer = memory == nullptr ? nullptr : memory->buffer.get(), .offset = offset});
}

void set_bytes(Commands& commands, const void* bytes, std::size_t size, std::uint64_t index) {
  commands.recorder.set_bytes(static_cast<std::uint32_t>(index), {static_cast<const std::byte*>(bytes), size});
}

void set_threadgroup_memory(Commands& commands, std::uint64_t bytes, std::uint64_t index) {
  commands.recorder.set_threadgroup_memory_length(static_cast<std::uint32_t>(index), bytes);
}

void add_barrier(Commands& commands) { commands.recorder.memory_barrier(); }

void dispatch(Commands& commands, Size grid, Size threads, bool counts_threads) {
  if (counts_threads)
    commands.recorder.dispatch_threads(size_of(grid), size_of(threads));
  else
    commands.recorder.dispatch_threadgroups(size_of(grid), size_of(threads));
}

void execute(Commands& commands) {
  metal::Simulator simulator(commands.libraries);
  const std::vector<metal::Buffer*>& buffers = commands.recorder.buffers();
  for (const metal::Command& command : commands.recorder.commands()) {
    if (const auto* set = std::get_if<metal::command::SetPipeline>(&command))
      simulator.set_pipeline(commands.recorder.pipelines().at(set->number));
    else if (const auto* bind = std::get_if<metal::command::SetBuffer>(&command))
      simulator.set_buffer(bind->index, {.buffer = bind->number ? buffers.at(*bind->number) : nullptr, .offset = bind->offset});
    else if (const auto* bytes = std::get_if<metal::command::SetBytes>(&command))
      simulator.set_bytes(bytes->index, std::as_bytes(std::span(bytes->bytes)));
    else if (const auto* memory = std::get_if<metal::command::SetThreadgroupMemory>(&command))
      simulator.set_threadgroup_memory_length(memory->index, memory->bytes);
    else if (std::holds_alternative<metal::command::MemoryBarrier>(command))
      simulator.memory_barrier();
    else if (const auto* groups = std::get_if<metal::command::DispatchThreadgroups>(&command))
      simulator.dispatch_threadgroups(groups->threadgroups, groups->threads_per_threadgroup);
    else if (const auto* threads = std::get_if<metal::command::DispatchThreads>(&command))
      simulator.dispatch_threads(threads->threads, threads->threads_per_threadgroup);
  }
}

}  // namespace assay::tests::simulated

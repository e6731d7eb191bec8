// What the mock of Metal does, in C++: the simulator behind it, the failures that a test asks for, and a record of its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace assay::tests::simulated {

// Whether the environment's ASSAY_MOCK_METAL is this word: the failure that a test asks for.
[[nodiscard]] bool is_asked(std::string_view failure);

// Appends the name of a call to the file $ASSAY_MOCK_CALLS, each name once.
void note_call(const char* name);
// Objects of the mock that exist. At the end of the program, "alive <number>" follows the calls.
void add_alive(int difference);

// Function constants by index: a value of MTLDataType, and the bytes.
struct Constant {
  std::uint64_t type = 0;
  std::string bytes;
};
using Constants = std::map<std::uint64_t, Constant>;

struct Library;
struct Pipeline;
struct Memory;
struct Commands;

// These throw std::exception with the message of the simulator.
[[nodiscard]] std::shared_ptr<Library> make_library(const std::string& source, std::uint64_t language_version);
[[nodiscard]] std::shared_ptr<Pipeline> make_pipeline(const std::shared_ptr<Library>& library, const std::string& function,
                                                      const Constants& constants);
[[nodiscard]] std::uint64_t most_threads(const Pipeline& pipeline);
// Zeros.
[[nodiscard]] std::shared_ptr<Memory> make_memory(std::size_t bytes);
[[nodiscard]] void* contents(const Memory& memory);

struct Size {
  std::uint64_t x, y, z;
};
// Calls of an encoder, executed by execute().
[[nodiscard]] std::shared_ptr<Commands> make_commands();
void set_pipeline(Commands& commands, const std::shared_ptr<Pipeline>& pipeline);
void set_buffer(Commands& commands, const std::shared_ptr<Memory>& memory, std::uint64_t offset, std::uint64_t index);
void set_bytes(Commands& commands, const void* bytes, std::size_t size, std::uint64_t index);
void set_threadgroup_memory(Commands& commands, std::uint64_t bytes, std::uint64_t index);
void add_barrier(Commands& commands);
void dispatch(Commands& commands, Size grid, Size threads, bool counts_threads);
// A GPU notices no hazards.
void execute(Commands& commands);

}  // namespace assay::tests::simulated

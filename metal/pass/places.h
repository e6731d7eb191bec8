// The places of instructions in the user's source, errors at these places, and the places in the compiled code.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace assay::metal::pass {

struct Place {
  std::string file;
  std::uint32_t line = 0;
};

// The innermost place of an instruction in the user's source.
Place place_of(const llvm::Instruction& instruction);

// The places of the finished module (abi::Module::places), by file and line (from 1), for later passes.
std::map<std::pair<std::string, std::uint32_t>, std::size_t>& source_places();

// Whether a scope lies in one of our own headers. A location inside is attributed to its caller.
bool is_ours(const llvm::DIScope& scope);

// Reads the folder of the headers of metal/shader from a constant in them, and removes the constant. Call it before is_ours().
void note_shader_directory(llvm::Module& module);

// Prints an error message at a place of the user's source.
void complain(const Place& place, const llvm::Twine& message);
// Ends the compilation with an error message at a place of the user's source.
[[noreturn]] void refuse(const Place& place, const llvm::Twine& message);

// Replaces the compiler's debug information by the place of every instruction in the user's source, so that a fault is reported with
// its line. This is the only link from the compiled code to the source.
void keep_places(llvm::Module& module, llvm::Function& entry);

// The same as place_of() behind keep_places(); nullopt if the instruction has none.
std::optional<Place> kept_place_of(const llvm::Instruction& instruction);

}  // namespace assay::metal::pass

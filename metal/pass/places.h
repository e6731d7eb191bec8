// Places in the user's source: of an instruction, of an error, and of every instruction in the compiled code.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace assay::metal::pass {

struct Place {
  std::string file;
  std::uint32_t line = 0;
};

// The innermost place of an instruction in the user's own source.
Place place_of(const llvm::Instruction& instruction);

// By file and line, from 1: the places that the finished module has (abi::Module::places), for passes that come later.
std::map<std::pair<std::string, std::uint32_t>, std::size_t>& source_places();

// Whether a scope lies in one of our own headers; a location inside is attributed to its caller.
bool is_ours(const llvm::DIScope& scope);

// Reads the folder of the headers of metal/shader from a constant in them, and removes the constant. To be called before is_ours().
void note_shader_directory(llvm::Module& module);

// Prints an error message at a place of the user's source.
void complain(const Place& place, const llvm::Twine& message);
// Ends the compilation with an error message at a place of the user's source.
[[noreturn]] void refuse(const Place& place, const llvm::Twine& message);

// Replaces the compiler's debug information by the place of every instruction in the user's source, so that a fault is reported with its
// line. Nothing else leads from the code to the source.
void keep_places(llvm::Module& module, llvm::Function& entry);

}  // namespace assay::metal::pass

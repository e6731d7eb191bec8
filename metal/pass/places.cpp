// Finds the places of instructions in the user's source, reports errors there, and keeps the places in the compiled code.
#include "metal/pass/places.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/Path.h>

namespace assay::metal::pass {
namespace {

constexpr unsigned kDwarfVersion = 4;  // the version that execute/line_table.cpp reads

// The folder of the headers of metal/shader, read from a constant in them: an installation may be moved.
std::string& shader_directory() {
  static std::string directory;
  return directory;
}

}  // namespace

void note_shader_directory(llvm::Module& module) {
  auto* file = module.getGlobalVariable("__assay_shader_file");
  const auto* text = llvm::dyn_cast<llvm::ConstantDataSequential>(file->getInitializer());
  shader_directory() = (llvm::sys::path::parent_path(text->getAsCString()) + "/").str();
  file->eraseFromParent();
}

bool is_ours(const llvm::DIScope& scope) {
  // The compiler omits the part of a path that equals the working directory.
  llvm::SmallString<256> path(scope.getFilename());
  if (!llvm::sys::path::is_absolute(path)) {
    path = scope.getDirectory();
    llvm::sys::path::append(path, scope.getFilename());
  }
  return path.str().starts_with(shader_directory());
}

Place place_of(const llvm::Instruction& instruction) {
  Place innermost;
  for (const auto* location = instruction.getDebugLoc().get(); location != nullptr; location = location->getInlinedAt()) {
    if (innermost.line == 0) innermost = {location->getFilename().str(), location->getLine()};
    if (!is_ours(*location->getScope()) && location->getLine() != 0) return {location->getFilename().str(), location->getLine()};
  }
  return innermost;
}

std::map<std::pair<std::string, std::uint32_t>, std::size_t>& source_places() {
  static std::map<std::pair<std::string, std::uint32_t>, std::size_t> places;
  return places;
}

void complain(const Place& place, const llvm::Twine& message) {
  llvm::errs() << place.file << ':' << place.line << ": error: " << message << '\n';
}

void refuse(const Place& place, const llvm::Twine& message) {
  complain(place, message);
  std::exit(1);
}

void keep_places(llvm::Module& module, llvm::Function& entry) {
  llvm::DenseMap<llvm::Instruction*, unsigned> numbers;
  for (auto& function : module) {
    for (auto& instruction : llvm::instructions(function)) {
      if (!instruction.getDebugLoc()) continue;
      const Place place = place_of(instruction);
      const auto found = source_places().find({place.file, place.line});
      numbers[&instruction] = found == source_places().end() ? 0 : static_cast<unsigned>(found->second);
    }
  }
  llvm::StripDebugInfo(module);
  llvm::DIBuilder builder(module);
  auto* file = builder.createFile("kernel", "/");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "assay", /*isOptimized=*/true, "", 0, "",
                            llvm::DICompileUnit::DebugEmissionKind::LineTablesOnly);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  auto* scope = builder.createFunction(file, entry.getName(), "", file, 0, type, 0, llvm::DINode::FlagZero,
                                       llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  entry.setSubprogram(scope);
  builder.finalize();
  const auto number_of = [&](unsigned value) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()), value));
  };
  module.setModuleFlag(llvm::Module::Warning, "Debug Info Version", number_of(llvm::DEBUG_METADATA_VERSION));
  module.setModuleFlag(llvm::Module::Max, "Dwarf Version", number_of(kDwarfVersion));
  for (auto& instruction : llvm::instructions(entry))
    if (const unsigned number = numbers.lookup(&instruction); number != 0)
      instruction.setDebugLoc(llvm::DILocation::get(module.getContext(), number, 0, scope));
}

std::optional<Place> kept_place_of(const llvm::Instruction& instruction) {
  if (!instruction.getDebugLoc()) return std::nullopt;
  const std::size_t number = instruction.getDebugLoc().getLine();
  for (const auto& [place, kept] : source_places()) {
    if (kept == number && number != 0) return Place{place.first, place.second};
  }
  return std::nullopt;
}

}  // namespace assay::metal::pass

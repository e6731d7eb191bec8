// Identifies the running executable by the build ID that the linker wrote.
#include "base/program_build.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "base/hash.h"
#include "base/text.h"

namespace assay::base {
namespace {

// The build ID from the notes of a segment; empty if there is none. Notes are aligned to four bytes.
std::string build_id_of(std::span<const std::byte> notes) {
  const auto aligned = [](std::size_t size) { return (size + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t contents = sizeof note + aligned(note.n_namesz);
    if (contents + aligned(note.n_descsz) > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID) {
      std::string id;
      for (const std::byte byte : notes.subspan(contents, note.n_descsz)) id += fmt::format("{:02x}", static_cast<unsigned>(byte));
      return id;
    }
    notes = notes.subspan(contents + aligned(note.n_descsz));
  }
  return {};
}

// dl_iterate_phdr() reports the executable first.
int take_build_id(dl_phdr_info* object, std::size_t, void* id) {
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const std::byte*>(object->dlpi_addr + segment.p_vaddr);
    auto& found = *static_cast<std::string*>(id);
    if (found.empty()) found = build_id_of({notes, segment.p_memsz});
  }
  return 1;
}

}  // namespace

std::string build_of_program() {
  std::string id;
  dl_iterate_phdr(take_build_id, &id);
  return id.empty() ? Hash().add(read_file("/proc/self/exe").value_or("")).hex() : id;
}

}  // namespace assay::base

// Reads and writes whole files, and identifies the running executable.
#include "cli/files.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"
#include "cli/printable.h"

namespace assay::cli {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file) {
  throw std::invalid_argument(fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno)));
}

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

void require_no_link(const std::filesystem::path& file) {
  if (base::is_link_to_file(file))
    throw std::invalid_argument(fmt::format("{} is a link, through which nothing is written: name the file itself", file.string()));
}

}  // namespace

void write_file(const std::filesystem::path& file, const std::string& text) {
  require_no_link(file);
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << printable(text);
  stream.close();
  if (!stream) refuse(file);
}

void require_writable(const std::filesystem::path& file) {
  if (!file.empty()) require_no_link(file);
  if (!file.empty() && !std::ofstream(file, std::ios::binary | std::ios::app)) refuse(file);
}

std::string build_of_assay() {
  std::string id;
  dl_iterate_phdr(take_build_id, &id);
  return id.empty() ? base::Hash().add(base::read_file("/proc/self/exe").value_or("")).hex() : id;
}

}  // namespace assay::cli

// Reads ELF files, and holds what the dynamic linker would do with one to a list of what kernels need.
#include "metal/compile/object_check.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "math/names.h"
#include "metal/provided_functions.h"

namespace assay::metal::compile {

namespace {

static_assert(std::endian::native == std::endian::little);

// Kernels take some kilobytes; those with large tables of constants some megabytes.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 32;
constexpr std::size_t kMostSegments = 32;
constexpr std::size_t kMostEntries = 128;
constexpr std::size_t kMostSymbols = std::size_t{1} << 20;
constexpr std::size_t kMostRelocations = std::size_t{1} << 24;

// The relocations that a shared object without resolvers and thread-local variables needs.
struct Kinds {
  std::uint32_t relative, absolute, data, call;
};
std::optional<Kinds> kinds_of(std::uint16_t machine) {
  if (machine == EM_X86_64) return Kinds{R_X86_64_RELATIVE, R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
  if (machine == EM_AARCH64) return Kinds{R_AARCH64_RELATIVE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT};
  return std::nullopt;
}

std::string readable_name(std::string_view symbol) {
  int status = 0;
  const std::string text(symbol);
  const std::unique_ptr<char, void (*)(void*)> name(::abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : text;
}

// What a name from the file shows in messages.
std::string printable(std::string_view text) {
  std::string result(text.substr(0, 200));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return result;
}

}  // namespace

void ObjectFile::damaged(std::string_view what) const {
  throw DamagedObject(fmt::format("{} is not the shared object of a kernel: {}", name_, what));
}

ObjectFile::ObjectFile(std::vector<std::byte> bytes, std::string name) : name_(std::move(name)), bytes_(std::move(bytes)) {
  read_segments();
  read_dynamic();
  read_symbols();
  read_relocations();
}

ObjectFile ObjectFile::read(const std::filesystem::path& path) {
  const auto refused = [&](std::string_view why) {
    throw EnvironmentError(fmt::format("cannot read the compiled kernel {}: {}", path.string(), why));
  };
  // Without waiting for the writer of a pipe.
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) refused(std::system_category().message(errno));
  if (!S_ISREG(status.st_mode)) refused("it is not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > kLargestFile) refused(fmt::format("it has {} bytes", status.st_size));
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::read(file.number(), bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refused(count == 0 ? "it became shorter while it was read" : std::system_category().message(errno));
    at += static_cast<std::size_t>(count);
  }
  return {std::move(bytes), path.string()};
}

void ObjectFile::read_segments() {
  Elf64_Ehdr header;
  if (bytes_.size() < sizeof header) damaged("it is too short");
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_ident[EI_VERSION] != EV_CURRENT || header.e_type != ET_DYN)
    damaged("its header is of another kind of file");
  machine_ = header.e_machine;
  if (!kinds_of(machine_)) damaged(fmt::format("it is for a machine of number {}", machine_));
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kMostSegments || header.e_phoff > bytes_.size() ||
      std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr) > bytes_.size() - header.e_phoff)
    damaged("its table of segments is not in the file");
  std::uint64_t end = 0;
  for (std::size_t number = 0; number < header.e_phnum; ++number) {
    Elf64_Phdr raw;
    std::memcpy(&raw, bytes_.data() + header.e_phoff + number * sizeof raw, sizeof raw);
    if (raw.p_offset > bytes_.size() || raw.p_filesz > bytes_.size() - raw.p_offset || raw.p_filesz > raw.p_memsz ||
        raw.p_memsz > kMostMemory || raw.p_vaddr > kMostMemory)
      damaged(fmt::format("segment {} does not fit", number));
    if (raw.p_type == PT_LOAD) {
      if (raw.p_vaddr < end) damaged(fmt::format("segment {} overlaps another", number));
      if (!std::has_single_bit(raw.p_align) || (raw.p_vaddr - raw.p_offset) % raw.p_align != 0)
        damaged(fmt::format("segment {} is misaligned", number));
      end = raw.p_vaddr + raw.p_memsz;
    }
    segments_.push_back({raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz, raw.p_align});
  }
}

std::optional<std::span<const std::byte>> ObjectFile::loaded(std::uint64_t address, std::uint64_t count) const {
  for (const Segment& segment : segments_) {
    if (segment.kind != PT_LOAD || address < segment.address) continue;
    const std::uint64_t at = address - segment.address;
    if (at > segment.file_bytes || count > segment.file_bytes - at) continue;
    return std::span(bytes_).subspan(segment.offset + at, count);
  }
  return std::nullopt;
}

template <typename T>
std::vector<T> ObjectFile::table(std::uint64_t address, std::uint64_t count, std::string_view what) const {
  const auto bytes = count > bytes_.size() / sizeof(T) ? std::nullopt : loaded(address, count * sizeof(T));
  if (!bytes) damaged(fmt::format("its {} are not in the file", what));
  std::vector<T> result(count);
  if (count != 0) std::memcpy(result.data(), bytes->data(), bytes->size());
  return result;
}

void ObjectFile::read_dynamic() {
  const auto is_dynamic = [](const Segment& segment) { return segment.kind == PT_DYNAMIC; };
  const auto found = std::ranges::find_if(segments_, is_dynamic);
  if (std::ranges::count_if(segments_, is_dynamic) != 1) damaged("it has no dynamic section, or several");
  const auto inside = loaded(found->address, found->file_bytes);
  // The dynamic linker reads it by its address, others by its offset.
  if (!inside || inside->data() != bytes_.data() + found->offset || found->memory_bytes != found->file_bytes)
    damaged("its dynamic section is not loaded");
  for (const auto& raw :
       table<Elf64_Dyn>(found->address, std::min<std::uint64_t>(found->file_bytes / sizeof(Elf64_Dyn), kMostEntries), "dynamic entries")) {
    if (raw.d_tag == DT_NULL) return;
    if (std::ranges::any_of(dynamic_, [&](const Entry& entry) { return entry.tag == raw.d_tag; }))
      damaged(fmt::format("its dynamic section has the entry {:#x} twice", raw.d_tag));
    dynamic_.push_back({raw.d_tag, raw.d_un.d_val});
  }
  damaged("its dynamic section does not end");
}

std::optional<std::uint64_t> ObjectFile::value(std::int64_t tag) const {
  const auto found = std::ranges::find_if(dynamic_, [&](const Entry& entry) { return entry.tag == tag; });
  return found == dynamic_.end() ? std::nullopt : std::optional(found->value);
}

void ObjectFile::read_symbols() {
  const auto hash = value(DT_HASH), place = value(DT_SYMTAB), strings = value(DT_STRTAB), string_bytes = value(DT_STRSZ);
  if (!hash || !place || !strings || !string_bytes || value(DT_SYMENT).value_or(sizeof(Elf64_Sym)) != sizeof(Elf64_Sym))
    damaged("its dynamic section has no table of symbols");
  const std::uint32_t count = table<std::uint32_t>(*hash, 2, "numbers of symbols")[1];
  const auto text = loaded(*strings, *string_bytes);
  if (!text || text->empty() || text->back() != std::byte{0}) damaged("its names of symbols are not in the file");
  if (count == 0 || count > kMostSymbols) damaged(fmt::format("it has {} symbols", count));
  const std::string_view names(reinterpret_cast<const char*>(text->data()), text->size());
  for (const auto& raw : table<Elf64_Sym>(*place, count, "symbols")) {
    if (raw.st_name >= names.size()) damaged("a symbol has no name");
    const std::string_view rest = names.substr(raw.st_name);
    symbols_.push_back({rest.substr(0, rest.find('\0')), raw.st_value, raw.st_size, ELF64_ST_TYPE(unsigned{raw.st_info}),
                        raw.st_shndx != SHN_UNDEF, raw.st_shndx == SHN_ABS || raw.st_shndx == SHN_COMMON});
  }
}

void ObjectFile::read_relocations() {
  const Kinds kinds = *kinds_of(machine_);
  for (const auto& [place, size] : {std::pair(DT_RELA, DT_RELASZ), std::pair(DT_JMPREL, DT_PLTRELSZ)}) {
    const auto at = value(place), bytes = value(size);
    if (at.has_value() != bytes.has_value()) damaged("its relocations have no size");
    if (!at) continue;
    if (value(DT_RELAENT).value_or(sizeof(Elf64_Rela)) != sizeof(Elf64_Rela) || value(DT_PLTREL).value_or(DT_RELA) != DT_RELA ||
        *bytes % sizeof(Elf64_Rela) != 0 || *bytes / sizeof(Elf64_Rela) > kMostRelocations)
      damaged("its relocations are of another kind");
    for (const auto& raw : table<Elf64_Rela>(*at, *bytes / sizeof(Elf64_Rela), "relocations")) {
      const Relocation relocation{raw.r_offset, static_cast<std::uint32_t>(ELF64_R_TYPE(raw.r_info)),
                                  static_cast<std::uint32_t>(ELF64_R_SYM(raw.r_info)), raw.r_addend};
      if (relocation.symbol >= symbols_.size()) damaged("a relocation has no symbol");
      if (!loaded(relocation.address, sizeof(std::uint64_t))) damaged("a relocation is not in the file");
      relocations_.push_back(relocation);
    }
  }
  for (const Relocation& relocation : relocations_) {
    const Symbol& symbol = symbols_[relocation.symbol];
    std::optional<std::uint64_t> target;
    if (relocation.kind == kinds.relative) target = static_cast<std::uint64_t>(relocation.addend);
    if (relocation.kind == kinds.absolute && symbol.is_defined) target = symbol.address + static_cast<std::uint64_t>(relocation.addend);
    if ((relocation.kind == kinds.data || relocation.kind == kinds.call) && symbol.is_defined) target = symbol.address;
    // Two for the same bytes: which one counts is not for us to say.
    const auto next = pointers_.lower_bound(relocation.address < 7 ? 0 : relocation.address - 7);
    if (next != pointers_.end() && next->first < relocation.address + sizeof(std::uint64_t)) damaged("two relocations are at one place");
    pointers_.emplace(relocation.address, target);
  }
}

const ObjectFile::Symbol* ObjectFile::find(std::string_view wanted) const {
  const auto found = std::ranges::find_if(symbols_, [&](const Symbol& symbol) { return symbol.is_defined && symbol.name == wanted; });
  return found == symbols_.end() ? nullptr : &*found;
}

std::span<const std::byte> ObjectFile::symbol(std::string_view wanted) const {
  const Symbol* found = find(wanted);
  return found == nullptr ? std::span<const std::byte>() : loaded(found->address, found->bytes).value_or(std::span<const std::byte>());
}

bool ObjectFile::copy(std::uint64_t address, std::span<std::byte> to) const {
  const auto holds = [&](const Segment& segment) {
    return segment.kind == PT_LOAD && address >= segment.address && address - segment.address <= segment.memory_bytes &&
           to.size() <= segment.memory_bytes - (address - segment.address);
  };
  const auto segment = std::ranges::find_if(segments_, holds);
  if (segment == segments_.end()) return false;
  const std::uint64_t at = address - segment->address;
  const std::size_t in_file = at >= segment->file_bytes ? 0 : std::min<std::size_t>(to.size(), segment->file_bytes - at);
  if (in_file != 0) std::memcpy(to.data(), bytes_.data() + segment->offset + at, in_file);
  std::ranges::fill(to.subspan(in_file), std::byte{0});
  for (auto next = pointers_.lower_bound(address < 7 ? 0 : address - 7); next != pointers_.end() && next->first < address + to.size();
       ++next) {
    if (next->first < address || next->first + sizeof(std::uint64_t) > address + to.size() || !next->second) return false;
    std::memcpy(to.data() + (next->first - address), &*next->second, sizeof(std::uint64_t));
  }
  return true;
}

std::optional<std::uint64_t> ObjectFile::pointer_at(std::uint64_t address) const {
  std::uint64_t value = 0;
  if (!copy(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  // An address that no relocation enters is that of anything.
  if (value != 0 && !pointers_.contains(address)) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> ObjectFile::read_u32(std::uint64_t address) const {
  std::uint32_t value = 0;
  return copy(address, std::as_writable_bytes(std::span(&value, 1))) ? std::optional(value) : std::nullopt;
}

std::optional<std::string_view> ObjectFile::read_string(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (segment.kind != PT_LOAD || address < segment.address || address - segment.address >= segment.file_bytes) continue;
    const std::uint64_t at = address - segment.address;
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + segment.offset + at, segment.file_bytes - at);
    const auto end = rest.find('\0');
    return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
  }
  return std::nullopt;
}

namespace {

[[noreturn]] void refuse(const ObjectFile& object, std::string_view what) {
  throw CompileError(fmt::format("{}: error: the compiled kernel is refused: {}", object.name(), what));
}

bool may_be_called(std::string_view name) {
  static const std::set<std::string_view> of_math = {
#define ASSAY_OBJECT_NAMES(function) "assay_math_" #function, "assay_math_exact_" #function, "assay_math_batch_" #function,
      ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_OBJECT_NAMES) ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_OBJECT_NAMES)
#undef ASSAY_OBJECT_NAMES
  };
  return of_math.contains(name) || is_provided(name);
}

std::string_view what_loading_runs(std::int64_t tag) {
  switch (tag) {
    case DT_NEEDED:
      return "it needs another library (DT_NEEDED)";
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_INIT_ARRAYSZ:
    case DT_PREINIT_ARRAY:
    case DT_PREINIT_ARRAYSZ:
      return "it has code that runs when it is loaded (an initialiser)";
    case DT_FINI:
    case DT_FINI_ARRAY:
    case DT_FINI_ARRAYSZ:
      return "it has code that runs when it is unloaded (a finaliser)";
    case DT_TEXTREL:
      return "its code is changed when it is loaded (text relocations)";
    case DT_AUDIT:
    case DT_DEPAUDIT:
    case DT_FILTER:
    case DT_AUXILIARY:
    case DT_RPATH:
    case DT_RUNPATH:
      return "it names other files to load";
    default:
      return {};
  }
}

bool is_plain_entry(const ObjectFile& object, const ObjectFile::Entry& entry) {
  constexpr std::array kPlain = {DT_HASH,   DT_GNU_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ,  DT_SYMENT,  DT_PLTGOT,
                                 DT_JMPREL, DT_PLTRELSZ, DT_PLTREL, DT_RELA,   DT_RELASZ, DT_RELAENT, DT_RELACOUNT};
  if (std::ranges::find(kPlain, entry.tag) != kPlain.end() || entry.tag == DT_BIND_NOW || entry.tag == DT_SYMBOLIC) return true;
  if (entry.tag == DT_FLAGS) return (entry.value & ~std::uint64_t{DF_BIND_NOW | DF_SYMBOLIC}) == 0;
  if (entry.tag == DT_FLAGS_1) return (entry.value & ~std::uint64_t{DF_1_NOW}) == 0;
  // Of branch protection and of functions with vector arguments.
  return object.machine() == EM_AARCH64 && (entry.tag == 0x70000001 || entry.tag == 0x70000003 || entry.tag == 0x70000005);
}

void check_segments(const ObjectFile& object) {
  bool has_stack = false;
  for (const auto& segment : object.segments()) {
    const bool is_executable = (segment.flags & PF_X) != 0;
    switch (segment.kind) {
      case PT_LOAD:
        if (is_executable && (segment.flags & PF_W) != 0) refuse(object, "a part of it is both writable and executable");
        break;
      case PT_GNU_STACK:
        has_stack = true;
        if (is_executable) refuse(object, "it wants an executable stack");
        break;
      case PT_DYNAMIC:
      case PT_GNU_EH_FRAME:
      case PT_GNU_RELRO:
      case PT_NOTE:
      case PT_GNU_PROPERTY:
      case PT_NULL:
        break;
      case PT_INTERP:
        refuse(object, "it names an interpreter");
      case PT_TLS:
        refuse(object, "it has thread-local variables");
      default:
        refuse(object, fmt::format("it has a segment of kind {:#x}", segment.kind));
    }
  }
  if (!has_stack) refuse(object, "it wants an executable stack, because it does not say otherwise");
}

bool overlaps(const ObjectFile::Segment& segment, std::uint64_t address) {
  return address + sizeof(std::uint64_t) > segment.address && address < segment.address + segment.memory_bytes;
}

void check_relocations(const ObjectFile& object) {
  const Kinds kinds = *kinds_of(object.machine());
  for (const auto& relocation : object.relocations()) {
    const auto& symbol = object.symbols()[relocation.symbol];
    if (relocation.kind != kinds.relative && relocation.kind != kinds.absolute && relocation.kind != kinds.data &&
        relocation.kind != kinds.call)
      refuse(object, fmt::format("it has a relocation of kind {}, as of a resolver or a thread-local variable", relocation.kind));
    if ((relocation.kind == kinds.relative) != (relocation.symbol == 0)) refuse(object, "it has a relocation without its symbol");
    if (relocation.kind == kinds.absolute && !symbol.is_defined)
      refuse(object, fmt::format("it stores the address of '{}', which is not its own", printable(symbol.name)));
    for (const auto& segment : object.segments()) {
      if (segment.kind == PT_DYNAMIC && overlaps(segment, relocation.address)) refuse(object, "a relocation changes its dynamic section");
      if (segment.kind == PT_LOAD && (segment.flags & PF_W) == 0 && overlaps(segment, relocation.address))
        refuse(object, "its code or constants are changed when it is loaded (text relocations)");
    }
  }
}

void check_symbols(const ObjectFile& object) {
  for (const auto& symbol : std::span(object.symbols()).subspan(1)) {
    const std::string name = printable(readable_name(symbol.name));
    if (symbol.kind == STT_GNU_IFUNC) refuse(object, fmt::format("'{}' is chosen by code that runs when it is loaded (an ifunc)", name));
    if (symbol.kind == STT_TLS) refuse(object, fmt::format("'{}' is a thread-local variable", name));
    if (symbol.is_absolute) refuse(object, fmt::format("'{}' is at a fixed address", name));
    if (!symbol.is_defined && !may_be_called(symbol.name))
      throw CompileError(fmt::format("{}: error: the kernel uses '{}', which is declared and not defined", object.name(), name));
  }
}

}  // namespace

void check_object(const ObjectFile& object) {
  check_segments(object);
  for (const auto& entry : object.dynamic()) {
    if (const auto what = what_loading_runs(entry.tag); !what.empty()) refuse(object, what);
    if (!is_plain_entry(object, entry))
      refuse(object, fmt::format("its dynamic section has an entry {:#x} of value {:#x}", entry.tag, entry.value));
  }
  check_symbols(object);
  check_relocations(object);
}

void check_object(const std::filesystem::path& path) { check_object(ObjectFile::read(path)); }

}  // namespace assay::metal::compile

// Reads the shared object of a kernel as data, and refuses one that is more than a kernel.
//
// The dynamic linker runs what an object asks for: initialisers, resolvers, functions of other libraries. A kernel needs none of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "metal/errors.h"

namespace assay::metal::compile {

// The file is no shared object that our linker writes.
class DamagedObject : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

// A shared object as the dynamic linker sees it: segments and the dynamic section, never section headers. Addresses are those of an object
// that is loaded at 0. Every offset of the file is checked, so that any bytes may be given.
class ObjectFile {
 public:
  // Throws DamagedObject. `name` is for messages.
  ObjectFile(std::vector<std::byte> bytes, std::string name);
  // Throws EnvironmentError if it is not a regular file or is larger than any kernel.
  [[nodiscard]] static ObjectFile read(const std::filesystem::path& path);

  struct Segment {
    std::uint32_t kind = 0;   // PT_...
    std::uint32_t flags = 0;  // PF_...
    std::uint64_t offset = 0, address = 0, file_bytes = 0, memory_bytes = 0, alignment = 0;
  };
  struct Symbol {
    std::string_view name;
    std::uint64_t address = 0, bytes = 0;
    unsigned kind = 0;  // STT_...
    bool is_defined = false;
    bool is_absolute = false;
  };
  struct Relocation {
    std::uint64_t address = 0;
    std::uint32_t kind = 0;    // R_...
    std::uint32_t symbol = 0;  // index into symbols()
    std::int64_t addend = 0;
  };
  struct Entry {
    std::int64_t tag = 0;  // DT_...
    std::uint64_t value = 0;
  };

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint16_t machine() const { return machine_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<Entry>& dynamic() const { return dynamic_; }
  [[nodiscard]] const std::vector<Symbol>& symbols() const { return symbols_; }  // the first one stands for none
  [[nodiscard]] const std::vector<Relocation>& relocations() const { return relocations_; }

  // The defined symbol of that name; nullptr if there is none.
  [[nodiscard]] const Symbol* find(std::string_view name) const;
  // The bytes of a defined symbol in the file; empty if there is none.
  [[nodiscard]] std::span<const std::byte> symbol(std::string_view name) const;

  // What memory holds once the object is loaded: zeros behind the file's part of a segment, and addresses where relocations enter them.
  // Each returns nothing if the memory does not belong to the object, or if a pointer in it leads out of the object.
  [[nodiscard]] bool copy(std::uint64_t address, std::span<std::byte> to) const;
  [[nodiscard]] std::optional<std::uint64_t> pointer_at(std::uint64_t address) const;  // 0: a null pointer
  [[nodiscard]] std::optional<std::uint32_t> read_u32(std::uint64_t address) const;
  // A text that ends with a zero, in the file.
  [[nodiscard]] std::optional<std::string_view> read_string(std::uint64_t address) const;
  // `count` values with their pointers, which are addresses as above.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::optional<std::vector<T>> array(std::uint64_t address, std::size_t count) const {
    if (count > bytes_.size() / sizeof(T)) return std::nullopt;
    std::vector<T> values(count);
    if (!copy(address, std::as_writable_bytes(std::span(values)))) return std::nullopt;
    return values;
  }

 private:
  // The part of the file that is loaded to [address, address + count); nothing if it is not whole in one segment's part of the file.
  [[nodiscard]] std::optional<std::span<const std::byte>> loaded(std::uint64_t address, std::uint64_t count) const;
  template <typename T>
  [[nodiscard]] std::vector<T> table(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  [[nodiscard]] std::optional<std::uint64_t> value(std::int64_t tag) const;
  [[noreturn]] void damaged(std::string_view what) const;
  void read_segments();
  void read_dynamic();
  void read_symbols();
  void read_relocations();

  std::string name_;
  std::vector<std::byte> bytes_;
  std::uint16_t machine_ = 0;
  std::vector<Segment> segments_;
  std::vector<Entry> dynamic_;
  std::vector<Symbol> symbols_;
  std::vector<Relocation> relocations_;
  // What relocations enter, by address; nothing: an address outside of the object.
  std::map<std::uint64_t, std::optional<std::uint64_t>> pointers_;
};

// Throws CompileError, which names what is refused, unless loading the object runs none of its code, needs no other library, calls nothing
// but the functions that we provide, and makes no memory both writable and executable.
void check_object(const ObjectFile& object);
// The same of a file. Throws EnvironmentError if it cannot be read, and DamagedObject if it is no shared object.
void check_object(const std::filesystem::path& path);

}  // namespace assay::metal::compile

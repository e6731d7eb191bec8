// Reads the DWARF line table of a compiled kernel.
#include "metal/execute/line_table.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "base/text.h"

namespace assay::metal::execute {

namespace {

// Reads beyond the end give 0.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return at_ >= bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at_ = std::min(at, bytes_.size()); }

  template <typename T>
  T fixed() {
    T value{};
    if (bytes_.size() - at_ >= sizeof value) std::memcpy(&value, bytes_.data() + at_, sizeof value);
    go_to(at_ + sizeof value);
    return value;
  }
  std::uint64_t leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !at_end(); shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) break;
    }
    return value;
  }
  std::int64_t signed_leb() {
    const std::size_t first = at_;
    std::uint64_t value = leb();
    const std::size_t bits = 7 * (at_ - first);
    if (at_ > first && bits < 64 && (static_cast<std::uint8_t>(bytes_[at_ - 1]) & 0x40U) != 0) value |= ~std::uint64_t{0} << bits;
    return static_cast<std::int64_t>(value);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::string_view section(std::string_view object, std::string_view wanted) {
  Elf64_Ehdr header;
  if (object.size() < sizeof header) return {};
  std::memcpy(&header, object.data(), sizeof header);
  const auto part = [&](std::uint64_t offset, std::uint64_t size) {
    return offset <= object.size() && size <= object.size() - offset ? object.substr(offset, size) : std::string_view();
  };
  const auto section_header = [&](std::size_t number) {
    Elf64_Shdr found{};
    const auto bytes = part(header.e_shoff + number * sizeof found, sizeof found);
    if (!bytes.empty()) std::memcpy(&found, bytes.data(), sizeof found);
    return found;
  };
  const auto names_header = section_header(header.e_shstrndx);
  const auto names = part(names_header.sh_offset, names_header.sh_size);
  for (std::size_t number = 0; number < header.e_shnum; ++number) {
    const auto found = section_header(number);
    if (found.sh_name >= names.size()) continue;
    const auto name = names.substr(found.sh_name);
    if (name.substr(0, name.find('\0')) == wanted) return part(found.sh_offset, found.sh_size);
  }
  return {};
}

// The registers of the state machine that executes a unit's program.
struct State {
  std::uint64_t offset = 0;
  std::int64_t line = 1;
};

// The fields of a unit's header that its program needs.
struct LineHeader {
  std::uint8_t step = 0;  // bytes per unit of an advance
  std::int8_t line_base = 0;
  std::uint8_t line_range = 0, opcode_base = 0;
  std::vector<std::uint8_t> operands;  // number of operands, by standard opcode
};

// Leaves the reader at the start of the program. Empty if the header cannot be used.
std::optional<LineHeader> read_header(Reader& reader) {
  const auto header_length = reader.fixed<std::uint32_t>();
  const std::size_t program = reader.at() + header_length;
  LineHeader header;
  header.step = reader.fixed<std::uint8_t>();
  static_cast<void>(reader.fixed<std::uint8_t>());  // operations per instruction, for other processors
  static_cast<void>(reader.fixed<std::uint8_t>());  // default value of is_stmt
  header.line_base = reader.fixed<std::int8_t>();
  header.line_range = reader.fixed<std::uint8_t>();
  header.opcode_base = reader.fixed<std::uint8_t>();
  if (header.line_range == 0 || header.opcode_base == 0) return std::nullopt;
  header.operands.resize(header.opcode_base);
  for (std::size_t opcode = 1; opcode < header.opcode_base; ++opcode) header.operands[opcode] = reader.fixed<std::uint8_t>();
  reader.go_to(program);
  return header;
}

// Executes the program of a unit.
template <typename Rows>
void read_rows(Reader& reader, const LineHeader& header, std::size_t end, Rows& rows) {
  State state;
  const auto add_row = [&] { rows.push_back({state.offset, state.line > 0 ? static_cast<std::uint32_t>(state.line) : 0}); };
  const auto special = [&](unsigned opcode) {
    return static_cast<std::uint64_t>((opcode - header.opcode_base) / header.line_range) * header.step;
  };
  while (reader.at() < end && !reader.at_end()) {
    const auto opcode = reader.fixed<std::uint8_t>();
    if (opcode >= header.opcode_base) {
      state.offset += special(opcode);
      state.line += header.line_base + (opcode - header.opcode_base) % header.line_range;
      add_row();
    } else if (opcode == 0) {  // extended: the length, then its own opcode
      const auto size = reader.leb();
      const std::size_t next = reader.at() + size;
      switch (reader.fixed<std::uint8_t>()) {
        case 1:  // end of a sequence
          rows.push_back({state.offset, 0});
          state = {};
          break;
        case 2:
          state.offset = reader.fixed<std::uint64_t>();
          break;
        default:
          break;
      }
      reader.go_to(next);
    } else if (opcode == 1) {
      add_row();
    } else if (opcode == 2) {
      state.offset += reader.leb() * header.step;
    } else if (opcode == 3) {
      state.line += reader.signed_leb();
    } else if (opcode == 8) {
      state.offset += special(255);
    } else if (opcode == 9) {
      state.offset += reader.fixed<std::uint16_t>();
    } else {
      for (unsigned operand = 0; operand < header.operands[opcode]; ++operand) reader.leb();
    }
  }
}

}  // namespace

LineTable::LineTable(const std::string& object) {
  const std::string text = base::read_file(object).value_or("");
  Reader reader(section(text, ".debug_line"));
  while (!reader.at_end()) {
    const auto length = reader.fixed<std::uint32_t>();
    const std::size_t end = reader.at() + length;
    const auto version = reader.fixed<std::uint16_t>();
    if (length == 0 || length >= 0xfffffff0U || version != 4) return;
    const auto header = read_header(reader);
    if (!header) return;
    read_rows(reader, *header, end, rows_);
    reader.go_to(end);
  }
  // Only one function has lines: the kernel.
  if (!std::ranges::is_sorted(rows_, {}, &Row::offset)) rows_.clear();
}

std::optional<std::uint32_t> LineTable::place(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(rows_, offset, {}, &Row::offset);
  if (behind == rows_.begin() || std::prev(behind)->place == 0) return std::nullopt;
  return std::prev(behind)->place;
}

}  // namespace assay::metal::execute

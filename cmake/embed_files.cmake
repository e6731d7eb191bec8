# A script that writes OUTPUT, a C++ source with the contents of FILES (separated by |), which assay::reports::embedded_file() returns.
# Bytes are written as numbers, because compilers limit the length of string literals.

set(arrays "")
set(rows "")
set(count 0)
string(REPLACE "|" ";" files "${FILES}")
foreach(file IN LISTS files)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  get_filename_component(name "${file}" NAME)
  string(APPEND arrays "constexpr unsigned char kFile${count}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", kFile${count}, sizeof(kFile${count}) - 1},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE "${OUTPUT}" "// Written by cmake/embed_files.cmake.
#include \"reports/embedded_file.h\"

#include <stdexcept>
#include <string>

namespace assay::reports {
namespace {

${arrays}
struct Row {
  std::string_view name;
  const unsigned char* bytes;
  std::size_t size;
};
constexpr Row kRows[] = {
${rows}};

}  // namespace

std::string_view embedded_file(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return {reinterpret_cast<const char*>(row.bytes), row.size};
  }
  throw std::out_of_range(\"no file '\" + std::string(name) + \"' was embedded\");
}

}  // namespace assay::reports
")

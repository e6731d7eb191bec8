# A script that writes OUTPUT, a C++ source with the contents of FILES (separated by |). NAMESPACE::embedded_file() of HEADER returns them by
# their paths below ROOT, or by their names where they lie elsewhere. Bytes are written as numbers, because compilers limit the length of
# string literals.

set(arrays "")
set(rows "")
set(count 0)
string(REPLACE "|" ";" files "${FILES}")
foreach(file IN LISTS files)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  cmake_path(IS_PREFIX ROOT "${file}" NORMALIZE is_below)
  if(is_below)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${ROOT}" OUTPUT_VARIABLE name)
  else()
    cmake_path(GET file FILENAME name)
  endif()
  string(APPEND arrays "constexpr unsigned char kFile${count}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", kFile${count}, sizeof(kFile${count}) - 1},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE "${OUTPUT}" "// Written by cmake/embed_files.cmake.
#include \"${HEADER}\"

#include <stdexcept>
#include <string>

namespace ${NAMESPACE} {
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

}  // namespace ${NAMESPACE}
")

# Functions for the kinds of targets of this repository. Sources are found by globbing, so that adding one needs no further change;
# CONFIGURE_DEPENDS makes the build repeat the search.

# Sets warnings and sanitizers of one of our targets. CONVERSION adds the conversion warnings, which are errors in the numerical folders.
function(assay_compile_options target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CONVERSION" "" "")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  if(arg_CONVERSION)
    target_compile_options(${target} PRIVATE -Wconversion -Wsign-conversion)
  endif()
  if(ASSAY_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(ASSAY_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${ASSAY_SANITIZE})
  endif()
  if(ASSAY_FUZZ)
    # Instrumented code calls functions that libFuzzer defines. Targets without its driver get them here.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Precompiles the headers that nearly every source includes, which take half of a compilation. Preset tidy does not precompile, so that
# .ci/tidy still finds sources with missing includes.
#
# assay_precompile(<target> [FROM <target>] [<header>...]): FROM names a target with the same headers and compiler options, whose precompiled
# ones this target uses. Otherwise it precompiles its own, with further headers.
set(assay_precompiled <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional> <span> <stdexcept> <string> <string_view>
  <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
function(assay_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "")
  if(arg_FROM)
    target_precompile_headers(${target} REUSE_FROM ${arg_FROM})
  else()
    target_precompile_headers(${target} PRIVATE ${assay_precompiled} ${arg_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# assay_unity(<target> [APART <regex>...]): compiles the sources of a target in a few units. With precompiled headers, most of the remaining time
# goes to templates (JSON, format strings, containers) and headers of ours, which the sources of a unit share. Sources that match APART are
# compiled alone, because they define the same names as others; so are sources with compiler options of their own. Preset tidy compiles all
# alone, and without precompiled headers.
# A library of 60 sources takes a third less processor time in one unit than in three, but then a single processor compiles it.
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
if(processors LESS 4)
  set(unit 72)
else()
  set(unit 24)
endif()
set(ASSAY_UNIT ${unit} CACHE STRING "How many sources are compiled as one unit: small numbers make small changes fast, large ones a full build")
function(assay_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "APART")
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR ASSAY_UNIT LESS 2)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(regex IN LISTS arg_APART)
    list(FILTER sources EXCLUDE REGEX "${regex}")
  endforeach()
  list(LENGTH sources count)
  if(count LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # As many units as are needed, of about the same number of sources.
  math(EXPR units "(${count} + ${ASSAY_UNIT} - 1) / ${ASSAY_UNIT}")
  set(index 0)
  foreach(source IN LISTS sources)
    math(EXPR unit "${index} * ${units} / ${count}")
    math(EXPR index "${index} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${unit}")
  endforeach()
endfunction()

# assay_glob(<variable> [FOLDER <folder>] [ONLY <regex>] [EXCLUDE <regex>...]): lists the *.cpp below a folder, relative to the caller's, whose
# path from there matches ONLY and not EXCLUDE.
function(assay_glob variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;ONLY" "EXCLUDE")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_FOLDER)
    string(APPEND folder "/${arg_FOLDER}")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(arg_ONLY)
    list(FILTER sources INCLUDE REGEX "^${folder}/${arg_ONLY}")
  endif()
  foreach(excluded IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "^${folder}/${excluded}")
  endforeach()
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()

# assay_embed(<name> <root> <file>...)
#
# Embeds files into a library of the calling folder, as assay::<folder>::embedded_file() of their paths below the root. They are objects of a
# target without dependencies: CMake would let the command, and with it all sources of the library, wait for the libraries that it links.
function(assay_embed name root)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  set(embedded "${CMAKE_CURRENT_BINARY_DIR}/embedded_file.cpp")
  list(JOIN ARGN "|" files)
  add_custom_command(OUTPUT "${embedded}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${embedded}" "-DHEADER=${folder}/embedded_file.h" "-DNAMESPACE=assay::${folder}"
            "-DROOT=${root}" "-DFILES=${files}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    DEPENDS ${ARGN} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
    COMMENT "Embedding files of ${folder}/" VERBATIM)
  add_library(${name}_embedded OBJECT "${embedded}")
  target_include_directories(${name}_embedded PRIVATE "${PROJECT_SOURCE_DIR}")
  assay_compile_options(${name}_embedded)
  target_sources(${name} PRIVATE "$<TARGET_OBJECTS:${name}_embedded>")
endfunction()

# assay_library(<name> [CONVERSION] [COLD] [ONLY <regex>] [EXCLUDE <regex>...] [PUBLIC <target>...] [PRIVATE <target>...] [APART <regex>...]
#               [PRECOMPILE <header>...])
#
# The static library of the calling folder, or of the sources of it that match ONLY. COLD: no run spends time in it, so that inlining little
# is better: the build takes a quarter less. PUBLIC: folders and packages that its headers may use; PRIVATE: those that only its sources use;
# APART: see assay_unity(). PRECOMPILE: headers that most of its sources include, beyond those that all libraries precompile. A folder that
# contains only headers becomes an INTERFACE library of the same name.
function(assay_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CONVERSION;COLD" "ONLY" "EXCLUDE;PUBLIC;PRIVATE;APART;PRECOMPILE")
  assay_glob(sources ONLY "${arg_ONLY}" EXCLUDE ${arg_EXCLUDE})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" $<INSTALL_INTERFACE:include/assay>)
    target_link_libraries(${name} INTERFACE fmt::fmt ${arg_PUBLIC})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" $<INSTALL_INTERFACE:include/assay>)
  target_link_libraries(${name} PUBLIC fmt::fmt ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(arg_CONVERSION)
    assay_compile_options(${name} CONVERSION)
  else()
    assay_compile_options(${name})
  endif()
  if(arg_COLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-mllvm -inline-threshold=25")
  endif()
  if(arg_PRECOMPILE)
    assay_precompile(${name} ${arg_PRECOMPILE})
  elseif(TARGET assay_base AND NOT name STREQUAL assay_base)
    assay_precompile(${name} FROM assay_base)
  else()
    assay_precompile(${name})
  endif()
  assay_unity(${name} APART ${arg_APART})
endfunction()

# The three kinds of target of this repository. Sources are found by globbing, so that adding one touches one place;
# CONFIGURE_DEPENDS makes the build look again by itself.

# Language level, warnings and sanitizers of one of our targets.
# CONVERSION adds the conversion warnings that the numerical folders are held to.
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
    # What the instrumentation calls comes from libFuzzer where a target has its driver, and from here anywhere else.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Headers that nearly every source includes take half of a compilation. Preset tidy does without, so that .ci/tidy still finds the source
# that forgot to name one.
function(assay_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional> <span> <stdexcept>
    <string> <string_view> <variant> <vector> <fmt/format.h> <fmt/ranges.h> ${ARGN})
endfunction()

# assay_unity(<target> [APART <regex>...]): what precompiled headers leave is mostly templates that each source instantiates anew: JSON, format
# strings, containers. Several sources in one unit share them, and cost two thirds. Sources that match stay apart: twins, that say the same of
# another family in the same words. Preset tidy keeps all apart, as it does without precompiled headers.
function(assay_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "APART")
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  get_target_property(sources ${target} SOURCES)
  foreach(regex IN LISTS arg_APART)
    set(twins ${sources})
    list(FILTER twins INCLUDE REGEX "${regex}")
    set_source_files_properties(${twins} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# assay_glob(<variable> [FOLDER <folder>] [EXCLUDE <regex>...]): the *.cpp below a folder, relative to the caller's, but for those whose path
# from there matches.
function(assay_glob variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "EXCLUDE")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_FOLDER)
    string(APPEND folder "/${arg_FOLDER}")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  foreach(excluded IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "^${folder}/${excluded}")
  endforeach()
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()

# assay_library(<name> [CONVERSION] [EXCLUDE <regex>...] [PUBLIC <target>...] [PRIVATE <target>...] [APART <regex>...])
#
# The static library of the calling folder. PUBLIC are the rooms and packages that its headers may show, PRIVATE those
# that only its sources use; APART: see assay_unity(). A folder that has headers only becomes an INTERFACE library of the same name.
function(assay_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CONVERSION" "" "EXCLUDE;PUBLIC;PRIVATE;APART")
  assay_glob(sources EXCLUDE ${arg_EXCLUDE})
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
  assay_precompile(${name})
  assay_unity(${name} APART ${arg_APART})
endfunction()

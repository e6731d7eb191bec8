# assay_add_gate(NAME <name> VARIANTS <directory>... [SUITE <suite>] [SHARDS <n>] [JOBS <n>] [TIMEOUT <seconds>] [LABELS <label>...]
#                [ARGUMENTS <argument>...] [EXECUTABLE <path>])
#
# Registers a suite of assay as CTest tests: one per variant and shard, named <name>.<variant> or <name>.<variant>.<i>of<n>.
#
#   VARIANTS    directories of variants (or of one): each folder with a variant.toml is a variant. ctest searches them when it runs,
#               so variants that were added after CMake ran are tested too. A directory without variants fails.
#   SUITE       smoke, gate (the default; for a superseded variant it means smoke) or full, as listed by `assay list`
#   SHARDS      number of parts into which a variant's cases are split, so that ctest --parallel can distribute them; default 1
#   JOBS        cases at a time within one test, and the processors that it counts for in ctest --parallel; default 1
#   TIMEOUT     seconds per test; default 600
#   LABELS      labels besides `assay`
#   ARGUMENTS   further arguments for `assay run`
#   EXECUTABLE  the assay command; default: the target of this build, or the one that find_package(assay) found
#
# The output of a failing test ends with the command that repeats its first failing case. If a variant has no function for any of the
# selected cases, its test is skipped.

set(_assay_gate_script "${CMAKE_CURRENT_LIST_DIR}/assay_gate_tests.cmake")

function(assay_add_gate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SUITE;SHARDS;JOBS;TIMEOUT;EXECUTABLE" "VARIANTS;LABELS;ARGUMENTS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "assay_add_gate: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(required IN ITEMS NAME VARIANTS)
    if(NOT arg_${required})
      message(FATAL_ERROR "assay_add_gate: ${required} is missing")
    endif()
  endforeach()
  foreach(default IN ITEMS SUITE=gate SHARDS=1 JOBS=1 TIMEOUT=600)
    string(REPLACE "=" ";" pair "${default}")
    list(GET pair 0 option)
    if(NOT DEFINED arg_${option})
      list(GET pair 1 arg_${option})
    endif()
  endforeach()
  foreach(number IN ITEMS SHARDS JOBS TIMEOUT)
    if(NOT arg_${number} MATCHES "^[1-9][0-9]*$")
      message(FATAL_ERROR "assay_add_gate: ${number} is '${arg_${number}}', but must be a number from 1 on")
    endif()
  endforeach()
  if(NOT arg_EXECUTABLE)
    if(TARGET assay_cli)
      set(arg_EXECUTABLE "$<TARGET_FILE:assay_cli>")
    elseif(TARGET assay::assay)
      set(arg_EXECUTABLE "$<TARGET_FILE:assay::assay>")
    else()
      message(FATAL_ERROR "assay_add_gate: there is no target of the assay command here; name it with EXECUTABLE")
    endif()
  endif()
  set(directories "")
  foreach(directory IN LISTS arg_VARIANTS)
    cmake_path(ABSOLUTE_PATH directory BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND directories "${directory}")
  endforeach()

  set(gate "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_gate.cmake")
  file(GENERATE OUTPUT "${gate}" CONTENT "set(gate_name [==[${arg_NAME}]==])
set(gate_executable [==[${arg_EXECUTABLE}]==])
set(gate_directories [==[${directories}]==])
set(gate_suite [==[${arg_SUITE}]==])
set(gate_shards ${arg_SHARDS})
set(gate_jobs ${arg_JOBS})
set(gate_timeout ${arg_TIMEOUT})
set(gate_labels [==[assay;${arg_LABELS}]==])
set(gate_arguments [==[${arg_ARGUMENTS}]==])
include([==[${_assay_gate_script}]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${gate}")
endfunction()

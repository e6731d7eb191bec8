# Run as a script: installs the build in BUILD, moves the prefix, and builds and tests a copy of tests/consumer (SOURCE) against it, all below
# WORK. The moved prefix must be enough: nothing may lead back to where it was installed first. Then the copy's kernel is broken, and its tests
# must notice.

cmake_minimum_required(VERSION 3.25)
set(first "${WORK}/installed")
set(prefix "${WORK}/moved")
file(REMOVE_RECURSE "${WORK}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status COMMAND_ECHO STDOUT)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "ended with ${status}: ${ARGN}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${first}")
file(RENAME "${first}" "${prefix}")
set(ENV{HOME} "${WORK}/home")
set(ENV{XDG_CACHE_HOME} "${WORK}/home/cache")
foreach(variable IN ITEMS ASSAY_PREFIX ASSAY_VARIANTS ASSAY_CORPUS)
  unset(ENV{${variable}})
endforeach()

# Every document of the package leads to what is in the package; and a link that does not is found.
include("${CMAKE_CURRENT_LIST_DIR}/installed_links.cmake")
find_dead_links("${prefix}" dead)
if(dead)
  list(JOIN dead "\n" dead)
  message(FATAL_ERROR "links of installed documents lead nowhere:\n${dead}")
endif()
file(WRITE "${WORK}/planted/here.md" "[code](here.md#x) [dead](gone.md)\n```\n[=](int x)\n```\n[web](https://example.org) [too](./gone.md)\n")
find_dead_links("${WORK}/planted" dead)
if(NOT dead STREQUAL "${WORK}/planted/here.md: gone.md;${WORK}/planted/here.md: ./gone.md")
  message(FATAL_ERROR "dead links were planted, and found were: ${dead}")
endif()
foreach(document IN ITEMS CONTRIBUTING.md docs/VARIANT.md)
  if(NOT EXISTS "${prefix}/share/doc/assay/${document}")
    message(FATAL_ERROR "${document} is not in the package")
  endif()
endforeach()

file(COPY "${SOURCE}/" DESTINATION "${WORK}/source")

run("${prefix}/bin/assay" doctor)
run("${CMAKE_COMMAND}" -G Ninja -S "${WORK}/source" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
# The programs that only link the libraries are given the prefix; the command finds it by itself.
set(ENV{ASSAY_PREFIX} "${prefix}")
set(ctest "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --output-on-failure --no-tests=error)
run(${ctest})

set(kernel "${WORK}/source/kernels/hadamard_threadgroup/kernel.metal")
file(READ "${kernel}" text)
string(REPLACE "shared[i + stride] = a - b;" "shared[i + stride] = b - a;" broken "${text}")
if(broken STREQUAL text)
  message(FATAL_ERROR "the kernel has no line to break any more")
endif()
file(WRITE "${kernel}" "${broken}")
execute_process(COMMAND ${ctest} OUTPUT_VARIABLE output RESULT_VARIABLE status)
foreach(expected IN ITEMS "rotation.hadamard_threadgroup.1of2 (Failed)" "Hadamard.TransformsAUnitVectorOnTheSimulator (Failed)"
    "trace.check (Failed)" "replay: assay run hadamard_threadgroup/")
  string(FIND "${output}" "${expected}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "with a broken kernel ctest ended with ${status}, and did not say '${expected}':\n${output}")
  endif()
endforeach()

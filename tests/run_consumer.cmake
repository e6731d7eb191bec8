# Run as a script: installs the build in BUILD, moves the prefix, and builds and tests a copy of tests/consumer (SOURCE) against it, all below
# WORK. The moved prefix must be enough: nothing may lead back to where it was installed first, or to the source tree ROOT, which is hidden
# for a while. Then the copy's kernel is broken, and its tests must notice.

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
# Debug information has the paths of sources.
if(BUILD_TYPE STREQUAL "Release")
  execute_process(COMMAND grep -rlF "${ROOT}" "${first}" OUTPUT_VARIABLE naming)
  if(naming)
    message(FATAL_ERROR "installed files name the source tree ${ROOT}:\n${naming}")
  endif()
endif()
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
foreach(document IN ITEMS CONTRIBUTING.md docs/VARIANT.md metal/LANGUAGE.md oracles/PROFILES.md)
  if(NOT EXISTS "${prefix}/share/doc/assay/${document}")
    message(FATAL_ERROR "${document} is not in the package")
  endif()
endforeach()

foreach(file IN ITEMS man/man1/assay.1 man/man1/assay-run.1 bash-completion/completions/assay zsh/site-functions/_assay
    fish/vendor_completions.d/assay.fish)
  file(SIZE "${prefix}/share/${file}" size)
  if(size EQUAL 0)
    message(FATAL_ERROR "share/${file} is empty")
  endif()
endforeach()

# Beside the project are the examples that it uses, as in the package.
set(source "${WORK}/source/tests/consumer")
set(example "${WORK}/source/docs/examples/any_kernel")
file(COPY "${SOURCE}/" DESTINATION "${source}")
file(COPY "${prefix}/share/doc/assay/docs/examples/any_kernel/" DESTINATION "${example}")

run("${prefix}/bin/assay" doctor)
run("${CMAKE_COMMAND}" -G Ninja -S "${source}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
set(ctest "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --output-on-failure --no-tests=error)
run(${ctest})

# The same commands with an empty folder in the place of the source tree, and with an empty cache of compiled kernels.
execute_process(COMMAND unshare -rm true RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  execute_process(COMMAND mktemp -d OUTPUT_VARIABLE aside OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${WORK}/hidden.sh" "set -e
mount --bind '${WORK}' '${aside}'
mount -t tmpfs none '${ROOT}'
mkdir -p '${WORK}'
mount --bind '${aside}' '${WORK}'
test ! -e '${ROOT}/CMakeLists.txt'
cd '${WORK}'
export XDG_CACHE_HOME='${WORK}/home/hidden_cache'
'${prefix}/bin/assay' run 'fwht_v1/*/h5-fwht_tiny/*' --ledger none
'${WORK}/build/assay' list
'${WORK}/build/assay' gate --ledger none
'${WORK}/build/assay' explain prefix_sum_v1/rows2/n257/gauss/s1
")
  run(unshare -rm sh "${WORK}/hidden.sh")
  file(REMOVE_RECURSE "${aside}")
else()
  message(STATUS "no namespaces here: the source tree was not hidden")
endif()

# break_kernel(<file> <right> <wrong>)
function(break_kernel file right wrong)
  file(READ "${file}" text)
  string(REPLACE "${right}" "${wrong}" broken "${text}")
  if(broken STREQUAL text)
    message(FATAL_ERROR "${file} has no line to break any more")
  endif()
  file(WRITE "${file}" "${broken}")
endfunction()
break_kernel("${source}/kernels/hadamard_threadgroup/kernel.metal" "shared[i + stride] = a - b;" "shared[i + stride] = b - a;")
break_kernel("${example}/softmax.metal" "sum = simd_sum(sum);" "")
execute_process(COMMAND ${ctest} OUTPUT_VARIABLE output RESULT_VARIABLE status)
foreach(expected IN ITEMS "rotation.hadamard_threadgroup.1of2 (Failed)" "Hadamard.TransformsAUnitVectorOnTheSimulator (Failed)"
    "trace.check (Failed)" "softmax (Failed)" "FAILED 1x33 normal" "replay: assay run hadamard_threadgroup/")
  string(FIND "${output}" "${expected}" place)
  if(status EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "with a broken kernel ctest ended with ${status}, and did not say '${expected}':\n${output}")
  endif()
endforeach()

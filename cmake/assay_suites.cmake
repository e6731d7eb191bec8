# ctest reads this file when it starts. Registers the suites of one GoogleTest executable, each as one test of ctest, <folder>.<suite>.
# One process per suite, because one per case would compile the same kernels and generate the same inputs again. The suites_...
# variables:
#
#   folder, executable, timeout   what to run, and the longest time in seconds
#   fast                          seconds: the cheapest suites of the folder whose sum does not exceed this get the label `fast`, all others `slow`
#   record                        files with `<test> <seconds>` per line; the last line that names a suite gives its cost, which is otherwise 0
#   heavy                         a regular expression; suites whose <folder>.<suite> matches get the label `heavy` instead
#   properties                    further properties of the tests

execute_process(COMMAND "${suites_executable}" --gtest_list_tests OUTPUT_VARIABLE suites_listed RESULT_VARIABLE suites_status ERROR_QUIET)
if(NOT suites_status EQUAL 0)
  # Running it as a test fails, and shows the reason.
  add_test("${suites_folder}.not_built" "${suites_executable}" --gtest_list_tests)
  set_tests_properties("${suites_folder}.not_built" PROPERTIES LABELS "${suites_folder};fast")
  return()
endif()

unset(suites_costs)
foreach(record IN LISTS suites_record)
  if(EXISTS "${record}")
    file(STRINGS "${record}" lines REGEX "^${suites_folder}\\.[^ ]+ ")
    foreach(line IN LISTS lines)
      # ctest's own file has the number of runs between name and seconds.
      if(line MATCHES "^([^ ]+) ([0-9]+ )?([0-9]+)(\\.([0-9]))?")
        set("suites_cost_${CMAKE_MATCH_1}" "${CMAKE_MATCH_3}${CMAKE_MATCH_5}")
        if(CMAKE_MATCH_5 STREQUAL "")
          string(APPEND "suites_cost_${CMAKE_MATCH_1}" "0")
        endif()
      endif()
    endforeach()
  endif()
endforeach()

# The text after `#` is a test's parameter, which may contain anything. A suite whose first test is
# disabled is left out, because another test runs it.
string(REGEX REPLACE "#[^\n]*" "" suites_listed "\n${suites_listed}")
string(REPLACE "\n  DISABLED_" "\n  -" suites_listed "${suites_listed}")
string(REGEX MATCHALL "\n[^ \n;]+\\. *\n  [^-]" suites_found "${suites_listed}")
set(suites_sorted "")
foreach(found IN LISTS suites_found)
  string(REGEX REPLACE "^\n([^ \n]+)\\. *\n.*" "\\1" suite "${found}")
  set(cost 0)
  if(DEFINED "suites_cost_${suites_folder}.${suite}")
    set(cost "${suites_cost_${suites_folder}.${suite}}")
  endif()
  list(APPEND suites_sorted "${cost} ${suite}")
endforeach()
list(SORT suites_sorted COMPARE NATURAL)

math(EXPR suites_left "${suites_fast} * 10")
foreach(entry IN LISTS suites_sorted)
  string(REPLACE " " ";" entry "${entry}")
  list(POP_FRONT entry cost suite)
  math(EXPR suites_left "${suites_left} - ${cost}")
  set(speed fast)
  if(suites_fast EQUAL 0 OR suites_left LESS 0)
    set(speed slow)
  endif()
  set(test "${suites_folder}.${suite}")
  if(NOT suites_heavy STREQUAL "" AND test MATCHES "${suites_heavy}")
    set(speed heavy)
  endif()
  add_test("${test}" "${suites_executable}" "--gtest_filter=${suite}.*" --gtest_brief=1)
  # ctest starts the most expensive tests first.
  set_tests_properties("${test}" PROPERTIES LABELS "${suites_folder};${speed}" TIMEOUT ${suites_timeout} COST ${cost} ${suites_properties})
endforeach()

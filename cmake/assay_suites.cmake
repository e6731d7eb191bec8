# Read by ctest when it starts: registers the suites of one executable of GoogleTest, each as one test of ctest, <folder>.<suite>. Processes
# that each run one case of a suite would compile the same kernels and make the same inputs again. The suites_... variables say:
#
#   folder, executable, timeout   what is run, and for how long at most
#   fast                          seconds: the cheapest suites of the folder that take no longer together are labelled `fast`, all others `slow`
#   record                        files with `<test> <seconds>` per line: a suite has the cost of the last one that names it, or 0
#   properties                    further properties

execute_process(COMMAND "${suites_executable}" --gtest_list_tests OUTPUT_VARIABLE suites_listed RESULT_VARIABLE suites_status ERROR_QUIET)
if(NOT suites_status EQUAL 0)
  # As a test it fails, and shows why.
  add_test("${suites_folder}.not_built" "${suites_executable}" --gtest_list_tests)
  set_tests_properties("${suites_folder}.not_built" PROPERTIES LABELS "${suites_folder};fast")
  return()
endif()

unset(suites_costs)
foreach(record IN LISTS suites_record)
  if(EXISTS "${record}")
    file(STRINGS "${record}" lines REGEX "^${suites_folder}\\.[^ ]+ ")
    foreach(line IN LISTS lines)
      # ctest's own file has the number of runs between them.
      if(line MATCHES "^([^ ]+) ([0-9]+ )?([0-9]+)(\\.([0-9]))?")
        set("suites_cost_${CMAKE_MATCH_1}" "${CMAKE_MATCH_3}${CMAKE_MATCH_5}")
        if(CMAKE_MATCH_5 STREQUAL "")
          string(APPEND "suites_cost_${CMAKE_MATCH_1}" "0")
        endif()
      endif()
    endforeach()
  endif()
endforeach()

# Parameters of tests stand behind `#`, and may hold anything. A suite whose first test is disabled is run by another.
string(REGEX REPLACE "#[^\n]*" "" suites_listed "\n${suites_listed}")
string(REGEX MATCHALL "\n[^ \n;]+\\. *\n  [^D]" suites_found "${suites_listed}")
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
  add_test("${test}" "${suites_executable}" "--gtest_filter=${suite}.*" --gtest_brief=1)
  # ctest starts with what costs most.
  set_tests_properties("${test}" PROPERTIES LABELS "${suites_folder};${speed}" TIMEOUT ${suites_timeout} COST ${cost} ${suites_properties})
endforeach()

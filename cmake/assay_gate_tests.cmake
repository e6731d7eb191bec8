# ctest reads this file when it starts. Registers the tests of one assay_add_gate(), whose arguments are in the gate_... variables.

set(gate_variants "")
foreach(directory IN LISTS gate_directories)
  file(GLOB descriptions "${directory}/variant.toml" "${directory}/*/variant.toml")
  foreach(description IN LISTS descriptions)
    get_filename_component(variant "${description}" DIRECTORY)
    list(APPEND gate_variants "${variant}")
  endforeach()
  if(NOT descriptions)
    # Running the command as a test reports the error, and fails.
    add_test("${gate_name}.no_variants" "${gate_executable}" run "${gate_suite}" --variants "${directory}")
    set_tests_properties("${gate_name}.no_variants" PROPERTIES LABELS "${gate_labels}" TIMEOUT ${gate_timeout})
  endif()
endforeach()

foreach(variant IN LISTS gate_variants)
  get_filename_component(variant_name "${variant}" NAME)
  foreach(shard RANGE 1 ${gate_shards})
    set(test "${gate_name}.${variant_name}")
    if(gate_shards GREATER 1)
      string(APPEND test ".${shard}of${gate_shards}")
    endif()
    add_test("${test}" "${gate_executable}" run "${gate_suite}" --kernel "${variant}" --shard "${shard}/${gate_shards}"
      --jobs "${gate_jobs}" ${gate_arguments})
    # 4: every selected case was skipped.
    set_tests_properties("${test}" PROPERTIES LABELS "${gate_labels}" TIMEOUT ${gate_timeout} PROCESSORS ${gate_jobs}
      SKIP_RETURN_CODE 4)
  endforeach()
endforeach()

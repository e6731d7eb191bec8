# What `cmake --install` installs below a prefix. The whole prefix may be moved later. The components are the Debian packages of
# assay_packages.cmake: libassay-dev has the libraries, headers and CMake files, assay everything else.
#
#   bin/assay            the command
#   lib/assay            the compiler's plugin, loaded when a kernel is compiled
#   share/assay          headers that kernels see, our variants, the corpus of fixtures, scripts for clusters
#   lib/<arch>           a static library per folder: assay::base, math, metal, kernels, oracles, fixtures, families, harness, reports,
#                        and assay::command, from which a program with families of its own is made (docs/FAMILIES.md)
#   lib/<arch>/cmake     find_package(assay): these libraries, assay::assay (the command), assay::eigen, assay_add_gate()
#   share/doc/assay      documents to which --help and messages refer: README, docs with the report's schema, pages of metal and
#                        oracles, the project tests/consumer; their links are changed to installed files (install_documents.cmake)
#   share/man/man1       a manual page per command; share/bash-completion, share/zsh, share/fish: completion for shells
#   include/assay        headers of the libraries, with the same include paths as here: "metal/devices/encoder.h"

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/assay")
set(libraries base math metal kernels oracles fixtures families harness_core harness reports_core reports command_core command)
set(packages sodium seccomp mpfr hdf5 eigen)
set_target_properties(assay_cli PROPERTIES EXPORT_NAME assay)
foreach(name IN LISTS libraries packages)
  set_target_properties(assay_${name} PROPERTIES EXPORT_NAME ${name})
endforeach()
list(TRANSFORM libraries PREPEND assay_)
list(TRANSFORM packages PREPEND assay_)
install(TARGETS assay_cli ${libraries} ${packages} EXPORT assay_targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT assay
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libassay-dev)
install(EXPORT assay_targets NAMESPACE assay:: DESTINATION "${package_dir}" COMPONENT libassay-dev)

# base/run_time_file.h searches these four paths.
install(TARGETS assay_lockstep LIBRARY DESTINATION lib/assay COMPONENT assay)
install(DIRECTORY metal/shader/ DESTINATION share/assay/shader COMPONENT assay PATTERN "*.py" EXCLUDE)
install(DIRECTORY kernels/variants/ DESTINATION share/assay/variants COMPONENT assay)
install(DIRECTORY fixtures/corpus/ DESTINATION share/assay/corpus COMPONENT assay FILES_MATCHING PATTERN "*.h5")
install(DIRECTORY tools/cluster DESTINATION share/assay COMPONENT assay USE_SOURCE_PERMISSIONS)

install(FILES README.md CHANGELOG.md CONTRIBUTING.md DESTINATION share/doc/assay COMPONENT assay)
install(DIRECTORY docs DESTINATION share/doc/assay COMPONENT assay)
install(DIRECTORY families DESTINATION share/doc/assay COMPONENT assay FILES_MATCHING PATTERN "*.md")
foreach(folder IN ITEMS metal oracles)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.md")
  install(FILES ${pages} DESTINATION share/doc/assay/${folder} COMPONENT assay)
endforeach()
# The complete example of docs/FAMILIES.md.
install(DIRECTORY tests/consumer DESTINATION share/doc/assay/tests COMPONENT assay)

# Two headers show HDF5, which stays inside.
install(DIRECTORY base math metal kernels oracles fixtures families harness reports DESTINATION include/assay COMPONENT libassay-dev FILES_MATCHING PATTERN "*.h"
  PATTERN shader EXCLUDE PATTERN pass EXCLUDE PATTERN variants EXCLUDE PATTERN hdf5_handle.h EXCLUDE PATTERN hdf5_reader.h EXCLUDE)
install(FILES cli/program.h DESTINATION include/assay/cli COMPONENT libassay-dev)

# The command writes its manual pages and the scripts of shells itself. A program for another machine cannot run here.
if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "set(PREFIX \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
set(ASSAY \"\${PREFIX}/${CMAKE_INSTALL_BINDIR}/assay\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install_manual.cmake\")")
endif()

# Last, after everything to which a link may lead has been installed.
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(PREFIX \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
set(DOCUMENTS \"\${PREFIX}/share/doc/assay\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install_documents.cmake\")" COMPONENT assay)

configure_package_config_file(cmake/assay-config.cmake.in "${PROJECT_BINARY_DIR}/assay-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/assay-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/assay-config.cmake" "${PROJECT_BINARY_DIR}/assay-config-version.cmake"
  cmake/assay_add_gate.cmake cmake/assay_gate_tests.cmake DESTINATION "${package_dir}" COMPONENT libassay-dev)

# What `cmake --install` installs below a prefix. The whole prefix may be moved later.
#
#   bin/assay            the command
#   lib/assay            the compiler's plugin, loaded when a kernel is compiled
#   share/assay          headers that kernels see, our variants, the corpus of fixtures
#   lib/<arch>           libassay_metal.a, libassay_kernels.a, libassay_math.a, libassay_base.a: the encoder interface, the simulator,
#                        variants and their binding, and the libraries that these need
#   lib/<arch>/cmake     find_package(assay): assay::assay (the command), assay::metal, assay::kernels, assay_add_gate()
#   share/doc/assay      documents to which --help and messages refer: README, docs with the report's schema, READMEs of metal and
#                        oracles; their links are changed to installed files (install_documents.cmake)
#   include/assay        headers of the libraries, with the same include paths as here: "metal/devices/encoder.h"

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/assay")
set_target_properties(assay_cli PROPERTIES EXPORT_NAME assay)
set_target_properties(assay_sodium PROPERTIES EXPORT_NAME sodium)
set_target_properties(assay_base PROPERTIES EXPORT_NAME base)
set_target_properties(assay_math PROPERTIES EXPORT_NAME math)
set_target_properties(assay_mpfr PROPERTIES EXPORT_NAME mpfr)
set_target_properties(assay_metal PROPERTIES EXPORT_NAME metal)
set_target_properties(assay_kernels PROPERTIES EXPORT_NAME kernels)

install(TARGETS assay_cli assay_sodium assay_base assay_mpfr assay_math assay_metal assay_kernels EXPORT assay_targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT assay_targets NAMESPACE assay:: DESTINATION "${package_dir}")

# metal/run_time_file.h searches these four paths.
install(TARGETS assay_lockstep LIBRARY DESTINATION lib/assay)
install(DIRECTORY metal/shader/ DESTINATION share/assay/shader PATTERN "*.py" EXCLUDE)
install(DIRECTORY kernels/variants/ DESTINATION share/assay/variants)
install(DIRECTORY fixtures/corpus/ DESTINATION share/assay/corpus FILES_MATCHING PATTERN "*.h5")

install(FILES README.md CHANGELOG.md CONTRIBUTING.md DESTINATION share/doc/assay)
install(DIRECTORY docs DESTINATION share/doc/assay)
install(DIRECTORY families DESTINATION share/doc/assay FILES_MATCHING PATTERN "*.md")
install(FILES metal/README.md DESTINATION share/doc/assay/metal)
install(FILES oracles/README.md DESTINATION share/doc/assay/oracles)

install(DIRECTORY base metal kernels DESTINATION include/assay FILES_MATCHING PATTERN "*.h"
  PATTERN shader EXCLUDE PATTERN pass EXCLUDE PATTERN variants EXCLUDE)

# Last, after everything to which a link may lead has been installed.
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(PREFIX \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
set(DOCUMENTS \"\${PREFIX}/share/doc/assay\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install_documents.cmake\")")

configure_package_config_file(cmake/assay-config.cmake.in "${PROJECT_BINARY_DIR}/assay-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/assay-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/assay-config.cmake" "${PROJECT_BINARY_DIR}/assay-config-version.cmake"
  cmake/assay_add_gate.cmake cmake/assay_gate_tests.cmake DESTINATION "${package_dir}")

# The Debian packages that `cpack` makes of the components of assay_install.cmake; .ci/packages builds and tries them. The same sources
# give the same bytes: SOURCE_DATE_EPOCH is the time of every file, and paths of this machine are not in them (preset `package`).

# To be chosen by the owner.
set(ASSAY_MAINTAINER "The maintainers of assay <assay@example.org>" CACHE STRING "Maintainer of the packages: name and address")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
# Otherwise the description of the project would precede those of the packages.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_CONTACT "${ASSAY_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL assay libassay-dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_ASSAY_PACKAGE_NAME assay)
set(CPACK_DEBIAN_ASSAY_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_ASSAY_DESCRIPTION "numerical validation of Metal compute kernels without a GPU
assay executes the Metal kernels of attention and related operations on a
simulator, compares every element of their output with an exact result and a
derived bound, and reports hazards such as races. It finds the cause of
failures, keeps a ledger of runs, and serves as a gate in CI.")
set(CPACK_DEBIAN_ASSAY_PACKAGE_SHLIBDEPS ON)
# The plugin belongs to this clang, which compiles every kernel; ld makes shared objects of them.
set(CPACK_DEBIAN_ASSAY_PACKAGE_DEPENDS "clang-19 (>= 1:19.1), clang-19 (<< 1:19.2~), binutils")
# References of family custom may be Python scripts.
set(CPACK_DEBIAN_ASSAY_PACKAGE_SUGGESTS "libassay-dev, python3-numpy, python3-h5py")

set(CPACK_DEBIAN_LIBASSAY-DEV_PACKAGE_NAME libassay-dev)
set(CPACK_DEBIAN_LIBASSAY-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBASSAY-DEV_DESCRIPTION "libraries of assay, to validate kernels of your own families
Static libraries, headers and CMake files for programs that add families of
kernels to assay, or call its simulator, oracles and judge from tests. The
page docs/FAMILIES.md of the package assay explains them.")
# What assay-config.cmake and the libraries link; `assay` has the files that they need at run time.
string(CONCAT developed_with "assay (= ${PROJECT_VERSION}), libeigen3-dev, libfmt-dev, libgmp-dev, libhdf5-dev, libmpfr-dev, libpugixml-dev, "
  "libseccomp-dev, libsodium-dev, libsqlite3-dev, libtomlplusplus-dev")
set(CPACK_DEBIAN_LIBASSAY-DEV_PACKAGE_DEPENDS "${developed_with}")
set(CPACK_DEBIAN_LIBASSAY-DEV_PACKAGE_SUGGESTS "cmake")

# Both have what Debian demands of every package. NOTICE has licences and copyrights.
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changes "${PROJECT_BINARY_DIR}/packages/changelog")
foreach(package IN LISTS CPACK_COMPONENTS_ALL)
  file(WRITE "${changes}.${package}" "assay (${PROJECT_VERSION}) unstable; urgency=medium

  * CHANGELOG.md of the package assay lists the changes.

 -- ${ASSAY_MAINTAINER}  ${today}
")
  execute_process(COMMAND gzip -9nf "${changes}.${package}" COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${changes}.${package}.gz" DESTINATION share/doc/${package} RENAME changelog.gz COMPONENT ${package})
  install(FILES NOTICE DESTINATION share/doc/${package} RENAME copyright COMPONENT ${package})
endforeach()

include(CPack)

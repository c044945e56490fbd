# cpack: an archive, and a package for Debian with the LLVM that this build used.
# LLVM_ENABLE_SPHINX and LLVM_BUILD_DOCS add the manuals.
set(CPACK_PACKAGE_NAME mneme)
set(CPACK_PACKAGE_VENDOR "The Mneme authors")
set(CPACK_PACKAGE_CONTACT "The Mneme authors <mneme@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "record GPU kernels, replay them under any LLVM pipeline")
set(CPACK_PACKAGE_DESCRIPTION
  "Mneme records a GPU kernel as it ran in a real application and replays it in
isolation under any LLVM pipeline, verified and measured, on an NVIDIA GPU or on
a machine without one. It tunes and bisects pipelines on recorded kernels.")
set(CPACK_RESOURCE_FILE_LICENSE ${MNEME_SOURCE_DIR}/LICENSE.TXT)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

# One package of all components, but nothing of the tests' libraries.
set(CPACK_COMPONENTS_ALL mneme)
if(LLVM_ENABLE_SPHINX AND LLVM_BUILD_DOCS)
  list(APPEND CPACK_COMPONENTS_ALL mneme-sphinx-man mneme-sphinx-html)
endif()
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# MnemeCudaTap.so and MnemeHsaTap.so need drivers, which only machines with such a
# GPU have: no package of one is a dependency, even where it is installed while
# building. dpkg-shlibdeps takes an option for this, which CPack cannot pass.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  ${MNEME_BINARY_DIR}/lib/Device/GPU/OffloadTap/empty)
set(MNEME_AMD_DRIVER libhsa-runtime64-1)
set(_mneme_shlibdeps ${MNEME_BINARY_DIR}/cmake/dpkg-shlibdeps)
file(WRITE ${_mneme_shlibdeps}
  "#!/bin/sh\nexec dpkg-shlibdeps -x${MNEME_AMD_DRIVER} \"$@\"\n")
file(CHMOD ${_mneme_shlibdeps} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${MNEME_BINARY_DIR}/cmake/CPackProject.cmake)
file(WRITE ${CPACK_PROJECT_CONFIG_FILE}
  "find_program(_mneme_found dpkg-shlibdeps)
if(_mneme_found)
  set(SHLIBDEPS_EXECUTABLE [[${_mneme_shlibdeps}]])
endif()
")
# The nvcc wrapper. clang compiles what is to be recorded, and links it with
# clang-linker-wrapper (clang-tools).
set(CPACK_DEBIAN_PACKAGE_DEPENDS python3)
set(_mneme_recommended clang clang-tools llvm lld)
list(TRANSFORM _mneme_recommended APPEND -${LLVM_VERSION_MAJOR})
list(JOIN _mneme_recommended ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit, ${MNEME_AMD_DRIVER}")
include(CPack)

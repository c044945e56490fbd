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
# MnemeCudaTap.so and MnemeHsaTap.so stand in front of drivers, which no package of
# Debian is needed for.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  ${MNEME_BINARY_DIR}/lib/Device/GPU/OffloadTap/empty)
# The nvcc wrapper. clang compiles what is to be recorded.
set(CPACK_DEBIAN_PACKAGE_DEPENDS python3)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
  "clang-${LLVM_VERSION_MAJOR}, llvm-${LLVM_VERSION_MAJOR}, lld-${LLVM_VERSION_MAJOR}")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS nvidia-cuda-toolkit)
include(CPack)

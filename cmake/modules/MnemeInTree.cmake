# In-tree: LLVM has set everything up; only name what differs.
# The tools look for libraries in lib beside their folder, on every system.
set(CMAKE_INSTALL_LIBDIR lib)
include(GNUInstallDirs)
set(MNEME_GTEST_AVAILABLE ${LLVM_INCLUDE_TESTS})

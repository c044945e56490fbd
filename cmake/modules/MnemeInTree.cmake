# In-tree: LLVM has set everything up; only name what differs.
include(GNUInstallDirs)
set(MNEME_GTEST_AVAILABLE ${LLVM_INCLUDE_TESTS})

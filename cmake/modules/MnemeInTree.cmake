# In-tree: LLVM has set everything up; only name what differs.
# The tools look for libraries in lib beside their folder, on every system.
set(CMAKE_INSTALL_LIBDIR lib)
# The name in LLVM's package.
set(LLVM_PACKAGE_VERSION ${PACKAGE_VERSION})
include(GNUInstallDirs)
if(MNEME_ENABLE_MLIR AND NOT "mlir" IN_LIST LLVM_ENABLE_PROJECTS)
  message(STATUS "mneme: no mlir in LLVM_ENABLE_PROJECTS, no dialect")
  set(MNEME_ENABLE_MLIR OFF)
endif()
if(MNEME_ENABLE_MLIR)
  set(MLIR_MAIN_SRC_DIR ${LLVM_MAIN_SRC_DIR}/../mlir)
  include_directories(SYSTEM ${MLIR_MAIN_SRC_DIR}/include
    ${LLVM_BINARY_DIR}/tools/mlir/include)
  list(APPEND CMAKE_MODULE_PATH "${MLIR_MAIN_SRC_DIR}/cmake/modules")
  include(AddMLIR)
endif()
set(MNEME_GTEST_AVAILABLE ${LLVM_INCLUDE_TESTS})

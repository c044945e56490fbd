# Standalone: everything that LLVM's own CMake would have set up for us.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(LLVM REQUIRED CONFIG)
# The version file of an LLVM package only accepts major.minor, so ask without.
if(MNEME_PLUGIN_ONLY)
  set(MNEME_ENABLE_MLIR OFF)
  if(LLVM_VERSION_MAJOR LESS 19 OR LLVM_VERSION_MAJOR GREATER 22)
    message(FATAL_ERROR "the pass can be built for LLVM 19 to 22, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
  endif()
elseif(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "mneme needs LLVM 22, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}; for its clang, "
    "build the pass alone: -DMNEME_PLUGIN_ONLY=ON")
endif()
message(STATUS "Using LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")

if(MNEME_ENABLE_MLIR)
  find_package(MLIR REQUIRED CONFIG HINTS ${LLVM_DIR}/../mlir)
endif()

if(NOT MNEME_LINK_LLVM_DYLIB)
  set(LLVM_LINK_LLVM_DYLIB OFF)
endif()
# Debian packages lit but no llvm-lit; MnemeLit writes one to <build>/bin.
if(NOT EXISTS "${LLVM_DEFAULT_EXTERNAL_LIT}")
  set(LLVM_DEFAULT_EXTERNAL_LIT "")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter) # add_lit_target uses it

set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(LLVM_SHLIB_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH "${LLVM_CMAKE_DIR}")
# The tools look for libraries in lib beside their folder, on every system.
set(CMAKE_INSTALL_LIBDIR lib)
include(GNUInstallDirs)
include(TableGen)
include(AddLLVM)
if(MNEME_ENABLE_MLIR)
  list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}")
  include(AddMLIR)
endif()
# LLVM's own CMakeLists.txt gives UBSan its flags, a package of LLVM none.
set(LLVM_UBSAN_FLAGS
    "-fsanitize=undefined -fno-sanitize=vptr,function -fno-sanitize-recover=all"
    CACHE STRING "Compile flags set to enable UBSan")
include(HandleLLVMOptions)
set(LLVM_BUILD_TESTS OFF)
if(NOT MNEME_PLUGIN_ONLY)
  include(MnemeGTest)
endif()

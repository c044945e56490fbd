# add_unittest() needs llvm_gtest and llvm_gtest_main. An installed LLVM has them
# only with LLVM_INSTALL_GTEST=ON (Debian's has not): build them from sources.
if(TARGET llvm_gtest)
  set(MNEME_GTEST_AVAILABLE ON)
  return()
endif()
set(MNEME_GTEST_AVAILABLE OFF)
set(MNEME_GTEST_SOURCE_DIR "/usr/src/googletest" CACHE PATH "googletest sources")
if(EXISTS ${MNEME_GTEST_SOURCE_DIR}/googletest/src/gtest-all.cc)
  find_package(Threads REQUIRED)
  add_library(llvm_gtest STATIC EXCLUDE_FROM_ALL
    ${MNEME_GTEST_SOURCE_DIR}/googletest/src/gtest-all.cc
    ${MNEME_GTEST_SOURCE_DIR}/googlemock/src/gmock-all.cc)
  target_include_directories(llvm_gtest SYSTEM
    PUBLIC ${MNEME_GTEST_SOURCE_DIR}/googletest/include
           ${MNEME_GTEST_SOURCE_DIR}/googlemock/include
    PRIVATE ${MNEME_GTEST_SOURCE_DIR}/googletest ${MNEME_GTEST_SOURCE_DIR}/googlemock)
  target_compile_options(llvm_gtest PRIVATE -w)
  target_link_libraries(llvm_gtest PUBLIC Threads::Threads)
  llvm_update_compile_flags(llvm_gtest)
  add_library(llvm_gtest_main STATIC EXCLUDE_FROM_ALL
    ${MNEME_SOURCE_DIR}/unittests/UnitTestMain/TestMain.cpp
    ${MNEME_SOURCE_DIR}/unittests/UnitTestMain/TakeError.cpp)
  target_link_libraries(llvm_gtest_main PUBLIC llvm_gtest)
  llvm_update_compile_flags(llvm_gtest_main)
  set(MNEME_GTEST_AVAILABLE ON)
else()
  message(WARNING "mneme: no googletest in ${MNEME_GTEST_SOURCE_DIR}, no unit tests")
endif()

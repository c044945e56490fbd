# The pass for the clang of other LLVMs, beside the tools: each is a build of its own
# from this tree (MNEME_PLUGIN_ONLY), lib/MnemePass-<version>.so.
include(ExternalProject)
set(MNEME_PLUGIN_LLVM_DIRS "" CACHE STRING
  "LLVM_DIR of further LLVMs (19 to 21) for whose clang the pass is built, too")

function(_mneme_add_plugin dir)
  if(NOT EXISTS ${dir}/LLVMConfigVersion.cmake)
    message(FATAL_ERROR "MNEME_PLUGIN_LLVM_DIRS: no LLVMConfigVersion.cmake in '${dir}': name a folder like "
      "/usr/lib/llvm-19/lib/cmake/llvm")
  endif()
  include(${dir}/LLVMConfigVersion.cmake)
  string(REGEX MATCH "^[0-9]+" major "${PACKAGE_VERSION}")
  set(name MnemePass-${major})
  set(file ${name}${CMAKE_SHARED_MODULE_SUFFIX})
  set(forwarded "")
  foreach(variable BUILD_TYPE C_COMPILER CXX_COMPILER C_COMPILER_LAUNCHER CXX_COMPILER_LAUNCHER)
    list(APPEND forwarded -DCMAKE_${variable}=${CMAKE_${variable}})
  endforeach()
  ExternalProject_Add(${name}
    SOURCE_DIR ${MNEME_SOURCE_DIR}
    BINARY_DIR ${MNEME_BINARY_DIR}/${name}
    CMAKE_ARGS -DMNEME_PLUGIN_ONLY=ON -DMNEME_UNITY_BUILD=ON -DLLVM_DIR=${dir} ${forwarded}
    BUILD_ALWAYS ON
    INSTALL_COMMAND ${CMAKE_COMMAND} -E copy_if_different <BINARY_DIR>/lib/${file} ${LLVM_LIBRARY_OUTPUT_INTDIR}/${file})
  add_dependencies(mneme ${name})
  install(FILES ${LLVM_LIBRARY_OUTPUT_INTDIR}/${file} DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT mneme)
endfunction()

foreach(dir ${MNEME_PLUGIN_LLVM_DIRS})
  _mneme_add_plugin(${dir})
endforeach()

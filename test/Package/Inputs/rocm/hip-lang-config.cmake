# Stands in for ROCm's own package, lib/cmake/hip-lang: how CMake compiles and links
# HIP. The test puts headers and runtime beside it.
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
add_library(hip-lang::device INTERFACE IMPORTED)
set_target_properties(hip-lang::device PROPERTIES
  INTERFACE_COMPILE_OPTIONS
    "$<$<COMPILE_LANGUAGE:HIP>:-fdeclspec;SHELL:-include ${root}/include/minihip.h>"
  INTERFACE_LINK_OPTIONS
    "-L${root}/lib;-Wl,-rpath,${root}/lib;-Wl,--unresolved-symbols=ignore-all")
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)

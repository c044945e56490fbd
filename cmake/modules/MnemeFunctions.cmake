include_guard(GLOBAL)

# add_mneme(target): compile the CUDA, HIP and C++ sources of target with the Mneme
# pass, so that llvm-mneme-record can record its kernels. Nothing is linked: the
# recorder brings its runtime along.
#
# The compiler must be the clang of the LLVM that the plugin was built for: another
# version may load it and then fail in ways that are hard to read.
function(add_mneme target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "add_mneme: '${target}' is no target")
  endif()
  set(found FALSE)
  foreach(lang CXX CUDA HIP)
    if(NOT CMAKE_${lang}_COMPILER_ID STREQUAL "Clang")
      continue()
    endif()
    if(NOT CMAKE_${lang}_COMPILER_VERSION VERSION_EQUAL MNEME_LLVM_VERSION)
      message(FATAL_ERROR "add_mneme: the ${lang} compiler is clang "
        "${CMAKE_${lang}_COMPILER_VERSION}; the plugin needs clang ${MNEME_LLVM_VERSION}")
    endif()
    set(found TRUE)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:${lang}>:-fpass-plugin=$<TARGET_FILE:Mneme::MnemePass>>")
  endforeach()
  if(NOT found)
    message(FATAL_ERROR "add_mneme: no language of this project is compiled by clang")
  endif()
  target_include_directories(${target} PRIVATE ${MNEME_INCLUDE_DIR})
endfunction()

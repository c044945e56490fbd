include_guard(GLOBAL)
# A project with an older cmake_minimum_required(), or without one, has other
# policies.
cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

# add_mneme(target...): compile the CUDA, HIP and C++ sources of these targets with
# the Mneme pass, so that llvm-mneme-record can record their kernels. Nothing is
# linked: the recorder brings its runtime along.
#
# Executables and libraries of the project, also by their aliases. What the target's
# sources are is looked at when all of the folder's CMakeLists.txt has been read, so
# properties and target_sources() may come after this.
function(add_mneme)
  if(NOT ARGN)
    message(FATAL_ERROR "add_mneme: no target")
  endif()
  if(NOT TARGET Mneme::MnemePass)
    message(FATAL_ERROR "add_mneme: find_package(Mneme) was called in another folder: call it "
      "in this one, or above")
  endif()
  foreach(name ${ARGN})
    if(NOT TARGET ${name})
      message(FATAL_ERROR "add_mneme: '${name}' is no target")
    endif()
    set(target ${name})
    get_target_property(aliased ${name} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    get_target_property(type ${target} TYPE)
    get_target_property(imported ${target} IMPORTED)
    if(imported)
      message(FATAL_ERROR "add_mneme: '${name}' is imported, so it is not compiled here: "
        "instrument it where it is built")
    elseif(type STREQUAL "INTERFACE_LIBRARY")
      message(FATAL_ERROR "add_mneme: '${name}' is an INTERFACE library, which has nothing "
        "to compile: name the targets that use it")
    elseif(type STREQUAL "UTILITY")
      message(FATAL_ERROR "add_mneme: '${name}' is a custom target: add_mneme() is for "
        "executables and libraries")
    endif()
    get_target_property(done ${target} MNEME_INSTRUMENTED)
    if(done)
      continue()
    endif()
    set_target_properties(${target} PROPERTIES MNEME_INSTRUMENTED ON)
    target_include_directories(${target} PRIVATE ${MNEME_INCLUDE_DIR})
    cmake_language(EVAL CODE
      "cmake_language(DEFER CALL _mneme_instrument [[${target}]])")
  endforeach()
endfunction()

function(_mneme_instrument target)
  _mneme_languages(${target} languages)
  set(instrumented "")
  foreach(lang ${languages})
    # C++ may be left to another compiler, kernels not.
    if(CMAKE_${lang}_COMPILER_ID STREQUAL "Clang")
      _mneme_choose_plugin(${target} ${lang} plugin)
      _mneme_instrument_language(${target} ${lang} ${plugin})
      list(APPEND instrumented ${lang})
    elseif(NOT lang STREQUAL "CXX")
      message(FATAL_ERROR "add_mneme(${target}): the ${lang} compiler is "
        "${CMAKE_${lang}_COMPILER_ID} (${CMAKE_${lang}_COMPILER}), which cannot load the "
        "pass: configure with -DCMAKE_${lang}_COMPILER=clang++ of LLVM ${MNEME_LLVM_VERSION}")
    endif()
  endforeach()
  if(NOT instrumented)
    list(JOIN languages ", " used)
    if(NOT used)
      message(FATAL_ERROR "add_mneme(${target}): it has no C++, CUDA or HIP sources")
    endif()
    message(FATAL_ERROR "add_mneme(${target}): its sources (${used}) are not compiled by "
      "clang: configure with -DCMAKE_CXX_COMPILER=clang++ of LLVM ${MNEME_LLVM_VERSION}")
  endif()
  if("CUDA" IN_LIST instrumented)
    _mneme_find_cub(${target})
    _mneme_link_device_code(${target})
    if(NOT "CXX" IN_LIST instrumented)
      _mneme_warn_of_calls(${target})
    endif()
  endif()
endfunction()

# The language of a source of the target, where it is C++, CUDA or HIP; else empty.
function(_mneme_source_language target source out)
  get_source_file_property(lang ${source} TARGET_DIRECTORY ${target} LANGUAGE)
  if(NOT lang)
    get_filename_component(extension ${source} LAST_EXT)
    string(REGEX REPLACE "^[.]" "" extension "${extension}")
    foreach(candidate CXX CUDA HIP)
      if(extension AND extension IN_LIST CMAKE_${candidate}_SOURCE_FILE_EXTENSIONS)
        set(lang ${candidate})
      endif()
    endforeach()
  endif()
  # Languages that are not enabled compile nothing.
  if(NOT lang MATCHES "^(CXX|CUDA|HIP)$" OR NOT CMAKE_${lang}_COMPILER)
    set(lang "")
  endif()
  set(${out} "${lang}" PARENT_SCOPE)
endfunction()

# The languages of all sources.
function(_mneme_languages target out)
  get_target_property(sources ${target} SOURCES)
  set(languages "")
  foreach(source ${sources})
    if(source MATCHES "^\\$<")
      # Which of them it is, is known when the build system is written.
      foreach(lang CXX CUDA HIP)
        if(CMAKE_${lang}_COMPILER)
          list(APPEND languages ${lang})
        endif()
      endforeach()
    else()
      _mneme_source_language(${target} ${source} lang)
      list(APPEND languages ${lang})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES languages)
  set(${out} ${languages} PARENT_SCOPE)
endfunction()

# Calls of a runtime that is linked statically are seen where they are compiled, or
# not at all.
function(_mneme_warn_of_calls target)
  get_target_property(runtime ${target} CUDA_RUNTIME_LIBRARY)
  if(runtime MATCHES "^[Ss](hared|HARED)$")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    if(source MATCHES "^\\$<")
      continue()
    endif()
    _mneme_source_language(${target} ${source} lang)
    get_filename_component(file ${source} ABSOLUTE BASE_DIR ${folder})
    if(NOT lang STREQUAL "CXX" OR NOT EXISTS ${file})
      continue()
    endif()
    file(STRINGS ${file} calls REGEX "cuda[A-Z][A-Za-z]+[ ]*\\(" LIMIT_COUNT 1)
    if(calls)
      message(WARNING "add_mneme(${target}): '${source}' calls the CUDA runtime and is not "
        "compiled by clang: set the target's property CUDA_RUNTIME_LIBRARY to Shared, or "
        "its memory is not seen and what uses it is not recorded")
      return()
    endif()
  endforeach()
endfunction()

# The pass for the compiler's LLVM: releases of one minor version load each other's
# plugins; another version may load one and then fail in ways that are hard to read.
function(_mneme_choose_plugin target lang out)
  get_target_property(plugin Mneme::MnemePass LOCATION)
  string(REGEX MATCH "^[0-9]+[.][0-9]+" wanted "${MNEME_LLVM_VERSION}")
  string(REGEX MATCH "^[0-9]+[.][0-9]+" found "${CMAKE_${lang}_COMPILER_VERSION}")
  if(NOT found STREQUAL wanted)
    string(REGEX MATCH "^[0-9]+" major "${found}")
    string(REGEX REPLACE "[.]so$" "-${major}.so" plugin "${plugin}")
    if(NOT EXISTS "${plugin}")
      message(FATAL_ERROR "add_mneme(${target}): the ${lang} compiler is clang "
        "${CMAKE_${lang}_COMPILER_VERSION} (${CMAKE_${lang}_COMPILER}), the pass was built "
        "for clang ${MNEME_LLVM_VERSION}, and there is no '${plugin}': build it with "
        "-DMNEME_PLUGIN_ONLY=ON and LLVM_DIR of LLVM ${major}")
    endif()
  endif()
  set(${out} ${plugin} PARENT_SCOPE)
endfunction()

function(_mneme_instrument_language target lang plugin)
  # A new pass must not find the objects of an old one: ccache looks into the file of
  # -fplugin, which has no other effect, but not into that of -fpass-plugin.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:${lang}>:-fplugin=${plugin};-fpass-plugin=${plugin}>")
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(NOT source MATCHES "^\\$<")
      set_property(SOURCE ${source} TARGET_DIRECTORY ${target} APPEND PROPERTY
        OBJECT_DEPENDS ${plugin})
    endif()
  endforeach()
endfunction()

# Since CUDA 13 CUB and Thrust lie beside the headers that clang finds by itself. What it
# says of a toolkit that is newer than itself it would say for every file.
function(_mneme_find_cub target)
  foreach(dir ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    if(EXISTS "${dir}/cccl")
      target_include_directories(${target} SYSTEM PRIVATE
        "$<$<COMPILE_LANGUAGE:CUDA>:${dir}/cccl>")
    endif()
  endforeach()
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Wno-unknown-cuda-version>")
endfunction()

# CMake's own way to link the device code of CUDA_SEPARABLE_COMPILATION is made for
# objects of nvcc and of clang's old driver: leave it to clang, which links the
# host code, too.
function(_mneme_link_device_code target)
  get_target_property(separable ${target} CUDA_SEPARABLE_COMPILATION)
  if(NOT separable OR CMAKE_CUDA_FLAGS MATCHES "--no-offload-new-driver")
    return()
  endif()
  set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-fgpu-rdc>")
  get_target_property(type ${target} TYPE)
  # Whoever links a static library links its device code.
  set(scope PRIVATE)
  if(type MATCHES "^(STATIC|OBJECT)_LIBRARY$")
    set(scope INTERFACE)
  endif()
  target_link_options(${target} ${scope} "$<$<LINK_LANGUAGE:CUDA>:--offload-link>")
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CUDA)
endfunction()
cmake_policy(POP)

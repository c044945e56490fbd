include_guard()

# add_mneme_library(name sources... LINK_COMPONENTS ... LINK_LIBS PUBLIC ...)
# Not add_llvm_library: our archives are nobody else's, so LLVM must not export them.
function(add_mneme_library name)
  llvm_add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES
    FOLDER "Mneme/Libraries"
    UNITY_BUILD ${MNEME_UNITY_BUILD})
endfunction()

macro(add_mneme_tool name)
  add_llvm_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES
    FOLDER "Mneme/Tools"
    UNITY_BUILD ${MNEME_UNITY_BUILD})
  if(MNEME_STANDALONE_BUILD AND LLVM_LINK_LLVM_DYLIB)
    # LLVM's function knows only of libraries that are installed beside the tool.
    set_property(TARGET ${name} APPEND PROPERTY INSTALL_RPATH ${LLVM_LIBRARY_DIR})
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT mneme)
endmacro()

function(add_mneme_unittest name)
  add_unittest(MnemeUnitTests ${name} ${ARGN})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${MNEME_UNITY_BUILD})
  # Elsewhere, UnitTestMain has what is needed of it.
  if(NOT MNEME_STANDALONE_BUILD)
    target_link_libraries(${name} PRIVATE LLVMTestingSupport)
  endif()
endfunction()

# Adds to the list what the MLIR libraries there say they are linked with.
function(mneme_close_over_mlir list)
  set(todo ${${list}})
  set(closure "")
  while(todo)
    list(POP_FRONT todo library)
    if(library MATCHES "^MLIR" AND NOT library IN_LIST closure)
      list(APPEND closure ${library})
      get_target_property(more ${library} INTERFACE_LINK_LIBRARIES)
      list(APPEND todo ${more})
    endif()
  endwhile()
  set(${list} ${closure} PARENT_SCOPE)
endfunction()

# mneme_link_mlir(target libraries...): MLIR's component libraries, never
# libMLIR, which is a hundred megabytes that a machine with a GPU has not.
function(mneme_link_mlir target)
  set(libraries ${ARGN})
  if(MNEME_STANDALONE_BUILD AND NOT LLVM_LINK_LLVM_DYLIB)
    # The imported targets would bring libLLVM.so beside the static libraries:
    # name the archives. They need each other in no particular order.
    mneme_close_over_mlir(libraries)
    list(TRANSFORM libraries REPLACE "(.+)" "$<TARGET_FILE:\\1>")
    set(libraries -Wl,--start-group ${libraries} -Wl,--end-group)
  endif()
  target_link_libraries(${target} PUBLIC ${libraries})
endfunction()

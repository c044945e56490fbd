include_guard()

# add_mneme_library(name sources... LINK_COMPONENTS ... LINK_LIBS PUBLIC ...)
# BUILDTREE_ONLY keeps our archives out of LLVM's export set.
function(add_mneme_library name)
  add_llvm_library(${name} STATIC BUILDTREE_ONLY ${ARGN})
  set_target_properties(${name} PROPERTIES FOLDER "Mneme/Libraries")
endfunction()

macro(add_mneme_tool name)
  add_llvm_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES FOLDER "Mneme/Tools")
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT mneme)
endmacro()

function(add_mneme_unittest name)
  add_unittest(MnemeUnitTests ${name} ${ARGN})
endfunction()

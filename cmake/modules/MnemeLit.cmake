# Standalone builds: write <build>/bin/llvm-lit, as llvm/utils/llvm-lit does, so
# that "lit test/foo.ll" finds the site configuration of the build tree.
function(mneme_write_llvm_lit)
  get_property(files GLOBAL PROPERTY LLVM_LIT_CONFIG_FILES)
  set(MNEME_LIT_CONFIG_MAP "")
  while(files)
    list(POP_FRONT files main site)
    string(APPEND MNEME_LIT_CONFIG_MAP "map_config(r\"${main}\", r\"${site}\")\n")
  endwhile()
  find_path(MNEME_LIT_PYTHON_DIR lit/llvm/config.py
    HINTS ${LLVM_INSTALL_PREFIX}/utils/lit ${LLVM_BUILD_MAIN_SRC_DIR}/utils/lit REQUIRED)
  configure_file(${MNEME_SOURCE_DIR}/cmake/modules/llvm-lit.in
    ${LLVM_RUNTIME_OUTPUT_INTDIR}/llvm-lit @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                     WORLD_READ WORLD_EXECUTE)
endfunction()

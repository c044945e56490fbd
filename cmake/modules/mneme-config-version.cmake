include("${CMAKE_CURRENT_LIST_DIR}/MnemeConfigVersion.cmake")

# find_package(mneme), as projects for LLNL's Mneme call it.
include("${CMAKE_CURRENT_LIST_DIR}/MnemeConfig.cmake")

# SPDX-License-Identifier: Apache-2.0
# What the operators and their tests need, for an architecture that this machine has no libraries
# of: headers that are the same everywhere, and GoogleTest from Debian's sources.
find_package(Threads REQUIRED)
set(COMMENSAL_HEADERS "${CMAKE_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${COMMENSAL_HEADERS}")
foreach(folder fmt hwy tl)
  if(NOT EXISTS "/usr/include/${folder}")
    message(FATAL_ERROR "no /usr/include/${folder}: run scripts/install-packages build")
  endif()
  file(CREATE_LINK "/usr/include/${folder}" "${COMMENSAL_HEADERS}/${folder}" SYMBOLIC)
endforeach()

add_library(headers INTERFACE)
target_include_directories(headers SYSTEM INTERFACE "${COMMENSAL_HEADERS}")
add_library(hwy INTERFACE)
target_link_libraries(hwy INTERFACE headers)
add_library(fmt::fmt INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_link_libraries(fmt::fmt INTERFACE headers)

if(COMMENSAL_TESTS)
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
endif()

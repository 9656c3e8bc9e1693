# SPDX-License-Identifier: Apache-2.0
# The room compute as a library for others: libcommensal.so, which shows the functions of its two
# headers and nothing else; CMake and pkg-config find what `cmake --install` puts in place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(headers "${PROJECT_SOURCE_DIR}/commensal/compute/session.h"
            "${PROJECT_SOURCE_DIR}/commensal/compute/session.hpp")
file(STRINGS "${PROJECT_SOURCE_DIR}/commensal/compute/session.h" abi
     REGEX "^#define COMMENSAL_ABI_VERSION [0-9]+$")
string(REGEX REPLACE ".* " "" abi "${abi}")

set(exports "${PROJECT_SOURCE_DIR}/cmake/libcommensal.map")
add_library(commensal_shared SHARED $<TARGET_OBJECTS:commensal_compute>)
target_link_libraries(commensal_shared PRIVATE commensal::compute::graph::onnx)
target_link_options(commensal_shared PRIVATE "-Wl,--version-script=${exports}" -Wl,--as-needed)
if(NOT COMMENSAL_SANITIZE)  # sanitizers' functions come with the program
  target_link_options(commensal_shared PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(commensal_shared PROPERTIES
  OUTPUT_NAME commensal EXPORT_NAME commensal LINK_DEPENDS "${exports}"
  VERSION ${PROJECT_VERSION} SOVERSION ${abi})
target_include_directories(commensal_shared INTERFACE
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

install(TARGETS commensal_shared EXPORT commensal
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT library)
install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/commensal/compute"
        COMPONENT library)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/commensal")
install(EXPORT commensal NAMESPACE commensal:: FILE commensal-config.cmake DESTINATION "${package}"
        COMPONENT library)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/commensal-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/commensal-config-version.cmake"
        DESTINATION "${package}" COMPONENT library)

# From its own place, so that the installed tree can be moved.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/commensal.pc.in"
               "${PROJECT_BINARY_DIR}/package/commensal.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/commensal.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)

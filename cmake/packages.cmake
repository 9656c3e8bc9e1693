# SPDX-License-Identifier: Apache-2.0
# Debian's packages, `cpack -G DEB` (scripts/package): commensal (the product: programs' components say which),
# commensal-dev (the library for others) and commensal-lab. What they need is what dpkg-shlibdeps
# finds.
set(share "${CMAKE_INSTALL_DATADIR}/commensal")
# The gateway's page, where scripts/build-page has made it.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/build/page/" DESTINATION "${share}/page"
        COMPONENT product OPTIONAL)
install(FILES docs/grafana/commensal.json docs/grafana/alerts.yml DESTINATION "${share}/grafana"
        COMPONENT product)
# Something to ask the digit network.
install(FILES examples/three.pgm examples/digits.md DESTINATION "${share}/examples"
        COMPONENT product)

# What has a place of its own beside the prefix is a package's alone (EXCLUDE_FROM_ALL).
set(from "${PROJECT_SOURCE_DIR}/packages")
install(FILES "${from}/commensal-gateway.service" "${from}/commensal-provider.service"
        DESTINATION /lib/systemd/system COMPONENT product EXCLUDE_FROM_ALL)
# They are root's alone, as a database's password may be in them: systemd reads them as root.
install(FILES "${from}/default-gateway" DESTINATION /etc/default RENAME commensal-gateway
        PERMISSIONS OWNER_READ OWNER_WRITE COMPONENT product EXCLUDE_FROM_ALL)
install(FILES "${from}/default-provider" DESTINATION /etc/default RENAME commensal-provider
        PERMISSIONS OWNER_READ OWNER_WRITE COMPONENT product EXCLUDE_FROM_ALL)
install(FILES "${from}/config.yaml" DESTINATION /etc/commensal
        COMPONENT product EXCLUDE_FROM_ALL)

find_program(GZIP_PROGRAM gzip REQUIRED)
set(papers "${PROJECT_BINARY_DIR}/papers")
file(CONFIGURE OUTPUT "${papers}/changelog" @ONLY CONTENT
"commensal (@PROJECT_VERSION@) stable; urgency=medium

  * Version @PROJECT_VERSION@: what is new is in the history of its source.

 -- Commensal <maintainers@commensal.invalid>  Thu, 01 Jan 1970 00:00:00 +0000
")
execute_process(COMMAND "${GZIP_PROGRAM}" -9nf "${papers}/changelog" COMMAND_ERROR_IS_FATAL ANY)
foreach(pair product:commensal library:commensal-dev laboratory:commensal-lab)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 name)
  install(FILES "${papers}/changelog.gz" "${from}/debian/copyright"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" COMPONENT ${component}
          EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME commensal)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Commensal <maintainers@commensal.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL product library laboratory)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PRODUCT_PACKAGE_SECTION net)
set(CPACK_COMPONENT_PRODUCT_DESCRIPTION "neural networks on busy hardware, proved right
Gateway, provider and command line: consumers ask a gateway, providers
compute beside their own work, and anybody can compute an answer again
and compare it to the last bit.")
set(CPACK_DEBIAN_PRODUCT_PACKAGE_DEPENDS "adduser, ca-certificates, passwd")
set(CPACK_DEBIAN_PRODUCT_PACKAGE_CONTROL_EXTRA
    "${from}/debian/postinst;${from}/debian/prerm;${from}/debian/postrm;${from}/debian/conffiles")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "runs ONNX models with the same bits everywhere (library)
Headers for C and C++, the shared library, and what CMake and pkg-config
need to find them.")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${from}/debian-dev/triggers")

set(CPACK_DEBIAN_LABORATORY_PACKAGE_SECTION net)
set(CPACK_COMPONENT_LABORATORY_DESCRIPTION "attacks, simulations and measurements of commensal
The program commensal-lab: a market on one machine that has a cheat, its
attackers, and what measures the project's promises.")
set(CPACK_DEBIAN_LABORATORY_PACKAGE_DEPENDS "commensal (= ${PROJECT_VERSION})")
include(CPack)

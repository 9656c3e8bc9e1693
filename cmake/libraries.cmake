# SPDX-License-Identifier: Apache-2.0
# Everything that comes from outside: Debian 12 packages only (scripts/install-packages lists them).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(hwy REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_library(YAML_CPP_LIBRARY yaml-cpp REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
find_library(PROMETHEUS_LIBRARY prometheus-cpp-core REQUIRED)  # its CMake package asks for curl too
find_package(Boost 1.81 EXACT REQUIRED)
pkg_check_modules(secp256k1 REQUIRED IMPORTED_TARGET libsecp256k1)
pkg_check_modules(cryptopp REQUIRED IMPORTED_TARGET libcrypto++)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)

# Asking pkg-config for grpc++ walks a hundred files, many times: plain libraries instead.
find_library(GRPCPP_LIBRARY grpc++ REQUIRED)
find_library(GRPC_LIBRARY grpc REQUIRED)
find_library(GPR_LIBRARY gpr REQUIRED)
find_library(ABSL_SYNCHRONIZATION_LIBRARY absl_synchronization REQUIRED)  # gRPC's headers lock
add_library(grpcpp INTERFACE)
target_link_libraries(grpcpp INTERFACE ${GRPCPP_LIBRARY} ${GRPC_LIBRARY} ${GPR_LIBRARY}
                                       ${ABSL_SYNCHRONIZATION_LIBRARY} protobuf::libprotobuf)

# libonnx-dev's own CMake package names paths that Debian does not ship: plain libraries instead.
find_library(ONNX_LIBRARY onnx REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
add_library(onnx_proto INTERFACE)
target_link_libraries(onnx_proto INTERFACE ${ONNX_PROTO_LIBRARY} protobuf::libprotobuf)
target_compile_definitions(onnx_proto INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
add_library(onnx INTERFACE)
target_link_libraries(onnx INTERFACE ${ONNX_LIBRARY} onnx_proto)

if(COMMENSAL_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

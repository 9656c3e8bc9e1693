# SPDX-License-Identifier: Apache-2.0
# Compiler settings that hold for every target. The floating-point flags are part of the numeric
# specification (docs/numerics.md): a contraction or a fast-math flag would change bits.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Not -O3: it takes up to three times as long to compile (ref/reduce.cpp: 24 s against 9 s), and
# what is hot is vectorised by hand.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_FUZZ "-O1 -gline-tables-only")
# -O2 with all of -g takes twice as long under the sanitizers and finds no more.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -DNDEBUG")

option(COMMENSAL_TESTS "Build the tests" ON)
option(COMMENSAL_FUZZ "Build the fuzz targets for libFuzzer, with clang" OFF)
option(COMMENSAL_OPERATORS_ONLY "Build the rooms up to compute/kernels only" OFF)
set(COMMENSAL_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-ffp-contract=off>")
if(COMMENSAL_SANITIZE)
  add_compile_options(-fsanitize=${COMMENSAL_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COMMENSAL_SANITIZE})
  if(COMMENSAL_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan)  # Asio's fences, which it needs for no lock of ours
  endif()
endif()

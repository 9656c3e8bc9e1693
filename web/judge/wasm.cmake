# SPDX-License-Identifier: Apache-2.0
# Toolchain file: WebAssembly by Debian's clang and wasi-libc.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Nothing that throws is caught: it ends the judge. Products are never fused with sums but where the
# source says so.
set(CMAKE_CXX_FLAGS_INIT "-fexceptions -fignore-exceptions -fno-rtti -ffp-contract=off \
-ffunction-sections -fdata-sections -Wall -Wextra -Wno-undefined-inline \
-Wno-bitwise-instead-of-logical")
# Small before fast: a browser fetches it. CMake would append -O3 to flags that it only begins with.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")
# 4 MiB of stack below all else, so that what overflows it traps; at most 2 GiB in all.
set(exports alloc free result result_size load run fmaf fma)
list(TRANSFORM exports PREPEND ",--export=judge_")
list(JOIN exports "" exports)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-mexec-model=reactor -Wl,--gc-sections,--strip-all,--stack-first \
-Wl,--wrap=fma,-z,stack-size=4194304,--max-memory=2147483648${exports}")

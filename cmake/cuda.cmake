# SPDX-License-Identifier: Apache-2.0
# The plug-in that computes on a card (commensal/compute/kernels/cuda). Nothing else needs it: the
# same kernels are compiled for the CPU, on an emulation, in every build.
#   COMMENSAL_CUDA  AUTO: where CMake finds a CUDA compiler that works (not under the sanitizers,
#                   not for another machine); ON (preset cuda): without one it is an error; OFF: never
set(COMMENSAL_CUDA AUTO CACHE STRING "Build the CUDA plug-in: AUTO, ON or OFF")
set_property(CACHE COMMENSAL_CUDA PROPERTY STRINGS AUTO ON OFF)

set(COMMENSAL_HAS_CUDA ${COMMENSAL_CUDA})
if(COMMENSAL_CUDA STREQUAL AUTO AND (COMMENSAL_SANITIZE OR COMMENSAL_OPERATORS_ONLY))
  set(COMMENSAL_HAS_CUDA OFF)
endif()
if(COMMENSAL_HAS_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Code for 7.5 (Turing) that the driver compiles for whatever is there.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 75-virtual)
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc speaks C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  elseif(COMMENSAL_CUDA STREQUAL AUTO)
    set(COMMENSAL_HAS_CUDA OFF)
  else()
    message(FATAL_ERROR "COMMENSAL_CUDA is ON, but CMake finds no CUDA compiler (nvcc) that works")
  endif()
endif()

# commensal_cuda_plugin()
# Target commensal_compute_kernels_cuda_plugin: a shared library that is loaded at run time where a
# card is, libcommensal_cuda.so in the build folder.
function(commensal_cuda_plugin)
  if(NOT COMMENSAL_HAS_CUDA)
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/commensal/compute/kernels/cuda")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cu")
  set(name commensal_compute_kernels_cuda_plugin)
  add_library(${name} MODULE ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME commensal_cuda
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
    CUDA_STANDARD 20
    CUDA_VISIBILITY_PRESET hidden
    CUDA_RUNTIME_LIBRARY Static
    CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
  # Part of the numeric specification, like those in toolchain.cmake.
  target_compile_options(${name} PRIVATE -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
                                         -Xcompiler=-ffp-contract=off)
endfunction()

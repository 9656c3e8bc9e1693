// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the functions of math/*_inl.hpp are made of, so that a CUDA compiler compiles them
/// for its device as well; nothing to everybody else. (No declarations here: all_inl.hpp includes
/// this inside namespaces.)
#ifdef __CUDACC__
#define COMMENSAL_DEVICE __device__
#else
#define COMMENSAL_DEVICE
#endif

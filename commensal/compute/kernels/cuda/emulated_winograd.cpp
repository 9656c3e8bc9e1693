// SPDX-License-Identifier: Apache-2.0
// winograd.cu for plain C++ compilers, on emulation/.
#include <commensal/compute/kernels/cuda/winograd.cu>

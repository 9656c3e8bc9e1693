// SPDX-License-Identifier: Apache-2.0
// elementwise.cu for plain C++ compilers, on emulation/.
#include <commensal/compute/kernels/cuda/elementwise.cu>

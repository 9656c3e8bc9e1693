// SPDX-License-Identifier: Apache-2.0
// conv.cu for plain C++ compilers, on emulation/.
#include <commensal/compute/kernels/cuda/conv.cu>

// SPDX-License-Identifier: Apache-2.0
// product.cu for plain C++ compilers, on emulation/.
#include <commensal/compute/kernels/cuda/product.cu>

// SPDX-License-Identifier: Apache-2.0
// rows.cu for plain C++ compilers, on emulation/.
#include <commensal/compute/kernels/cuda/rows.cu>

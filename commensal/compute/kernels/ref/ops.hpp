// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers to the table: one function per operator, in the file named in the comment.
namespace commensal::kernels::ref {

Columns conv();  // conv.cpp

// gemm.cpp
Columns gemm();
Columns matmul();

// pool.cpp
Columns average_pool();
Columns global_average_pool();
Columns global_max_pool();
Columns max_pool();

// binary.cpp
Columns add();
Columns div();
Columns max();
Columns mean();
Columns min();
Columns mod();
Columns mul();
Columns sub();
Columns sum();

// activation.cpp
Columns relu();

}  // namespace commensal::kernels::ref

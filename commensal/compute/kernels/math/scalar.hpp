// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/lanes.hpp>

/// The functions of math/ for plain C++: exp<ScalarLanes>(x), ...
namespace commensal::kernels::math {
#include <commensal/compute/kernels/math/all_inl.hpp>
}  // namespace commensal::kernels::math

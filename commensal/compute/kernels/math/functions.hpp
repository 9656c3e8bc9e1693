// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/math/scalar.hpp>

/// The functions of docs/numerics.md by the type they are computed in.
namespace commensal::kernels::math::by_type {

#define COMMENSAL_BY_TYPE(name)                                     \
  inline float name(float x) { return math::name<ScalarLanes>(x); } \
  inline double name(double x) { return binary64::name(x); }

COMMENSAL_BY_TYPE(exp)
COMMENSAL_BY_TYPE(log)
COMMENSAL_BY_TYPE(sigmoid)
COMMENSAL_BY_TYPE(softplus)
COMMENSAL_BY_TYPE(tanh)
COMMENSAL_BY_TYPE(erf)
COMMENSAL_BY_TYPE(sin)
COMMENSAL_BY_TYPE(cos)
COMMENSAL_BY_TYPE(tan)
COMMENSAL_BY_TYPE(asin)
COMMENSAL_BY_TYPE(acos)
COMMENSAL_BY_TYPE(atan)
COMMENSAL_BY_TYPE(sinh)
COMMENSAL_BY_TYPE(cosh)
COMMENSAL_BY_TYPE(asinh)
COMMENSAL_BY_TYPE(acosh)
COMMENSAL_BY_TYPE(atanh)

#undef COMMENSAL_BY_TYPE

inline float pow(float x, float y) { return math::pow<ScalarLanes>(x, y); }
inline double pow(double x, double y) { return binary64::pow(x, y); }

}  // namespace commensal::kernels::math::by_type

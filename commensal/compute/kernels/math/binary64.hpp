// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The functions of docs/numerics.md in binary64, in plain C++; those that networks ask for most
/// also in cpu/doubles-inl.hpp, step by step the same. Every operation is rounded as written;
/// std::fma, sqrt, division and nearbyint are exact or correctly rounded, and nothing else of the C
/// library takes part, so the bits are the same everywhere. Special cases are those of C; any NaN
/// is a NaN, which one is for the caller's store. Largest errors: docs/numerics.md, measured by
/// math/binary64_test.cpp.
namespace commensal::kernels::math::binary64 {

double exp(double x);
double log(double x);
double sigmoid(double x);   // 1 / (1 + exp(-x))
double softplus(double x);  // log(1 + exp(x))
double tanh(double x);
double erf(double x);
double pow(double x, double y);

double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);

}  // namespace commensal::kernels::math::binary64

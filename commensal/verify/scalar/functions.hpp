// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Functions of binary32 numbers, given and returned as their bits; NaN for NaN, canonical. Pure
/// functions. Source: docs/numerics.md, "Functions".
namespace commensal::scalar {

std::uint32_t exp(std::uint32_t x);
std::uint32_t log(std::uint32_t x);
std::uint32_t sigmoid(std::uint32_t x);
std::uint32_t tanh(std::uint32_t x);
std::uint32_t erf(std::uint32_t x);
std::uint32_t softplus(std::uint32_t x);
std::uint32_t sin(std::uint32_t x);
std::uint32_t cos(std::uint32_t x);
std::uint32_t tan(std::uint32_t x);
std::uint32_t asin(std::uint32_t x);
std::uint32_t acos(std::uint32_t x);
std::uint32_t atan(std::uint32_t x);
std::uint32_t sinh(std::uint32_t x);
std::uint32_t cosh(std::uint32_t x);
std::uint32_t asinh(std::uint32_t x);
std::uint32_t acosh(std::uint32_t x);
std::uint32_t atanh(std::uint32_t x);
/// x^y with the special cases of C.
std::uint32_t pow(std::uint32_t x, std::uint32_t y);

}  // namespace commensal::scalar

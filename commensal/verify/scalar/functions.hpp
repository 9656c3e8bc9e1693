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
/// x^y with the special cases of C.
std::uint32_t pow(std::uint32_t x, std::uint32_t y);

}  // namespace commensal::scalar

// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>

/// Rounded once. WebAssembly has no such instruction, and the C library's function rounds results
/// below 2^-126 twice. The product of two binary32 fits binary64; the sum is rounded there to odd,
/// which no second rounding to half as many bits can mistake (Boldo and Melquiond 2008).
extern "C" float fmaf(float x, float y, float z) {
  const double product = static_cast<double>(x) * y, addend = z;
  const double sum = product + addend;
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const double back = sum - product;  // Knuth's TwoSum: what the sum has lost
  const double lost = (product - (sum - back)) + (addend - back);
  if (lost == 0 || (bits & 1) != 0 || !std::isfinite(sum)) return static_cast<float>(sum);
  const bool is_away = (lost > 0) == (sum > 0);
  return static_cast<float>(std::bit_cast<double>(is_away ? bits + 1 : bits - 1));
}

/// The C library's, but for a product without addend: it adds the 0 after rounding, which takes the
/// sign of a product below 2^-1075. The linker puts it in (--wrap).
extern "C" double __real_fma(double x, double y, double z);
extern "C" double __wrap_fma(double x, double y, double z) {
  return z == 0 && x != 0 && y != 0 ? x * y : __real_fma(x, y, z);
}

/// For tests.
extern "C" float judge_fmaf(float x, float y, float z) { return std::fma(x, y, z); }
extern "C" double judge_fma(double x, double y, double z) { return std::fma(x, y, z); }

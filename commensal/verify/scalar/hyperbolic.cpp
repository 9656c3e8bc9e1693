// SPDX-License-Identifier: Apache-2.0
// sinh, cosh and the inverses of the hyperbolic functions (docs/numerics.md, "Functions"); the
// coefficients are the specification's.
#include <commensal/verify/scalar/function_parts.hpp>
#include <commensal/verify/scalar/functions.hpp>

namespace commensal::scalar {
namespace {

constexpr std::uint32_t kQuarter = 0x3e800000, kFar = 0x45800000;

// exp(a) / 2 for a >= 0, also where exp(a) overflows.
std::uint32_t half_exp(std::uint32_t a) {
  constexpr std::uint32_t kMost = 0x42be0000;
  if (S::less(kMost, a)) a = kMost;
  const Pair moved = exact_sum(a, kLog2 ^ Binary32::kSign);
  return exp_sum(moved.high, S::add(moved.low, kLog2Rest ^ Binary32::kSign));
}

// x + x^3 p(x^2) for x = |a|.
std::uint32_t odd_series(std::uint32_t a, std::span<const std::uint32_t> coefficients) {
  const std::uint32_t square = S::mul(a, a);
  return S::fma(S::mul(a, square), polynomial(square, coefficients), a);
}

}  // namespace

std::uint32_t sinh(std::uint32_t x) {
  constexpr std::uint32_t kSeries[] = {0x363c5387, 0x39500480, 0x3c08888f, 0x3e2aaaab};
  const std::uint32_t a = S::abs(x);
  if (S::less(a, kOne)) return with_sign_of(x, odd_series(a, kSeries));
  const std::uint32_t h = half_exp(a);
  return S::canonical(with_sign_of(x, S::sub(h, S::div(kQuarter, h))));
}

std::uint32_t cosh(std::uint32_t x) {
  const std::uint32_t h = half_exp(S::abs(x));
  return S::add(h, S::div(kQuarter, h));
}

std::uint32_t asinh(std::uint32_t x) {
  constexpr std::uint32_t kSeries[] = {0x3c22ccb8, 0xbca827ce, 0x3cf70a17,
                                       0xbd36cdf8, 0x3d999975, 0xbe2aaaab};
  const std::uint32_t a = S::abs(x);
  if (S::less(a, kHalf)) return with_sign_of(x, odd_series(a, kSeries));
  if (!S::less(a, kFar)) return S::canonical(with_sign_of(x, S::add(log(a), kLog2)));
  const std::uint32_t square = S::mul(a, a);
  const Pair sum = exact_sum(square, kOne);
  const std::uint32_t root = S::sqrt(sum.high);
  std::uint32_t lost = S::add(S::fma(a, a, S::neg(square)), sum.low);
  lost = S::add(lost, S::fma(S::neg(root), root, sum.high));
  const Pair u = exact_sum(a, root);
  const std::uint32_t u_low = S::add(u.low, S::div(lost, S::add(root, root)));
  return with_sign_of(x, S::add(log(u.high), S::div(u_low, u.high)));
}

std::uint32_t acosh(std::uint32_t x) {
  if (S::is_nan(x) || S::less(x, kOne)) return kNan;
  if (!S::less(x, kFar)) return S::add(log(x), kLog2);
  const std::uint32_t t = S::sub(x, kOne);
  const std::uint32_t w = S::add(t, S::sqrt(S::fma(t, t, S::add(t, t)))), u = S::add(w, kOne);
  const std::uint32_t lost = S::sub(w, S::sub(u, kOne));
  return S::add(log(u), S::div(lost, u));
}

std::uint32_t atanh(std::uint32_t x) {
  constexpr std::uint32_t kSeries[] = {0x3e200aeb, 0x3d2797c7, 0x3dc7b841, 0x3de2522d,
                                       0x3e124fe2, 0x3e4cccb2, 0x3eaaaaab};
  const std::uint32_t a = S::abs(x);
  if (S::less(a, kHalf)) return with_sign_of(x, odd_series(a, kSeries));
  const std::uint32_t ratio = S::div(S::add(kOne, a), S::sub(kOne, a));
  return S::canonical(with_sign_of(x, S::mul(log(ratio), kHalf)));
}

}  // namespace commensal::scalar

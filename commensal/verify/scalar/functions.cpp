// SPDX-License-Identifier: Apache-2.0
// The functions of docs/numerics.md, "Functions", operation by operation. Numbers are bits of
// binary32; the coefficients are the specification's.
#include <commensal/verify/scalar/function_parts.hpp>
#include <commensal/verify/scalar/functions.hpp>

namespace commensal::scalar {
namespace {

// x = 2^exponent (1 + f) with 1 + f in [2/3, 4/3). Precondition: x is finite and above 0.
struct LogParts {
  std::uint32_t f, exponent;
};
LogParts log_parts(std::uint32_t x) {
  const bool is_tiny = S::less(x, 0x00800000);
  if (is_tiny) x = S::mul(x, 0x4b000000);
  const auto e = static_cast<std::int32_t>(x - 0x3f2aaaab) >> 23;  // 2/3
  const std::uint32_t f = S::sub(x - (static_cast<std::uint32_t>(e) << 23), kOne);
  return {f, S::add(S::of_integer(e), is_tiny ? 0xc1b80000 : 0)};  // -23
}

// |x|^y for finite x > 0, through a logarithm in two parts: log(1 + f) = 2 atanh(s), s = f / (2 +
// f).
std::uint32_t pow_positive(std::uint32_t x, std::uint32_t y) {
  const auto [f, n] = log_parts(x);
  const std::uint32_t d = S::add(f, kTwo), d_low = S::sub(f, S::sub(d, kTwo));
  const std::uint32_t s = S::div(f, d), minus_s = s ^ Binary32::kSign;
  const std::uint32_t s_low = S::div(S::fma(minus_s, d_low, S::fma(minus_s, d, f)), d);
  constexpr std::uint32_t kTerms[] = {0x3e76ca04, 0x3e91f4b0, 0x3ecccdef, 0x3f2aaaaa};
  const std::uint32_t square = S::mul(s, s), h = S::add(s, s);
  std::uint32_t low = S::fma(S::mul(s, square), polynomial(square, kTerms), S::add(s_low, s_low));
  // log 2 in two parts, the first so short that its multiples are exact.
  const std::uint32_t big = S::mul(n, 0x3f317000), sum = S::add(big, h);
  low = S::add(low, S::sub(h, S::sub(sum, big)));
  low = S::fma(n, 0x3805fdf4, low);
  const std::uint32_t log_high = S::add(sum, low), log_low = S::sub(low, S::sub(log_high, sum));
  const std::uint32_t product = S::mul(y, log_high);
  std::uint32_t rest = S::fma(y, log_high, S::neg(product));
  rest = S::fma(y, log_low, rest);
  return exp_sum(product, S::less(S::abs(product), 0x43480000) ? rest : 0);  // 200
}

}  // namespace

std::uint32_t exp_sum(std::uint32_t x, std::uint32_t rest) {
  if (S::is_nan(x)) return kNan;
  constexpr std::uint32_t kLow = 0xc2d00000, kHigh = 0x42b20000;  // -104, 89
  if (S::less(x, kLow)) x = kLow;
  if (S::less(kHigh, x)) x = kHigh;
  const std::int32_t n = nearest(S::mul(x, 0x3fb8aa3b));  // 1 / log 2
  const std::uint32_t n_float = S::of_integer(n);
  std::uint32_t r = S::fma(n_float, kLog2 ^ Binary32::kSign, x);
  r = S::fma(n_float, kLog2Rest ^ Binary32::kSign, r);
  r = S::add(r, rest);
  constexpr std::uint32_t kTerms[] = {0x3ab510b1, 0x3c091dce, 0x3d2aac7e, 0x3e2aaa48, 0x3efffffe};
  const std::uint32_t m = S::add(S::fma(S::mul(r, r), polynomial(r, kTerms), r), kOne);
  // In two factors, so that a subnormal result is rounded once.
  const std::int32_t half = n >> 1;
  return S::mul(S::mul(m, power_of_2(half)), power_of_2(n - half));
}

std::uint32_t exp(std::uint32_t x) { return exp_sum(x, 0); }

std::uint32_t log(std::uint32_t x) {
  if (S::is_nan(x)) return kNan;
  if (S::is_zero(x)) return kInfinity | Binary32::kSign;
  if (S::is_negative(x)) return kNan;
  if (S::is_infinite(x)) return kInfinity;
  const auto [f, exponent] = log_parts(x);
  constexpr std::uint32_t kTail[] = {0xbe07152e, 0x3e0ef9b5, 0xbdf81e28, 0x3e0f78ca,
                                     0xbe2adbf2, 0x3e4ce721, 0xbe7fff2f, 0x3eaaaa86};
  const std::uint32_t square = S::mul(f, f);
  std::uint32_t r =
      S::fma(S::mul(f, square), polynomial(f, kTail), S::mul(square, kHalf | Binary32::kSign));
  r = S::fma(exponent, kLog2Rest, r);
  return S::fma(exponent, kLog2, S::add(r, f));
}

std::uint32_t sigmoid(std::uint32_t x) {
  const std::uint32_t e = exp(S::neg(S::abs(x)));
  return S::div(S::less(x, 0) ? e : kOne, S::add(kOne, e));
}

std::uint32_t tanh(std::uint32_t x) {
  if (S::is_nan(x)) return kNan;
  const std::uint32_t a = S::abs(x);
  if (S::less(a, 0x3f266666)) {  // 0.65
    constexpr std::uint32_t kTerms[] = {0xbbb529a6, 0x3ca7cca7, 0xbd5bed29, 0x3e088227, 0xbeaaaa93};
    const std::uint32_t square = S::mul(a, a);
    return with_sign_of(x, S::fma(S::mul(a, square), polynomial(square, kTerms), a));
  }
  const std::uint32_t t = S::add(exp(S::add(a, a)), kOne);
  return with_sign_of(x, S::sub(kOne, S::div(kTwo, t)));
}

std::uint32_t erf(std::uint32_t x) {
  if (S::is_nan(x)) return kNan;
  std::uint32_t a = S::abs(x);
  if (S::less(a, 0x3f6e147b)) {  // 0.93
    constexpr std::uint32_t kTerms[] = {0x38af031a, 0xba55516d, 0x3baa6a16, 0xbcdc07f9,
                                        0x3de7170e, 0xbec093a2, 0x3e0375d4};
    return with_sign_of(x, S::fma(a, polynomial(S::mul(a, a), kTerms), a));
  }
  constexpr std::uint32_t kEnd = 0x407ccccd;  // 3.95: the result is 1 from there on
  if (S::less(kEnd, a)) a = kEnd;
  constexpr std::uint32_t kExponent[] = {0x37b184d2, 0xb9e42e13, 0x3b88cb71, 0xbccdda8b,
                                         0x3dddc937, 0x3f222238, 0x3f909423, 0xb9386af5};
  return with_sign_of(x, S::sub(kOne, exp(S::neg(polynomial(a, kExponent)))));
}

std::uint32_t softplus(std::uint32_t x) {
  const std::uint32_t e = exp(S::neg(S::abs(x))), u = S::add(kOne, e);
  const std::uint32_t lost = S::sub(e, S::sub(u, kOne));  // log1p(e) is log(u) + lost / u
  return S::add(S::maximum(x, 0), S::add(log(u), S::div(lost, u)));
}

std::uint32_t pow(std::uint32_t x, std::uint32_t y) {
  if (S::is_zero(y) || x == kOne) return kOne;
  if (S::is_nan(x) || S::is_nan(y)) return kNan;
  const std::uint32_t a = S::abs(x);
  if (a == kOne && S::is_infinite(y)) return kOne;
  // From 2^24 on all numbers are even integers.
  const bool is_small = S::less(S::abs(y), 0x4b800000);
  const bool is_integral = !is_small || S::round(y, S::Towards::kNearestEven) == y;
  const bool is_odd = is_small && is_integral && (nearest(y) & 1) != 0;
  const bool is_finite = !S::is_infinite(a) && a != 0;
  if (S::is_negative(x) && is_finite && !is_integral) return kNan;
  const std::uint32_t magnitude = is_finite                       ? pow_positive(a, y)
                                  : S::is_negative(y) == (a == 0) ? kInfinity
                                                                  : 0;
  return S::is_negative(x) && is_odd ? magnitude ^ Binary32::kSign : magnitude;
}

}  // namespace commensal::scalar

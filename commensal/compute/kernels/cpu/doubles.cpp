// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as cpu/lanes.cpp is.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/doubles.cpp>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <commensal/compute/kernels/cpu/doubles-inl.hpp>
#include <commensal/compute/kernels/cpu/doubles.hpp>
#include <commensal/compute/kernels/cpu/extremes-inl.hpp>
#include <commensal/compute/kernels/cpu/plain-inl.hpp>
#include <commensal/compute/kernels/math/binary64.hpp>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

inline constexpr int kAtOnce64 = kLanesOf<double>;

/// y[i] = of(vector at x + i), NaN canonical.
template <class Of>
HWY_INLINE void each_of_doubles(const double* x, double* y, std::int64_t count, const Of& of) {
  std::int64_t i = 0;
  for (; i + kAtOnce64 <= count; i += kAtOnce64) {
    hn::StoreU(canonical(of(hn::LoadU(kDoubles, x + i))), kDoubles, y + i);
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    store_first(rest, canonical(of(load_first(rest, x + i))), y + i);
  }
}

template <class F>
void unary_doubles(const double* x, double* y, std::int64_t count) {
  each_of_doubles(x, y, count, [](VD v) HWY_ATTR { return F::of(v); });
}

void pow_doubles(const double* a, int a_step, const double* b, int b_step, double* y,
                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kAtOnce64) {
    const auto here = static_cast<int>(std::min<std::int64_t>(count - i, kAtOnce64));
    const VD base = a_step == 0 ? all(*a) : load_first(here, a + i);
    const VD exponent = b_step == 0 ? all(*b) : load_first(here, b + i);
    const VD size = hn::Abs(base);
    const auto is_plain =
        hn::And(hn::And(hn::Gt(size, hn::Zero(kDoubles)), hn::Lt(size, all(kInfinity64))),
                hn::Lt(hn::Abs(exponent), all(kInfinity64)));
    VD made = canonical(pow_of(base, exponent));
    if (!hn::AllTrue(kDoubles, is_plain)) {  // the special cases one by one
      HWY_ALIGN double x[kAtOnce64], to[kAtOnce64], power[kAtOnce64];
      hn::Store(base, kDoubles, x);
      hn::Store(exponent, kDoubles, to);
      for (int l = 0; l < kAtOnce64; ++l) power[l] = math::binary64::pow(x[l], to[l]);
      made = canonical(hn::IfThenElse(is_plain, made, hn::Load(kDoubles, power)));
    }
    store_first(here, made, y + i);
  }
}

double largest_of_doubles(const double* x, std::int64_t count) {
  using Most = Order<double, true>;
  auto best = Most::start();
  std::int64_t i = 0;
  for (; i + kAtOnce64 <= count; i += kAtOnce64) {
    best = Most::better(best, Most::key(hn::LoadU(kDoubles, x + i)));
  }
  if (const auto rest = static_cast<int>(count - i); rest > 0) {
    const auto here = hn::FirstN(kDoubles, static_cast<std::size_t>(rest));
    const VD last = hn::IfThenElse(here, load_first(rest, x + i), all(-kInfinity64));
    best = Most::better(best, Most::key(last));
  }
  HWY_ALIGN double each[kAtOnce64];
  hn::Store(Most::value(best), kDoubles, each);
  double largest = each[0];
  for (int l = 1; l < kAtOnce64; ++l) {
    const VD one = Most::value(Most::better(Most::key(all(largest)), Most::key(all(each[l]))));
    largest = hn::GetLane(one);
  }
  return largest;
}

void exp_sum_of_doubles(const double* x, double shift, double* y, std::int64_t count,
                        double* lanes) {
  constexpr std::int64_t kSumLanes = 32;
  const VD by = all(shift);
  for (std::int64_t i = 0; i < count; i += kAtOnce64) {
    const auto here = static_cast<int>(std::min<std::int64_t>(count - i, kAtOnce64));
    const VD term = Exp64::of(hn::Sub(load_first(here, x + i), by));
    store_first(here, term, y + i);
    double* const lane = lanes + i % kSumLanes;
    const auto wanted = hn::FirstN(kDoubles, static_cast<std::size_t>(here));
    const VD added = hn::IfThenElse(wanted, term, all(-0.0));  // which changes no sum
    hn::StoreU(hn::Add(hn::LoadU(kDoubles, lane), added), kDoubles, lane);
  }
}

void divide_doubles(const double* x, double by, double* y, std::int64_t count) {
  each_of_doubles(x, y, count, [by](VD v) HWY_ATTR { return hn::Div(v, all(by)); });
}
void subtract_doubles(const double* x, double shift, double by, double* y, std::int64_t count) {
  each_of_doubles(x, y, count,
                  [shift, by](VD v) HWY_ATTR { return hn::Sub(hn::Sub(v, all(shift)), all(by)); });
}

constexpr DoubleKernels make_double_kernels() {
  DoubleKernels made;
  const auto set = [&](Unary what, auto fn) { made.unary[static_cast<std::size_t>(what)] = fn; };
  set(Unary::kAbs, unary_doubles<Abs>);
  set(Unary::kCeil, unary_doubles<Ceil>);
  set(Unary::kCos, unary_doubles<Wave64<1>>);
  set(Unary::kExp, unary_doubles<Exp64>);
  set(Unary::kFloor, unary_doubles<Floor>);
  set(Unary::kLog, unary_doubles<Log64>);
  set(Unary::kNeg, unary_doubles<Neg>);
  set(Unary::kReciprocal, unary_doubles<Reciprocal>);
  set(Unary::kRelu, unary_doubles<Relu>);
  set(Unary::kRound, unary_doubles<Round>);
  set(Unary::kSigmoid, unary_doubles<Sigmoid64>);
  set(Unary::kSin, unary_doubles<Wave64<0>>);
  set(Unary::kSqrt, unary_doubles<Sqrt>);
  set(Unary::kTanh, unary_doubles<Tanh64>);
  made.pow = pow_doubles;
  made.largest = largest_of_doubles;
  made.exp_sum = exp_sum_of_doubles;
  made.divide = divide_doubles;
  made.subtract = subtract_doubles;
  return made;
}
inline constexpr DoubleKernels kDoubleKernels = make_double_kernels();

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commensal::kernels {

const cpu::DoubleKernels& cpu::double_kernels_for(Isa isa) {
  return COMMENSAL_OF_ISA(isa, kDoubleKernels);
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE

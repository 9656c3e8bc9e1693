// SPDX-License-Identifier: Apache-2.0
// Functions of one input.
#include <bit>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

using SignedNumbers =
    Types<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;

struct Abs {
  using In = Numbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      return std::abs(in(0));
    } else {
      return in(0) < 0 ? minus(Compute<T>{0}, in(0)) : in(0);
    }
  }
};
struct Neg {
  using In = SignedNumbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      return -in(0);
    } else {
      return minus(Compute<T>{0}, in(0));
    }
  }
};
struct Sign {
  using In = Numbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    using C = Compute<T>;
    const C x = in(0);
    if constexpr (std::is_floating_point_v<C>) {
      // By its bits, without a branch, so that compilers make vectors of it. A NaN stays one.
      using Bits = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
      constexpr Bits kSign = Bits{1} << (8 * sizeof(C) - 1);
      constexpr auto kInfinity = std::bit_cast<Bits>(std::numeric_limits<C>::infinity());
      const auto bits = std::bit_cast<Bits>(x);
      const Bits magnitude = bits & ~kSign, one = (bits & kSign) | std::bit_cast<Bits>(C{1});
      const Bits made = magnitude == 0 ? Bits{0} : one;
      return std::bit_cast<C>(magnitude > kInfinity ? bits : made);
    } else {
      return static_cast<C>(static_cast<C>(x > C{0}) - static_cast<C>(x < C{0}));
    }
  }
};
struct Not {
  using In = Types<bool>;
  template <class T, class P>
  bool value(const Operands<T, P>& in) const {
    return std::bit_cast<std::uint8_t>(in(0)) == 0;  // of !x compilers make no vectors
  }
};
using AllFloats = Types<float, double, Float16, Bfloat16, tensor::Small<DType::kFloat8E4M3Fn>,
                        tensor::Small<DType::kFloat8E4M3FnUz>, tensor::Small<DType::kFloat8E5M2>,
                        tensor::Small<DType::kFloat8E5M2FnUz>>;

struct IsNan {
  using In = AllFloats;
  template <class T, class P>
  bool value(const Operands<T, P>& in) const {
    return in(0) != in(0);
  }
};
struct IsInf {
  using In = AllFloats;
  bool positive = true, negative = true;
  static core::Result<IsInf> make(const Call& call) {
    IsInf op;
    COMMENSAL_ASSIGN(op.positive, call.attributes->integer("detect_positive", 1));
    COMMENSAL_ASSIGN(op.negative, call.attributes->integer("detect_negative", 1));
    return op;
  }
  template <class T, class P>
  bool value(const Operands<T, P>& in) const {
    constexpr auto kInfinity = std::numeric_limits<Compute<T>>::infinity();
    // Without a branch, so that compilers make vectors of it.
    return ((in(0) == kInfinity) & positive) | ((in(0) == -kInfinity) & negative);
  }
};

/// F: a struct with `using In` and `static X of(X)` for every type X that In computes in.
template <class F>
struct Function {
  using In = typename F::In;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return F::of(in(0));
  }
};

struct Sqrt {
  using In = Floats;
  static auto of(auto x) { return std::sqrt(x); }
};
struct Reciprocal {
  using In = Floats;
  static auto of(auto x) { return decltype(x){1} / x; }
};
struct Floor {
  using In = Floats;
  static auto of(auto x) { return std::floor(x); }
};
struct Ceil {
  using In = Floats;
  static auto of(auto x) { return std::ceil(x); }
};
struct Round {  // half to even
  using In = Floats;
  static auto of(auto x) { return std::nearbyint(x); }
};
struct Softsign {
  using In = Floats;
  static auto of(auto x) { return x / (1 + std::abs(x)); }
};

}  // namespace

constinit const Judge kAbs = elementwise<Abs>();
constinit const Judge kCeil = elementwise<Function<Ceil>>();
constinit const Judge kFloor = elementwise<Function<Floor>>();
constinit const Judge kIsInf = elementwise<IsInf>();
constinit const Judge kIsNan = elementwise<IsNan>();
constinit const Judge kNeg = elementwise<Neg>();
constinit const Judge kLogicalNot = elementwise<Not>();
constinit const Judge kReciprocal = elementwise<Function<Reciprocal>>();
constinit const Judge kRound = elementwise<Function<Round>>();
constinit const Judge kSign = elementwise<Sign>();
constinit const Judge kSoftsign = elementwise<Function<Softsign>>();
constinit const Judge kSqrt = elementwise<Function<Sqrt>>();

}  // namespace commensal::kernels::ref

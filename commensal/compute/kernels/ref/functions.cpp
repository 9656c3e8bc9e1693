// SPDX-License-Identifier: Apache-2.0
// Exp, Log and what is made of them, trigonometric and hyperbolic functions.
#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

template <float (*kSingle)(float), double (*kDouble)(double)>
struct Function {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    if constexpr (std::is_same_v<Compute<T>, double>) {
      return kDouble(in(0));
    } else {
      return kSingle(in(0));
    }
  }
};

}  // namespace

constinit const Judge kAcos = elementwise<Function<math::acos<Lane>, math::binary64::acos>>();
constinit const Judge kAcosh = elementwise<Function<math::acosh<Lane>, math::binary64::acosh>>();
constinit const Judge kAsin = elementwise<Function<math::asin<Lane>, math::binary64::asin>>();
constinit const Judge kAsinh = elementwise<Function<math::asinh<Lane>, math::binary64::asinh>>();
constinit const Judge kAtan = elementwise<Function<math::atan<Lane>, math::binary64::atan>>();
constinit const Judge kAtanh = elementwise<Function<math::atanh<Lane>, math::binary64::atanh>>();
constinit const Judge kCos = elementwise<Function<math::cos<Lane>, math::binary64::cos>>();
constinit const Judge kCosh = elementwise<Function<math::cosh<Lane>, math::binary64::cosh>>();
constinit const Judge kErf = elementwise<Function<math::erf<Lane>, math::binary64::erf>>();
constinit const Judge kExp = elementwise<Function<math::exp<Lane>, math::binary64::exp>>();
constinit const Judge kLog = elementwise<Function<math::log<Lane>, math::binary64::log>>();
constinit const Judge kSigmoid =
    elementwise<Function<math::sigmoid<Lane>, math::binary64::sigmoid>>();
constinit const Judge kSin = elementwise<Function<math::sin<Lane>, math::binary64::sin>>();
constinit const Judge kSinh = elementwise<Function<math::sinh<Lane>, math::binary64::sinh>>();
constinit const Judge kSoftplus =
    elementwise<Function<math::softplus<Lane>, math::binary64::softplus>>();
constinit const Judge kTan = elementwise<Function<math::tan<Lane>, math::binary64::tan>>();
constinit const Judge kTanh = elementwise<Function<math::tanh<Lane>, math::binary64::tanh>>();

}  // namespace commensal::kernels::ref

// SPDX-License-Identifier: Apache-2.0
// Exp, Log and what is made of them, trigonometric and hyperbolic functions.
#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

template <float (*kSingle)(float), double (*kDouble)(double)>
struct Function {
  using In = Floats;
  template <class T>
  Compute<T> value(const Operands<T>& in) const {
    if constexpr (std::is_same_v<Compute<T>, double>) {
      return kDouble(in(0));
    } else {
      return kSingle(in(0));
    }
  }
};

}  // namespace

Columns acos() { return elementwise<Function<math::acos<Lane>, math::binary64::acos>>(); }
Columns acosh() { return elementwise<Function<math::acosh<Lane>, math::binary64::acosh>>(); }
Columns asin() { return elementwise<Function<math::asin<Lane>, math::binary64::asin>>(); }
Columns asinh() { return elementwise<Function<math::asinh<Lane>, math::binary64::asinh>>(); }
Columns atan() { return elementwise<Function<math::atan<Lane>, math::binary64::atan>>(); }
Columns atanh() { return elementwise<Function<math::atanh<Lane>, math::binary64::atanh>>(); }
Columns cos() { return elementwise<Function<math::cos<Lane>, math::binary64::cos>>(); }
Columns cosh() { return elementwise<Function<math::cosh<Lane>, math::binary64::cosh>>(); }
Columns erf() { return elementwise<Function<math::erf<Lane>, math::binary64::erf>>(); }
Columns exp() { return elementwise<Function<math::exp<Lane>, math::binary64::exp>>(); }
Columns log() { return elementwise<Function<math::log<Lane>, math::binary64::log>>(); }
Columns sigmoid() { return elementwise<Function<math::sigmoid<Lane>, math::binary64::sigmoid>>(); }
Columns sin() { return elementwise<Function<math::sin<Lane>, math::binary64::sin>>(); }
Columns sinh() { return elementwise<Function<math::sinh<Lane>, math::binary64::sinh>>(); }
Columns softplus() {
  return elementwise<Function<math::softplus<Lane>, math::binary64::softplus>>();
}
Columns tan() { return elementwise<Function<math::tan<Lane>, math::binary64::tan>>(); }
Columns tanh() { return elementwise<Function<math::tanh<Lane>, math::binary64::tanh>>(); }

}  // namespace commensal::kernels::ref

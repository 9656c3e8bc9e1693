// SPDX-License-Identifier: Apache-2.0
// Sin, Cos, Tan, Sinh, Cosh and the inverses of these and of Tanh.
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

template <float (*kFunction)(float)>
struct Function {
  using In = Floats32;
  template <class T>
  float value(const Operands<T>& in) const {
    return kFunction(in(0));
  }
};

}  // namespace

Columns acos() { return elementwise<Function<math::acos<Lane>>>(); }
Columns acosh() { return elementwise<Function<math::acosh<Lane>>>(); }
Columns asin() { return elementwise<Function<math::asin<Lane>>>(); }
Columns asinh() { return elementwise<Function<math::asinh<Lane>>>(); }
Columns atan() { return elementwise<Function<math::atan<Lane>>>(); }
Columns atanh() { return elementwise<Function<math::atanh<Lane>>>(); }
Columns cos() { return elementwise<Function<math::cos<Lane>>>(); }
Columns cosh() { return elementwise<Function<math::cosh<Lane>>>(); }
Columns sin() { return elementwise<Function<math::sin<Lane>>>(); }
Columns sinh() { return elementwise<Function<math::sinh<Lane>>>(); }
Columns tan() { return elementwise<Function<math::tan<Lane>>>(); }

}  // namespace commensal::kernels::ref

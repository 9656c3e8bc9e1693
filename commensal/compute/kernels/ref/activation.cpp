// SPDX-License-Identifier: Apache-2.0
// Activations of one input.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

struct Relu {
  using In = Types<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t>;
  template <class T>
  Compute<T> value(const Operands<T>& in) const {
    Extreme<Compute<T>, true> best;
    best.add(0, in(0));
    best.add(1, Compute<T>{0});
    return best.value();
  }
};

}  // namespace

Columns relu() { return elementwise<Relu>(); }

}  // namespace commensal::kernels::ref

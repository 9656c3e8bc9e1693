// SPDX-License-Identifier: Apache-2.0
// Bits of integers: BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.
#include <commensal/compute/kernels/ref/elementwise.hpp>
#include <commensal/compute/kernels/ref/ops_newer.hpp>

namespace commensal::kernels::ref {
namespace {

struct BitwiseAnd {
  using In = Integers;
  template <class T>
  T value(const Operands<T>& in) const {
    return static_cast<T>(in(0) & in(1));
  }
};
struct BitwiseOr {
  using In = Integers;
  template <class T>
  T value(const Operands<T>& in) const {
    return static_cast<T>(in(0) | in(1));
  }
};
struct BitwiseXor {
  using In = Integers;
  template <class T>
  T value(const Operands<T>& in) const {
    return static_cast<T>(in(0) ^ in(1));
  }
};
struct BitwiseNot {
  using In = Integers;
  template <class T>
  T value(const Operands<T>& in) const {
    return static_cast<T>(~in(0));
  }
};

}  // namespace

Columns bitwise_and() { return elementwise<BitwiseAnd>(); }
Columns bitwise_not() { return elementwise<BitwiseNot>(); }
Columns bitwise_or() { return elementwise<BitwiseOr>(); }
Columns bitwise_xor() { return elementwise<BitwiseXor>(); }

}  // namespace commensal::kernels::ref

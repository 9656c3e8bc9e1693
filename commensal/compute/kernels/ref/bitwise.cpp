// SPDX-License-Identifier: Apache-2.0
// Bits of integers: BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.
#include <commensal/compute/kernels/ref/elementwise.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>

namespace commensal::kernels::ref {
namespace {

struct BitwiseAnd {
  using In = Integers;
  template <class T, class P>
  T value(const Operands<T, P>& in) const {
    return static_cast<T>(in(0) & in(1));
  }
};
struct BitwiseOr {
  using In = Integers;
  template <class T, class P>
  T value(const Operands<T, P>& in) const {
    return static_cast<T>(in(0) | in(1));
  }
};
struct BitwiseXor {
  using In = Integers;
  template <class T, class P>
  T value(const Operands<T, P>& in) const {
    return static_cast<T>(in(0) ^ in(1));
  }
};
struct BitwiseNot {
  using In = Integers;
  template <class T, class P>
  T value(const Operands<T, P>& in) const {
    return static_cast<T>(~in(0));
  }
};

}  // namespace

constinit const Judge kBitwiseAnd = elementwise<BitwiseAnd>();
constinit const Judge kBitwiseNot = elementwise<BitwiseNot>();
constinit const Judge kBitwiseOr = elementwise<BitwiseOr>();
constinit const Judge kBitwiseXor = elementwise<BitwiseXor>();

}  // namespace commensal::kernels::ref

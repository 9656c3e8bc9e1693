// SPDX-License-Identifier: Apache-2.0
// Smooth activations: Gelu, Mish, Swish. Each line is evaluated as it is written.
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>

namespace commensal::kernels::ref {
namespace {

struct Gelu {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  bool by_tanh = false;

  static core::Result<Gelu> make(const Call& call) {
    COMMENSAL_ASSIGN(const std::string way, call.attributes->text("approximate", "none"));
    if (way == "none" || way == "tanh") return Gelu{way == "tanh"};
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "attribute 'approximate' must be none or tanh, not '{}'", way);
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    using C = Compute<T>;
    const C x = in(0), half = C{0.5} * x;
    if (!by_tanh) return half * (1 + math::by_type::erf(x * std::sqrt(C{0.5})));
    constexpr double kRootOfTwoOverPi = 0x1.9884533d43651p-1;
    const C cube = x * x * x;
    const C inner = x + static_cast<C>(0.044715) * cube;
    return half * (1 + math::by_type::tanh(static_cast<C>(kRootOfTwoOverPi) * inner));
  }
};

struct Mish {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return in(0) * math::by_type::tanh(math::by_type::softplus(in(0)));
  }
};

struct Swish {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  float alpha = 1;

  static core::Result<Swish> make(const Call& call) {
    COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 1));
    return Swish{alpha};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return in(0) * math::by_type::sigmoid(static_cast<Compute<T>>(alpha) * in(0));
  }
};

}  // namespace

constinit const Judge kGelu = elementwise<Gelu>();
constinit const Judge kMish = elementwise<Mish>();
constinit const Judge kSwish = elementwise<Swish>();

}  // namespace commensal::kernels::ref

// SPDX-License-Identifier: Apache-2.0
// Activations: functions of one input and a few parameters.
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

template <class C>
C larger(C a, C b) {
  return above(b, a) ? b : a;
}
template <class C>
C smaller(C a, C b) {
  return below(b, a) ? b : a;
}

struct Relu {
  using In = Types<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t>;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return larger(in(0), Compute<T>{0});
  }
};

struct LeakyRelu {
  using In = Floats;
  float alpha = 0.01f;
  static core::Result<LeakyRelu> make(const Call& call) {
    COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 0.01f));
    return LeakyRelu{alpha};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return in(0) < 0 ? static_cast<Compute<T>>(alpha) * in(0) : in(0);
  }
};

struct PRelu {
  using In = Products;
  static core::Result<shape_inference::Broadcast> broadcast(const Call& call) {
    // Before opset 7 the slope is one number or one a channel.
    return call.opset < 7 ? shape_inference::Broadcast::limited(call, 1)
                          : shape_inference::Broadcast::of(call);
  }
  static core::Result<PRelu> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    if (call.opset < 7) {
      COMMENSAL_TRY(shape_inference::check_rank(call, 1, 1));
      return PRelu{};
    }
    COMMENSAL_ASSIGN(const Shape both, tensor::broadcast(call.in(0).shape(), call.in(1).shape()));
    if (both == call.in(0).shape()) return PRelu{};
    return core::fail(core::ErrorCode::kInvalidArgument, "slope {} does not broadcast to input {}",
                      call.in(1).shape().text(), call.in(0).shape().text());
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return in(0) < Compute<T>{0} ? times(in(1), in(0)) : in(0);
  }
};

// alpha * (exp(x) - 1) below 0.
struct Elu {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  float alpha = 1;
  static core::Result<Elu> make(const Call& call) {
    COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 1));
    return Elu{alpha};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return in(0) < 0 ? Compute<T>{alpha} * (math::by_type::exp(in(0)) - 1) : in(0);
  }
};

// alpha * (exp(x / alpha) - 1) below 0.
struct Celu {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  float alpha = 1;
  static core::Result<Celu> make(const Call& call) {
    COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 1));
    return Celu{alpha};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    const Compute<T> a = alpha;
    return in(0) < 0 ? a * (math::by_type::exp(in(0) / a) - 1) : in(0);
  }
};

// gamma * x above 0, else gamma * (alpha * exp(x) - alpha).
struct Selu {
  using In = Floats;
  static constexpr bool kByFunctions = true;
  float alpha = 0, gamma = 0;
  static core::Result<Selu> make(const Call& call) {
    Selu op;
    const bool short_defaults = call.opset < 6;
    COMMENSAL_ASSIGN(op.alpha, call.attributes->real(
                                   "alpha", short_defaults ? 1.6732f : 1.67326319217681884765625f));
    COMMENSAL_ASSIGN(op.gamma, call.attributes->real(
                                   "gamma", short_defaults ? 1.0507f : 1.05070102214813232421875f));
    return op;
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    const Compute<T> a = alpha, g = gamma;
    return in(0) > 0 ? g * in(0) : g * (a * math::by_type::exp(in(0)) - a);
  }
};

template <class C>
C hard_sigmoid_of(C x, C alpha, C beta) {
  return larger(smaller(std::fma(alpha, x, beta), C{1}), C{0});
}

struct HardSigmoid {
  using In = Floats;
  float alpha = 0.2f, beta = 0.5f;
  static core::Result<HardSigmoid> make(const Call& call) {
    HardSigmoid op;
    COMMENSAL_ASSIGN(op.alpha, call.attributes->real("alpha", 0.2f));
    COMMENSAL_ASSIGN(op.beta, call.attributes->real("beta", 0.5f));
    return op;
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return hard_sigmoid_of(in(0), static_cast<Compute<T>>(alpha), static_cast<Compute<T>>(beta));
  }
};

// x * HardSigmoid(x), alpha 1/6 in the type of the arithmetic, beta 1/2.
struct HardSwish {
  using In = Floats;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    using C = Compute<T>;
    return in(0) * hard_sigmoid_of(in(0), C{1} / C{6}, C{0.5});
  }
};

struct ThresholdedRelu {
  using In = Floats;
  float alpha = 1;
  static core::Result<ThresholdedRelu> make(const Call& call) {
    COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 1));
    return ThresholdedRelu{alpha};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    const bool keeps = in(0) > static_cast<Compute<T>>(alpha) || in(0) != in(0);
    return keeps ? in(0) : Compute<T>{0};
  }
};

// Towards 0 by bias, where |x| is beyond lambd; else +0.
struct Shrink {
  using In = Floats;
  float bias = 0, lambda = 0.5f;
  static core::Result<Shrink> make(const Call& call) {
    Shrink op;
    COMMENSAL_ASSIGN(op.bias, call.attributes->real("bias", 0));
    COMMENSAL_ASSIGN(op.lambda, call.attributes->real("lambd", 0.5f));
    return op;
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    using C = Compute<T>;
    const C x = in(0);
    if (x < -static_cast<C>(lambda)) return x + static_cast<C>(bias);
    if (x > static_cast<C>(lambda)) return x - static_cast<C>(bias);
    return x != x ? x : C{0};
  }
};

// First the lower bound, then the upper one; a bound that is absent does not bound.
struct Clip {
  using In = Numbers;
  bool by_attribute = false;
  float low = 0, high = 0;
  bool has_low = false, has_high = false;

  static core::Result<Clip> make(const Call& call) {
    Clip op;
    op.by_attribute = call.opset < 11;
    if (!op.by_attribute) {
      for (int i = 1; i <= 2; ++i) {
        COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
        if (!call.has(i) || call.in(i).elements() == 1) continue;
        return core::fail(core::ErrorCode::kInvalidArgument, "input {} must be a scalar, not {}", i,
                          call.in(i).shape().text());
      }
      op.has_low = call.has(1);
      op.has_high = call.has(2);
      return op;
    }
    op.has_low = call.attributes->has("min");
    op.has_high = call.attributes->has("max");
    COMMENSAL_ASSIGN(op.low, call.attributes->real("min", 0));
    COMMENSAL_ASSIGN(op.high, call.attributes->real("max", 0));
    return op;
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    using C = Compute<T>;
    C x = in(0);
    if (has_low) x = larger(x, by_attribute ? convert<C>(low) : in(1));
    if (has_high) x = smaller(x, by_attribute ? convert<C>(high) : in(2));
    return x;
  }
};

}  // namespace

constinit const Judge kCelu = elementwise<Celu>();
constinit const Judge kClip = elementwise<Clip>();
constinit const Judge kElu = elementwise<Elu>();
constinit const Judge kHardSigmoid = elementwise<HardSigmoid>();
constinit const Judge kHardSwish = elementwise<HardSwish>();
constinit const Judge kLeakyRelu = elementwise<LeakyRelu>();
constinit const Judge kPrelu = elementwise<PRelu>();
constinit const Judge kRelu = elementwise<Relu>();
constinit const Judge kSelu = elementwise<Selu>();
constinit const Judge kShrink = elementwise<Shrink>();
constinit const Judge kThresholdedRelu = elementwise<ThresholdedRelu>();

}  // namespace commensal::kernels::ref

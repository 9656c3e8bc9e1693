// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two or more broadcast inputs: Add, Sub, Mul, Div, Mod, Sum, Mean, Max, Min.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/elementwise.hpp>

namespace commensal::kernels::ref {
namespace {

struct Add {
  using In = Numbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return plus(in(0), in(1));
  }
};
struct Sub {
  using In = Numbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return minus(in(0), in(1));
  }
};
struct Mul {
  using In = Numbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return times(in(0), in(1));
  }
};
struct Div {
  using In = Numbers;
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return divided_by(in(0), in(1));
  }
};

struct Mod {
  using In = Numbers;
  bool like_dividend = false;

  static core::Result<Mod> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_ASSIGN(const std::int64_t fmod, call.attributes->integer("fmod", 0));
    if (fmod == 0 && Floats::has(call.in(0).dtype())) {
      return core::fail(core::ErrorCode::kInvalidArgument, "floats need attribute 'fmod' to be 1");
    }
    return Mod{fmod != 0};
  }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    if constexpr (!std::is_floating_point_v<Compute<T>>) {
      if (!like_dividend) return remainder_like_divisor(in(0), in(1));
    }
    return remainder_like_dividend(in(0), in(1));
  }
};

// ((x0 + x1) + x2) + ...
template <class T, class P>
Compute<T> sum_of(const Operands<T, P>& in) {
  Compute<T> sum = in(0);
  for (int i = 1; i < in.count(); ++i) sum = plus(sum, in(i));
  return sum;
}

// Before opset 8 all inputs have one shape.
core::Result<shape_inference::Broadcast> broadcast_since_8(const Call& call) {
  COMMENSAL_ASSIGN(auto made, shape_inference::Broadcast::of(call));
  for (const Tensor* input : call.inputs) {
    if (call.opset >= 8 || input->shape() == call.in(0).shape()) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "inputs {} and {} differ in shape",
                      call.in(0).shape().text(), input->shape().text());
  }
  return made;
}

struct SumOp {
  using In = Floats;
  static auto broadcast(const Call& call) { return broadcast_since_8(call); }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return sum_of(in);
  }
};
struct Mean {
  using In = Floats;
  static auto broadcast(const Call& call) { return broadcast_since_8(call); }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    return sum_of(in) / static_cast<Compute<T>>(in.count());
  }
};

template <bool kMaximum>
struct ExtremeOp {
  using In = Numbers;
  static auto broadcast(const Call& call) { return broadcast_since_8(call); }
  template <class T, class P>
  Compute<T> value(const Operands<T, P>& in) const {
    Extreme<Compute<T>, kMaximum> best;
    for (int i = 0; i < in.count(); ++i) best.add(i, in(i));
    return best.value();
  }
};

}  // namespace

constinit const Judge kAdd = elementwise<Add>();
constinit const Judge kSub = elementwise<Sub>();
constinit const Judge kMul = elementwise<Mul>();
constinit const Judge kDiv = elementwise<Div>();
constinit const Judge kMod = elementwise<Mod>();
constinit const Judge kSum = elementwise<SumOp>();
constinit const Judge kMean = elementwise<Mean>();
constinit const Judge kMax = elementwise<ExtremeOp<true>>();
constinit const Judge kMin = elementwise<ExtremeOp<false>>();

}  // namespace commensal::kernels::ref

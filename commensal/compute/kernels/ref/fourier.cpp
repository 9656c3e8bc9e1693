// SPDX-License-Identifier: Apache-2.0
// DFT and STFT: X_k = sum of x_j * w(j k mod n) over j, w(m) = cos(2 pi m / n) -+ i sin(...), as
// one chain for each part: fma(re x_j, re w, acc), then, if x is complex, fma(-+ im x_j, im w,
// acc). The factors come from math/turns.hpp. The inverse is divided by n at the end.
#include <algorithm>
#include <commensal/compute/kernels/math/turns.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <memory>
#include <mutex>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using math::Turned;

// One transform of length n; `terms` of its inputs are there, the others are 0.
struct Transform {
  std::int64_t n = 1, terms = 1, bins = 1;
  bool complex = false, inverse = false, onesided = false;
  /// Made by who computes first: who only asks for shapes does not pay for millions of them.
  struct Factors {
    std::once_flag made;
    std::vector<Turned> all;
  };
  std::shared_ptr<Factors> factors = std::make_shared<Factors>();

  static core::Result<Transform> of(std::int64_t n, bool complex, bool inverse, bool onesided) {
    if (n < 1 || n > math::kTurnsMax) {
      return fail(ErrorCode::kInvalidArgument, "a transform of length {}, expected 1 to {}", n,
                  math::kTurnsMax);
    }
    if (onesided && (complex || inverse)) {
      return fail(ErrorCode::kUnsupported, "a onesided transform of complex numbers");
    }
    return Transform{n, n, onesided ? n / 2 + 1 : n, complex, inverse, onesided};
  }
  std::vector<Turned> make_factors(const Call& call) const {
    std::vector<Turned> made;
    for (std::int64_t m = 0; m < n; ++m) {
      call.pulse(16);
      made.push_back(math::turned(m, n));
      if (!inverse) made.back().sin = -made.back().sin;
    }
    return made;
  }
  std::int64_t steps() const { return terms * (complex ? 2 : 1); }

  // The chain of one part of bin k; part(j, p) is part p of input j.
  template <class Part>
  float chain(const Call& call, std::int64_t k, bool imaginary, Part part,
              std::int64_t steps) const {
    std::call_once(factors->made, [&] { factors->all = make_factors(call); });
    float acc = 0;
    std::int64_t left = steps;
    for (std::int64_t j = 0; j < terms; ++j) {
      const Turned& w = factors->all[static_cast<std::size_t>(j * k % n)];
      if (left-- <= 0) return acc;
      acc = std::fma(part(j, 0), imaginary ? w.sin : w.cos, acc);
      if (!complex) continue;
      if (left-- <= 0) return acc;
      const float x = part(j, 1);
      acc = imaginary ? std::fma(x, w.cos, acc) : std::fma(-x, w.sin, acc);
    }
    return acc;
  }
  float finish(float acc) const { return (inverse ? acc / static_cast<float>(n) : acc) + 0.0f; }
};

core::Result<bool> is_complex(const Shape& x) {
  const std::int64_t last = x.rank() > 0 ? x[x.rank() - 1] : 0;
  if (last == 1 || last == 2) return last == 2;
  return fail(ErrorCode::kInvalidArgument, "the last dimension of {} must be 1 or 2", x.text());
}

core::Result<std::int64_t> one_integer(const Call& call, int input) {
  COMMENSAL_ASSIGN(const auto list, shape_inference::integer_list(call, input));
  if (list.size() == 1) return list[0];
  return fail(ErrorCode::kInvalidArgument, "input {} must be one integer", input);
}

struct Dft {
  using In = Floats32;
  DType dtype = DType::kUndefined;
  Transform transform;
  Shape to;
  shape_inference::AxisView from_view, to_view;

  static core::Result<Dft> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    Dft op;
    op.dtype = call.in(0).dtype();
    const Shape& x = call.in(0).shape();
    COMMENSAL_ASSIGN(const bool complex, is_complex(x));
    COMMENSAL_ASSIGN(const int axis, axis_of(call));
    COMMENSAL_ASSIGN(const std::int64_t inverse, call.attributes->integer("inverse", 0));
    COMMENSAL_ASSIGN(const std::int64_t onesided, call.attributes->integer("onesided", 0));
    std::int64_t n = x[axis];
    if (call.has(1)) {
      COMMENSAL_ASSIGN(n, one_integer(call, 1));
    }
    COMMENSAL_ASSIGN(op.transform, Transform::of(n, complex, inverse != 0, onesided != 0));
    op.transform.terms = std::min(n, x[axis]);
    COMMENSAL_ASSIGN(const Shape cut, shape_inference::with_dim(x, axis, op.transform.bins));
    COMMENSAL_ASSIGN(op.to, shape_inference::with_dim(cut, x.rank() - 1, 2));
    op.from_view = shape_inference::AxisView(x, axis);
    op.to_view = shape_inference::AxisView(op.to, axis);
    return op;
  }
  // An attribute, from opset 20 on an input. The last axis holds the parts of a number.
  static core::Result<int> axis_of(const Call& call) {
    const int rank = call.in(0).shape().rank();
    std::int64_t given = -2;
    if (call.opset < 20) {
      COMMENSAL_ASSIGN(given, call.attributes->integer("axis", 1));
    } else if (call.has(2)) {
      COMMENSAL_ASSIGN(given, one_integer(call, 2));
    }
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, rank));
    if (axis < rank - 1) return axis;
    return fail(ErrorCode::kInvalidArgument, "axis {} holds the parts of the numbers", axis);
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }

  // Where part `part` of term j of the line of output `index` lies.
  std::int64_t source(std::int64_t index, std::int64_t j, std::int64_t part) const {
    const std::int64_t parts = transform.complex ? 2 : 1;
    const std::int64_t inner = to_view.inner(index) / 2 * parts + part;
    return from_view.position(to_view.outer(index), j, inner);
  }
  template <class T>
  float chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    const auto x = paced<T>(call, 0);
    const auto part = [&](std::int64_t j, std::int64_t p) {
      return load(x[static_cast<std::size_t>(source(index, j, p))]);
    };
    return transform.chain(call, to_view.along(index), index % 2 == 1, part, steps);
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(transform.finish(chain<T>(call, index, transform.steps()))));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t j = 0; j < transform.terms; ++j) {
      out.push_back({0, source(index, j, 0)});
      if (transform.complex) out.push_back({0, source(index, j, 1)});
    }
    read_whole(call, 1, out);
    read_whole(call, 2, out);
  }
  std::int64_t steps(int, std::int64_t) const { return transform.steps(); }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<float>(chain<T>(call, index, steps)));
  }
};

// Of frames of the signal, `step` apart, each element multiplied by the window and rounded first.
struct Stft {
  using In = Floats32;
  DType dtype = DType::kUndefined;
  Transform transform;
  std::int64_t length = 0, step = 1, frames = 0;  // length: of the signal
  Shape to;

  static core::Result<Stft> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 3));
    Stft op;
    op.dtype = call.in(0).dtype();
    const Shape& x = call.in(0).shape();
    COMMENSAL_ASSIGN(const bool complex, is_complex(x));
    COMMENSAL_ASSIGN(op.step, one_integer(call, 1));
    COMMENSAL_ASSIGN(const std::int64_t onesided, call.attributes->integer("onesided", 1));
    if (!call.has(2) && !call.has(3)) {
      return fail(ErrorCode::kInvalidArgument, "a window or a frame length must be there");
    }
    std::int64_t n = call.has(2) ? call.in(2).elements() : 0;
    if (call.has(3)) {
      COMMENSAL_ASSIGN(n, one_integer(call, 3));
    }
    op.length = x[1];
    if (op.step < 1 || n < 1 || n > op.length) {
      return fail(ErrorCode::kInvalidArgument, "frames of {}, {} apart, in a signal of {}", n,
                  op.step, op.length);
    }
    if (call.has(2) && call.in(2).shape() != Shape{n}) {
      return fail(ErrorCode::kInvalidArgument, "the window must be [{}], not {}", n,
                  call.in(2).shape().text());
    }
    COMMENSAL_ASSIGN(op.transform, Transform::of(n, complex, false, onesided != 0));
    op.frames = (op.length - n) / op.step + 1;
    COMMENSAL_ASSIGN(op.to,
                     Shape::of(std::array{x[0], op.frames, op.transform.bins, std::int64_t{2}}));
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, to}}; }

  std::int64_t source(std::int64_t index, std::int64_t j, std::int64_t part) const {
    const std::int64_t parts = transform.complex ? 2 : 1;
    const std::int64_t row = index / 2 / transform.bins;
    const std::int64_t at = row / frames * length + row % frames * step + j;
    return at * parts + part;
  }
  template <class T>
  float chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    const auto x = paced<T>(call, 0);
    const auto part = [&](std::int64_t j, std::int64_t p) {
      const float one = load(x[static_cast<std::size_t>(source(index, j, p))]);
      return call.has(2) ? one * load(paced<T>(call, 2)[static_cast<std::size_t>(j)]) : one;
    };
    return transform.chain(call, index / 2 % transform.bins, index % 2 == 1, part, steps);
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(transform.finish(chain<T>(call, index, transform.steps()))));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t j = 0; j < transform.n; ++j) {
      out.push_back({0, source(index, j, 0)});
      if (transform.complex) out.push_back({0, source(index, j, 1)});
    }
    for (int i = 1; i <= 3; ++i) read_whole(call, i, out);
  }
  std::int64_t steps(int, std::int64_t) const { return transform.steps(); }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(store<float>(chain<T>(call, index, steps)));
  }
};

}  // namespace

constinit const Judge kDft = each<Dft>();
constinit const Judge kStft = each<Stft>();

}  // namespace commensal::kernels::ref

// SPDX-License-Identifier: Apache-2.0
// LpPool and GlobalLpPool: the p-th root of the sum of |x| to the power of p over the window, in
// lanes; the taps in the padding are no steps. p = 1 and p = 2 need no powers: |x|, and x * x under
// the square root.
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/pooling.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

struct Power {
  float p = 2;

  static core::Result<Power> of(const Call& call) {
    Power made;
    if (call.opset < 2) {
      COMMENSAL_ASSIGN(made.p, call.attributes->real("p", 2));
    } else {
      COMMENSAL_ASSIGN(const std::int64_t p, call.attributes->integer("p", 2));
      made.p = static_cast<float>(p);
    }
    if (!(made.p >= 1) || std::isinf(made.p)) {
      return fail(ErrorCode::kInvalidArgument, "attribute 'p' must be 1 or more, not {}", made.p);
    }
    return made;
  }
  template <class C>
  C term(C x) const {
    if (p == 1) return std::abs(x);
    if (p == 2) return x * x;
    return math::by_type::pow(std::abs(x), static_cast<C>(p));
  }
  template <class C>
  C root(C sum) const {
    if (p == 1) return sum;
    if (p == 2) return std::sqrt(sum);
    return math::by_type::pow(sum, 1 / static_cast<C>(p));
  }
};

template <bool kGlobal>
struct LpPool : PoolPlan {
  using In = Floats;
  DType dtype = DType::kUndefined;
  Power power;

  static core::Result<LpPool> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_ASSIGN(const auto pool, kGlobal ? shape_inference::global_pool_of(call)
                                              : shape_inference::pool_of(call));
    COMMENSAL_ASSIGN(const Power power, Power::of(call));
    return LpPool{{pool}, call.in(0).dtype(), power};
  }
  std::vector<TensorType> types() const { return {{dtype, pool.shape}}; }

  template <class T>
  Sum<Compute<T>> sum(const Call& call, std::int64_t index, std::int64_t steps) const {
    Sum<Compute<T>> made(steps);
    const auto x = paced<T>(call, 0);
    call.pulse(8);
    for_taps(index, [&](std::int64_t tap, std::int64_t at) {
      made.add(tap, power.term(load(x[static_cast<std::size_t>(at)])));
    });
    return made;
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    return scalar_of(store<T>(power.root(sum<T>(call, index, kAllSteps).total())));
  }
  std::int64_t steps(int, std::int64_t index) const {
    return taps_inside(index) + Sum<float>::kTreeSteps;
  }
  template <class T>
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    Sum<Compute<T>> made = sum<T>(call, index, steps);
    made.total();
    return scalar_of(store<Compute<T>>(made.last()));
  }
};

}  // namespace

constinit const Judge kGlobalLpPool = each<LpPool<true>>();
constinit const Judge kLpPool = each<LpPool<false>>();

}  // namespace commensal::kernels::ref

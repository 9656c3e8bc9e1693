// SPDX-License-Identifier: Apache-2.0
// Det: Gaussian elimination with partial pivoting, column by column.
#include <cmath>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

struct DetPlan {
  TensorType to;
  std::int64_t side = 0;

  static core::Result<DetPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    const Shape& x = call.in(0).shape();
    const int rank = x.rank();
    if (rank < 2 || x[rank - 1] != x[rank - 2]) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "input 0 must be square matrices [..., M, M], not {}", x.text());
    }
    DetPlan plan;
    plan.side = x[rank - 1];
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(x.dims().first(x.dims().size() - 2)));
    plan.to = {call.in(0).dtype(), shape};
    return plan;
  }
  std::vector<TensorType> types() const { return {to}; }

  // The pivot is the first entry of the largest magnitude at or below the diagonal; rows below it
  // become fma(-factor, pivot row, row) with factor = entry / pivot; the result is the product of
  // the pivots from the top, negated for each exchange of rows.
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    using C = Compute<T>;
    const auto n = static_cast<std::size_t>(side);
    std::vector<C> m;
    for (std::size_t i = 0; i < n * n; ++i) {
      m.push_back(load(paced<T>(call, 0)[static_cast<std::size_t>(index) * n * n + i]));
    }
    C det{1};
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      call.pulse(2 * n);
      for (std::size_t i = k + 1; i < n; ++i) {
        if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
      }
      if (pivot != k) {
        for (std::size_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
        det = -det;
      }
      det = det * m[k * n + k];
      if (m[k * n + k] == C{0}) return store<T>(C{0});
      for (std::size_t i = k + 1; i < n; ++i) {
        call.pulse(n - k);
        const C factor = m[i * n + k] / m[k * n + k];
        for (std::size_t j = k + 1; j < n; ++j) {
          m[i * n + j] = std::fma(-factor, m[k * n + j], m[i * n + j]);
        }
      }
    }
    return store<T>(det);
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats{}, to.dtype, [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, to.dtype, [&]<class T>() {
      std::int64_t index = 0;
      for (T& y : outputs[0].mutable_data<T>()) y = value<T>(call, index++);
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < side * side; ++i) out.push_back({0, index * side * side + i});
  }
};

}  // namespace

constinit const Judge kDet = judge_of<DetPlan>();

}  // namespace commensal::kernels::ref

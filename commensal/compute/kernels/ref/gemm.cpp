// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul: one chain per output over k ascending.
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/gemm.hpp>

namespace commensal::kernels::ref {
namespace {

// One output's operands: A[a + i * a_step] and B[b + i * b_step], i in [0, k).
struct GemmOperands {
  std::int64_t a = 0, a_step = 1, b = 0, b_step = 1, k = 0;

  void reads(std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < k; ++i) {
      out.push_back({0, a + i * a_step});
      out.push_back({1, b + i * b_step});
    }
  }
  template <class T>
  Compute<T> sum(Pulse& pulse, const Widened<T>& in_a, const Widened<T>& in_b,
                 std::int64_t steps) const {
    return chain(pulse, Compute<T>{0}, in_a.data() + a, a_step, in_b.data() + b, b_step, steps);
  }
  template <class T>
  Compute<T> sum(const Call& call, std::int64_t steps) const {
    return sum<T>(call.pulse, Widened<T>(call, 0), Widened<T>(call, 1), steps);
  }
};

struct GemmPlan {
  shape_inference::Gemm g;

  static core::Result<GemmPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto gemm, shape_inference::gemm_of(call));
    return GemmPlan{gemm};
  }
  std::vector<TensorType> types() const { return {{g.dtype, *Shape::of(std::array{g.m, g.n})}}; }

  GemmOperands operands(std::int64_t index) const {
    const std::int64_t i = index / g.n, j = index % g.n;
    GemmOperands o;
    o.a = g.transpose_a ? i : i * g.k;
    o.a_step = g.transpose_a ? g.m : 1;
    o.b = g.transpose_b ? j * g.k : j;
    o.b_step = g.transpose_b ? 1 : g.n;
    o.k = g.k;
    return o;
  }
  std::int64_t c_index(std::int64_t index) const {
    return index / g.n * g.c_row + index % g.n * g.c_column;
  }

  // alpha first, then beta C, each rounded and each left out where it is 1.
  template <class T>
  T finish(const Call& call, std::int64_t index, Compute<T> acc) const {
    using C = Compute<T>;
    C last{0};
    if (g.has_c) last = load(paced<T>(call, 2)[static_cast<std::size_t>(c_index(index))]);
    if constexpr (std::is_floating_point_v<C>) {
      if (g.alpha != 1) acc = static_cast<C>(g.alpha) * acc;
      if (g.has_c && g.beta != 1) last = static_cast<C>(g.beta) * last;
    }
    return store<T>(add_bias(acc, last));
  }

  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Products{}, g.dtype, [&]<class T>() {
      return scalar_of(finish<T>(call, index, operands(index).sum<T>(call, g.k)));
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    operands(index).reads(out);
    if (g.has_c) out.push_back({2, c_index(index)});
  }
  std::int64_t steps(const Call&, int, std::int64_t) const { return g.k; }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Products{}, g.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(operands(index).sum<T>(call, steps)));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Products{}, g.dtype, [&]<class T>() {
      const Widened<T> a(call, 0), b(call, 1);
      const auto y = outputs[0].mutable_data<T>();
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
        y[static_cast<std::size_t>(i)] =
            finish<T>(call, i, operands(i).sum<T>(call.pulse, a, b, g.k));
      }
    });
  }
};

struct MatMulPlan {
  shape_inference::MatMul mm;

  static core::Result<MatMulPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto matmul, shape_inference::matmul_of(call));
    return MatMulPlan{matmul};
  }
  std::vector<TensorType> types() const { return {{mm.dtype, mm.shape}}; }

  GemmOperands operands(std::int64_t index) const {
    const std::int64_t j = index % mm.n, i = index / mm.n % mm.m, batch = index / mm.n / mm.m;
    GemmOperands o;
    o.a = (mm.a_matrix(batch) * mm.m + i) * mm.k;
    o.b = mm.b_matrix(batch) * mm.k * mm.n + j;
    o.b_step = mm.n;
    o.k = mm.k;
    return o;
  }

  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Products{}, mm.dtype, [&]<class T>() {
      const Compute<T> acc = operands(index).sum<T>(call, mm.k);
      return scalar_of(store<T>(add_bias(acc, Compute<T>{0})));
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    operands(index).reads(out);
  }
  std::int64_t steps(const Call&, int, std::int64_t) const { return mm.k; }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Products{}, mm.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(operands(index).sum<T>(call, steps)));
    });
  }
  // Row by row, so that B is read along its rows.
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Products{}, mm.dtype, [&]<class T>() {
      const Widened<T> a(call, 0), b(call, 1);
      const auto y = outputs[0].mutable_data<T>();
      const auto width = static_cast<std::size_t>(mm.n);
      std::vector<Compute<T>> acc(width);
      for (std::size_t base = 0; base < y.size(); base += width) {
        const GemmOperands o = operands(static_cast<std::int64_t>(base));
        std::fill(acc.begin(), acc.end(), Compute<T>{0});
        for (std::int64_t k = 0; k < mm.k; ++k) {
          step_row(call.pulse, a[o.a + k], b.data() + o.b + k * mm.n, 1, acc.data(), mm.n);
        }
        for (std::size_t i = 0; i < width; ++i) {
          y[base + i] = store<T>(add_bias(acc[i], Compute<T>{0}));
        }
      }
    });
  }
};

}  // namespace

constinit const Judge kGemm = judge_of<GemmPlan>();
constinit const Judge kMatmul = judge_of<MatMulPlan>();

}  // namespace commensal::kernels::ref

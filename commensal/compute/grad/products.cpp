// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/grad/rules.hpp>

namespace commensal::grad::rules {

namespace {

Value gemm_of(Value a, bool turn_a, Value b, bool turn_b, double alpha = 1) {
  return a.maker->add("Gemm", {a, b},
                      attributes_of({{"alpha", static_cast<float>(alpha)},
                                     {"transA", std::int64_t{turn_a ? 1 : 0}},
                                     {"transB", std::int64_t{turn_b ? 1 : 0}}}));
}

Value matmul_of(Value a, Value b) { return a.maker->add("MatMul", {a, b}); }

/// All axes but the last one together.
Value as_rows(Value x) {
  const std::int64_t columns = x.dim(x.rank() - 1);
  return reshape(x, {x.type().shape.elements(0, x.rank() - 1), columns});
}

}  // namespace

void gemm(Step& step) {
  const double alpha = step.real("alpha", 1), beta = step.real("beta", 1);
  const bool turn_a = step.integer("transA", 0) != 0, turn_b = step.integer("transB", 0) != 0;
  const Value a = step.x(0), b = step.x(1), dy = step.dy();
  step.give(0, [&] {
    return turn_a ? gemm_of(b, turn_b, dy, true, alpha) : gemm_of(dy, false, b, !turn_b, alpha);
  });
  step.give(1, [&] {
    return turn_b ? gemm_of(dy, true, a, turn_a, alpha) : gemm_of(a, !turn_a, dy, false, alpha);
  });
  step.give(2, [&] { return beta == 1 ? dy : dy * beta; });
}

void matmul(Step& step) {
  const Dims dims_a = step.x(0).dims(), dims_b = step.x(1).dims();
  // A vector is a matrix of one row on the left, of one column on the right.
  Value a = step.x(0), b = step.x(1), dy = step.dy();
  if (dims_a.size() == 1) a = reshape(a, {1, dims_a[0]});
  if (dims_b.size() == 1) b = reshape(b, {dims_b[0], 1});
  Dims dims_y = dy.dims();
  if (dims_b.size() == 1) dims_y.push_back(1);
  if (dims_a.size() == 1) dims_y.insert(dims_y.end() - 1, 1);
  dy = reshape(dy, dims_y);
  const auto back = [&](Value gradient, const Value& like, const Dims& dims) {
    return reshape(sum_to(gradient, like.dims()), dims);
  };
  if (b.rank() == 2) {  // one chain over all rows, and nothing to be added up
    const Value rows_a = as_rows(a), rows_y = as_rows(dy);
    step.give(0, [&] { return reshape(gemm_of(rows_y, false, b, true), dims_a); });
    step.give(1, [&] { return reshape(gemm_of(rows_a, true, rows_y, false), dims_b); });
    return;
  }
  step.give(0, [&] { return back(matmul_of(dy, transpose_last(b)), a, dims_a); });
  step.give(1, [&] { return back(matmul_of(transpose_last(a), dy), b, dims_b); });
}

}  // namespace commensal::grad::rules

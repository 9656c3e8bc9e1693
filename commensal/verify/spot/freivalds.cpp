// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/compute/kernels/infer/gemm.hpp>
#include <commensal/verify/spot/dice.hpp>
#include <commensal/verify/spot/freivalds.hpp>
#include <commensal/verify/spot/policy.hpp>
#include <optional>

namespace commensal::spot {
namespace {

/// A Gemm, or a MatMul of two matrices as one.
std::optional<kernels::infer::Gemm> product_of(const kernels::Operator& op,
                                               const kernels::Call& call) {
  if (!op.domain.empty()) return std::nullopt;
  if (op.name == "Gemm") {
    const auto gemm = kernels::infer::gemm_of(call);
    return gemm ? std::optional(*gemm) : std::nullopt;
  }
  if (op.name != "MatMul") return std::nullopt;
  const auto mm = kernels::infer::matmul_of(call);
  if (!mm || mm->batches != 1) return std::nullopt;
  kernels::infer::Gemm made;
  made.dtype = mm->dtype;
  made.m = mm->m;
  made.n = mm->n;
  made.k = mm->k;
  return made;
}

/// sum over the rows of signs[i] x[i * row + j * column] for each j, and of the magnitudes.
struct Sums {
  std::vector<double> value, magnitude;
};
Sums over_rows(std::span<const float> x, std::span<const double> factors,
               std::span<const double> magnitudes, std::int64_t columns, std::int64_t row,
               std::int64_t column) {
  Sums made;
  made.value.resize(static_cast<std::size_t>(columns));
  made.magnitude.resize(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const float* at = x.data() + static_cast<std::int64_t>(i) * row;
    for (std::int64_t j = 0; j < columns; ++j) {
      const double element = at[j * column];
      made.value[static_cast<std::size_t>(j)] += factors[i] * element;
      made.magnitude[static_cast<std::size_t>(j)] += magnitudes[i] * std::abs(element);
    }
  }
  return made;
}

}  // namespace

bool is_large_product(const kernels::Operator& op, const kernels::Call& call) {
  const auto g = product_of(op, call);
  if (!g || g->dtype != tensor::DType::kFloat32) return false;
  const double m = static_cast<double>(g->m), n = static_cast<double>(g->n);
  const double k = static_cast<double>(g->k), hashed = 4 * (m * k + m * n);
  return 2 * (hashed * kWorkPerHashedByte + 2 * (m * k + k * n + m * n)) <= m * n * k;
}

Residual residual_of(const kernels::Operator& op, const kernels::Call& call,
                     const tensor::Tensor& output, const core::Digest& seed) {
  const auto g = product_of(op, call);
  core::check(g.has_value(), "a product of matrices");
  Dice dice("commensal/freivalds/v1", seed);
  std::vector<double> signs(static_cast<std::size_t>(g->m)), ones(signs.size(), 1);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < signs.size(); ++i) {
    if (i % 64 == 0) bits = dice.next();
    signs[i] = (bits >> i % 64 & 1) != 0 ? 1 : -1;
  }
  const auto a = call.in(0).data<float>(), b = call.in(1).data<float>();
  const Sums left = over_rows(a, signs, ones, g->k, g->transpose_a ? 1 : g->k,
                              g->transpose_a ? g->m : 1);
  Sums expected = over_rows(b, left.value, left.magnitude, g->n, g->transpose_b ? 1 : g->n,
                            g->transpose_b ? g->k : 1);
  const Sums claimed = over_rows(output.data<float>(), signs, ones, g->n, g->n, 1);
  if (g->has_c) {
    const Sums added =
        over_rows(call.in(2).data<float>(), signs, ones, g->n, g->c_row, g->c_column);
    for (std::size_t j = 0; j < expected.value.size(); ++j) {
      expected.value[j] = g->alpha * expected.value[j] + g->beta * added.value[j];
      expected.magnitude[j] = std::abs(g->alpha) * expected.magnitude[j] +
                              std::abs(g->beta) * added.magnitude[j];
    }
  }
  Residual found;
  const double rows = static_cast<double>(g->m);
  const double walk = 8 * 0x1p-24 * std::sqrt(rows * static_cast<double>(g->k)) / rows;
  for (std::size_t j = 0; j < expected.value.size(); ++j) {
    // Sums that a binary32 might not hold on the way prove nothing.
    if (!(expected.magnitude[j] < 0x1p126)) continue;
    const double residual = std::abs(claimed.value[j] - expected.value[j]);
    const double multiple = residual / (walk * expected.magnitude[j] + rows * 0x1p-140);
    if (!(multiple <= found.worst)) {
      found.worst = std::isnan(multiple) ? HUGE_VAL : multiple;
      found.column = static_cast<std::int64_t>(j);
    }
  }
  return found;
}

}  // namespace commensal::spot

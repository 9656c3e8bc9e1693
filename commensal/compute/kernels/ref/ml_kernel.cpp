// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/ml_kernel.hpp>

namespace commensal::kernels::ref::ml {

using core::ErrorCode;
using core::fail;
using Lane = math::ScalarLanes;

core::Result<Kernel> Kernel::of(const Call& call) {
  constexpr std::pair<std::string_view, KernelType> kTypes[] = {{"LINEAR", KernelType::kLinear},
                                                                {"POLY", KernelType::kPoly},
                                                                {"RBF", KernelType::kRbf},
                                                                {"SIGMOID", KernelType::kSigmoid}};
  COMMENSAL_ASSIGN(const std::string asked, call.attributes->text("kernel_type", "LINEAR"));
  const auto* found =
      std::ranges::find(kTypes, asked, &std::pair<std::string_view, KernelType>::first);
  if (found == std::end(kTypes)) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'kernel_type' must be LINEAR, POLY, RBF or SIGMOID");
  }
  COMMENSAL_ASSIGN(auto params, call.attributes->reals("kernel_params"));
  if (params.empty()) params.assign(3, 0.0f);
  if (params.size() != 3) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'kernel_params' must be gamma, coef0 and degree, not {} numbers",
                params.size());
  }
  return Kernel{found->second, params[0], params[1], params[2]};
}

float dot(std::span<const float> row, const float* vector, std::int64_t steps, Pulse& pulse) {
  float acc = 0;
  const auto count = std::min<std::int64_t>(steps, static_cast<std::int64_t>(row.size()));
  for (std::int64_t i = 0; i < count; ++i) {
    pulse();
    acc = std::fma(row[static_cast<std::size_t>(i)], vector[i], acc);
  }
  return acc;
}

float Kernel::value(std::span<const float> row, const float* vector, Pulse& pulse) const {
  if (type == KernelType::kRbf) {
    float acc = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      pulse();
      const float d = row[i] - vector[i];
      acc = std::fma(d, d, acc);
    }
    return math::exp<Lane>(-gamma * acc);
  }
  const float product = dot(row, vector, static_cast<std::int64_t>(row.size()), pulse);
  pulse(8);
  if (type == KernelType::kLinear) return product;
  const float bent = std::fma(gamma, product, coef0);
  return type == KernelType::kPoly ? math::pow<Lane>(bent, degree) : math::tanh<Lane>(bent);
}

std::vector<float> row_of(const Call& call, std::int64_t row, std::int64_t features) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < features; ++i) made.push_back(narrow_at(call, row * features + i));
  return made;
}

core::Result<std::vector<float>> support_vectors(const Call& call, std::int64_t count,
                                                 std::int64_t features) {
  COMMENSAL_ASSIGN(auto vectors, call.attributes->reals("support_vectors"));
  const auto given = static_cast<std::int64_t>(vectors.size());
  // Divided, so that nothing overflows.
  if (features < 1 || given % features != 0 || given / features != count) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'support_vectors' has {} numbers, expected {} vectors of {} features",
                given, count, features);
  }
  return vectors;
}

std::vector<float> coupled(std::span<const float> pairwise, std::size_t k, Pulse& pulse) {
  constexpr int kRounds = 100;
  const float enough = 0.005f / static_cast<float>(k);
  std::vector<float> q(k * k, 0.0f), p(k, 1.0f / static_cast<float>(k)), qp(k);
  for (std::size_t t = 0; t < k; ++t) {
    pulse(k);
    for (std::size_t j = 0; j < k; ++j) {
      if (j == t) continue;
      const float against = pairwise[j * k + t];
      q[t * k + t] = q[t * k + t] + against * against;
      q[t * k + j] = -(against * pairwise[t * k + j]);
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    float pqp = 0, error = 0;
    for (std::size_t t = 0; t < k; ++t) {
      pulse(k);
      qp[t] = 0;
      for (std::size_t j = 0; j < k; ++j) qp[t] = qp[t] + q[t * k + j] * p[j];
      pqp = pqp + p[t] * qp[t];
    }
    for (std::size_t t = 0; t < k; ++t) error = std::max(error, std::abs(qp[t] - pqp));
    if (error < enough) break;
    for (std::size_t t = 0; t < k; ++t) {
      const float d = (pqp - qp[t]) / q[t * k + t];
      pulse(4 * k);
      const float grown = 1 + d;
      p[t] = p[t] + d;
      pqp = (pqp + d * (d * q[t * k + t] + 2 * qp[t])) / grown / grown;
      for (std::size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + d * q[t * k + j]) / grown;
        p[j] = p[j] / grown;
      }
    }
  }
  return p;
}

}  // namespace commensal::kernels::ref::ml

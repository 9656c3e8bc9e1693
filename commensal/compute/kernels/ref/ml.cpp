// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ml.hpp>

namespace commensal::kernels::ref::ml {
namespace {

using core::ErrorCode;
using core::fail;
namespace fn = math::by_type;
using All = Types<float, double, std::int64_t, std::int32_t, Float16>;

constexpr std::pair<std::string_view, Transform> kTransforms[] = {
    {"NONE", Transform::kNone},
    {"SOFTMAX", Transform::kSoftmax},
    {"LOGISTIC", Transform::kLogistic},
    {"SOFTMAX_ZERO", Transform::kSoftmaxZero},
    {"PROBIT", Transform::kProbit}};

// The inverse of the normal distribution by Winitzki's approximation of the inverse of erf, which
// is what other runtimes compute too: its error, up to 0.002, is part of the operator.
template <class T>
T probit(T p) {
  constexpr T kA = static_cast<T>(0.147);
  constexpr T kTwoByPiA = static_cast<T>(4.330747);  // 2 / (pi * kA)
  constexpr T kSqrt2 = static_cast<T>(1.41421356);
  const T x = 2 * p - 1;
  const T log = fn::log((1 - x) * (1 + x));
  const T v = kTwoByPiA + static_cast<T>(0.5) * log;
  const T root = std::sqrt(-v + std::sqrt(v * v - log / kA));
  return kSqrt2 * (x < 0 ? -root : root);
}

template <class T>
void softmax(std::span<T> scores, bool keep_zeros) {
  constexpr T kZero = static_cast<T>(1e-7);  // what SOFTMAX_ZERO takes for zero, of either sign
  Extreme<T, true> largest;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    largest.add(static_cast<std::int64_t>(i), scores[i]);
  }
  const T most = largest.value();
  Sum<T> sum;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    T& x = scores[i];
    const bool is_zero = keep_zeros && x <= kZero && x >= -kZero;
    x = is_zero ? x * fn::exp(-most) : fn::exp(x - most);
    sum.add(static_cast<std::int64_t>(i), x);
  }
  const T total = sum.total();
  for (T& x : scores) x = keep_zeros && total == 0 ? static_cast<T>(0.5) : x / total;
}

template <class T>
void transform_scores(Transform transform, std::span<T> scores) {
  switch (transform) {
    case Transform::kNone:
      return;
    case Transform::kSoftmax:
      return softmax(scores, false);
    case Transform::kSoftmaxZero:
      return softmax(scores, true);
    case Transform::kLogistic:
      for (T& x : scores) x = fn::sigmoid(x);
      return;
    case Transform::kProbit:
      for (T& x : scores) x = probit(x);
      return;
  }
}

}  // namespace

core::Result<Rows> Rows::of(const Call& call) {
  const Shape& shape = call.in(0).shape();
  if (shape.rank() == 1) return Rows{1, shape[0]};
  if (shape.rank() == 2) return Rows{shape[0], shape[1]};
  return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, F] or [F], not {}", shape.text());
}

double wide_at(const Call& call, std::int64_t index) {
  return visit(All{}, call.in(0).dtype(), [&]<class T>() {
    return static_cast<double>(load(paced<T>(call, 0)[static_cast<std::size_t>(index)]));
  });
}

float narrow_at(const Call& call, std::int64_t index) {
  return visit(All{}, call.in(0).dtype(), [&]<class T>() {
    return static_cast<float>(load(paced<T>(call, 0)[static_cast<std::size_t>(index)]));
  });
}

core::Result<Transform> transform_of(const Call& call) {
  COMMENSAL_ASSIGN(const std::string asked, call.attributes->text("post_transform", "NONE"));
  for (const auto& [name, transform] : kTransforms) {
    if (name == asked) return transform;
  }
  return fail(ErrorCode::kInvalidArgument,
              "attribute 'post_transform' must be NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
}

core::Result<Transform> numbered_transform_of(const Call& call) {
  COMMENSAL_ASSIGN(const std::int64_t asked, call.attributes->integer("post_transform", 0));
  if (asked < 0 || asked >= static_cast<std::int64_t>(std::size(kTransforms))) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'post_transform' must be 0 to 4, not {}",
                asked);
  }
  return kTransforms[static_cast<std::size_t>(asked)].second;
}

std::vector<double> transformed(Transform transform, DType dtype, std::vector<double> scores) {
  if (dtype == DType::kFloat64) {
    transform_scores<double>(transform, scores);
    return scores;
  }
  std::vector<float> narrow(scores.begin(), scores.end());
  transform_scores<float>(transform, narrow);
  return {narrow.begin(), narrow.end()};
}

core::Result<Labels> Labels::of(const Call& call, std::string_view integers) {
  Labels labels;
  COMMENSAL_ASSIGN(labels.integers, call.attributes->integers(integers));
  COMMENSAL_ASSIGN(labels.texts, call.attributes->texts("classlabels_strings"));
  if (labels.integers.empty() == labels.texts.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "one of the attributes '{}' and 'classlabels_strings' must list the labels",
                integers);
  }
  return labels;
}

std::int64_t first_largest(std::span<const double> scores) {
  Extreme<double, true> largest;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    largest.add(static_cast<std::int64_t>(i), scores[i]);
  }
  return largest.position();
}

Decision decided(std::vector<double> scores, std::int64_t labels) {
  if (scores.size() == 1 && labels == 1) return {scores, scores[0] > 0 ? 0 : -1};
  if (scores.size() == 1 && labels == 2) return decided_pair(-scores[0], scores[0]);
  const std::int64_t top = first_largest(scores);
  return {std::move(scores), top};
}

Decision decided_pair(double first, double second) {
  return {{first, second}, second > first ? 1 : 0};
}

}  // namespace commensal::kernels::ref::ml

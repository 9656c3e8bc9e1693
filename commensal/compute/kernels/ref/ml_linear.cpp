// SPDX-License-Identifier: Apache-2.0
// LinearClassifier and LinearRegressor: dot products, then the intercept, then the transform.
#include <algorithm>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ml.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using ml::Accumulators;
using ml::Decision;
using ml::Rows;
using ml::Transform;

template <bool kClassifier>
struct LinearScores {
  using In = ml::Numbers;
  static constexpr const char* kLabels = kClassifier ? "classlabels_ints" : nullptr;

  std::vector<float> coefficients, intercepts;
  std::int64_t sums = 0, features = 0, labels = 0;
  bool wide = false;
  Transform transform = Transform::kNone;

  static core::Result<LinearScores> make(const Call& call, const Rows& rows, std::int64_t labels) {
    LinearScores made;
    made.features = rows.features;
    made.labels = labels;
    made.wide = call.in(0).dtype() == DType::kFloat64;
    COMMENSAL_ASSIGN(made.transform, ml::transform_of(call));
    COMMENSAL_ASSIGN(made.coefficients, call.attributes->reals("coefficients"));
    COMMENSAL_ASSIGN(made.intercepts, call.attributes->reals("intercepts"));
    const auto given = static_cast<std::int64_t>(made.coefficients.size());
    COMMENSAL_ASSIGN(made.sums, call.attributes->integer("targets", 1));
    if (kClassifier) made.sums = rows.features > 0 ? given / rows.features : 0;
    if (made.sums < 1 || made.sums > limits::kTargetsMax || made.sums * rows.features != given) {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'coefficients' has {} entries, which do not fit {} features", given,
                  rows.features);
    }
    if (kClassifier && made.sums != labels && !(made.sums == 1 && labels == 2)) {
      return fail(ErrorCode::kInvalidArgument, "{} labels for {} rows of coefficients", labels,
                  made.sums);
    }
    const auto offsets = static_cast<std::int64_t>(made.intercepts.size());
    if (offsets != 0 && offsets != made.sums) {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'intercepts' must have {} entries, not {}", made.sums, offsets);
    }
    return made;
  }
  std::int64_t width() const { return kClassifier ? labels : sums; }
  DType dtype() const { return DType::kFloat32; }

  template <class C>
  C sum(const Call& call, std::int64_t row, std::int64_t which, std::int64_t steps) const {
    C acc{0};
    for (std::int64_t i = 0; i < std::min(steps, features); ++i) {
      const auto coefficient = coefficients[static_cast<std::size_t>(which * features + i)];
      const std::int64_t at = row * features + i;
      const C x = std::is_same_v<C, double> ? static_cast<C>(ml::wide_at(call, at))
                                            : static_cast<C>(ml::narrow_at(call, at));
      acc = step(x, static_cast<C>(coefficient), acc);
    }
    return acc;
  }
  template <class C>
  double score(const Call& call, std::int64_t row, std::int64_t which) const {
    const C intercept =
        intercepts.empty() ? C{0} : static_cast<C>(intercepts[static_cast<std::size_t>(which)]);
    return static_cast<double>(add_bias(sum<C>(call, row, which, features), intercept));
  }
  Decision decide(const Call& call, std::int64_t row) const {
    std::vector<double> scores;
    for (std::int64_t i = 0; i < sums; ++i) {
      scores.push_back(wide ? score<double>(call, row, i) : score<float>(call, row, i));
    }
    if (kClassifier) return ml::decided(std::move(scores), labels);
    return {std::move(scores), -1};
  }
  void reads(const Call&, std::int64_t row, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < features; ++i) out.push_back({0, row * features + i});
  }
  std::int64_t chains() const { return sums; }
  Accumulators accumulators_of(std::int64_t column) const {
    const std::int64_t chain = sums == 1 ? 0 : column;
    return {chain, chain + 1};
  }
  std::int64_t accumulator_terms(const Call&, std::int64_t, std::int64_t) const { return features; }
  Scalar chain_partial(const Call& call, std::int64_t row, std::int64_t chain,
                       std::int64_t steps) const {
    return wide ? scalar_of(store<double>(sum<double>(call, row, chain, steps)))
                : scalar_of(store<float>(sum<float>(call, row, chain, steps)));
  }
};

}  // namespace

constinit const Judge kLinearClassifier = judge_of<ml::ScoredPlan<LinearScores<true>>>();
constinit const Judge kLinearRegressor = judge_of<ml::ScoredPlan<LinearScores<false>>>();

}  // namespace commensal::kernels::ref

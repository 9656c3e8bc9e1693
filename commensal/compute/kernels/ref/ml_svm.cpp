// SPDX-License-Identifier: Apache-2.0
// SVMClassifier and SVMRegressor.
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/ml_kernel.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using ml::Accumulators;
using ml::Decision;
using ml::Rows;
using ml::Transform;
using Lane = math::ScalarLanes;

core::Result<std::vector<float>> numbers(const Call& call, const char* name, std::int64_t count) {
  COMMENSAL_ASSIGN(auto values, call.attributes->reals(name));
  if (static_cast<std::int64_t>(values.size()) == count) return values;
  return fail(ErrorCode::kInvalidArgument, "attribute '{}' must have {} entries, not {}", name,
              count, values.size());
}

// Without support vectors, one dot product of the row with coefficients.
struct SvmRegressor {
  using In = ml::Numbers;
  static constexpr const char* kLabels = nullptr;

  ml::Kernel kernel;
  std::vector<float> vectors, coefficients;
  float rho = 0;
  std::int64_t supports = 0, features = 0;
  bool one_class = false;
  Transform transform = Transform::kNone;

  static core::Result<SvmRegressor> make(const Call& call, const Rows& rows, std::int64_t) {
    SvmRegressor made;
    made.features = rows.features;
    COMMENSAL_ASSIGN(made.transform, ml::transform_of(call));
    COMMENSAL_ASSIGN(made.kernel, ml::Kernel::of(call));
    COMMENSAL_ASSIGN(made.supports, call.attributes->integer("n_supports", 0));
    COMMENSAL_ASSIGN(const std::int64_t one_class, call.attributes->integer("one_class", 0));
    made.one_class = one_class != 0;
    made.supports = std::max<std::int64_t>(made.supports, 0);
    const std::int64_t terms = made.supports > 0 ? made.supports : made.features;
    COMMENSAL_ASSIGN(made.coefficients, numbers(call, "coefficients", terms));
    COMMENSAL_ASSIGN(const auto rho, numbers(call, "rho", 1));
    made.rho = rho[0];
    if (made.supports == 0) return made;
    COMMENSAL_ASSIGN(made.vectors, ml::support_vectors(call, made.supports, made.features));
    return made;
  }
  std::int64_t width() const { return 1; }
  DType dtype() const { return DType::kFloat32; }
  float sum(const Call& call, std::int64_t row, std::int64_t steps) const {
    const auto x = ml::row_of(call, row, features);
    if (supports == 0) return ml::dot(x, coefficients.data(), steps, call.pulse);
    float acc = 0;
    for (std::int64_t j = 0; j < std::min(steps, supports); ++j) {
      const float near = kernel.value(x, vectors.data() + j * features, call.pulse);
      acc = std::fma(coefficients[static_cast<std::size_t>(j)], near, acc);
    }
    return acc;
  }
  Decision decide(const Call& call, std::int64_t row) const {
    const float score = sum(call, row, accumulator_terms(call, row, 0)) + rho;
    if (one_class) return {{score > 0 ? 1.0 : -1.0}, -1};
    return {{score}, -1};
  }
  void reads(const Call&, std::int64_t row, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < features; ++i) out.push_back({0, row * features + i});
  }
  std::int64_t chains() const { return 1; }
  Accumulators accumulators_of(std::int64_t) const { return {0, 1}; }
  std::int64_t accumulator_terms(const Call&, std::int64_t, std::int64_t) const {
    return supports > 0 ? supports : features;
  }
  Scalar chain_partial(const Call& call, std::int64_t row, std::int64_t, std::int64_t steps) const {
    return scalar_of(store<float>(sum(call, row, steps)));
  }
};

// With support vectors each pair of classes i < j has a score, whose sign is a vote for i or j.
// Without, each class has one.
struct SvmClassifier {
  using In = ml::Numbers;
  static constexpr const char* kLabels = "classlabels_ints";

  ml::Kernel kernel;
  std::vector<float> vectors, coefficients, rho, prob_a, prob_b;
  std::vector<std::int64_t> first_of;  // support vector of a class, and one more; empty: none
  std::int64_t classes = 0, features = 0;
  Transform transform = Transform::kNone;

  static core::Result<SvmClassifier> make(const Call& call, const Rows& rows, std::int64_t labels) {
    SvmClassifier made;
    made.features = rows.features;
    made.classes = labels;
    COMMENSAL_ASSIGN(made.transform, ml::transform_of(call));
    COMMENSAL_ASSIGN(made.kernel, ml::Kernel::of(call));
    COMMENSAL_ASSIGN(const auto per_class, call.attributes->integers("vectors_per_class"));
    if (std::ranges::any_of(per_class, [](std::int64_t count) { return count != 0; })) {
      COMMENSAL_TRY(made.take_vectors(call, per_class));
      return made;
    }
    if (labels > limits::kTargetsMax) {
      return fail(ErrorCode::kInvalidArgument, "{} labels, at most {} are accepted", labels,
                  limits::kTargetsMax);
    }
    COMMENSAL_ASSIGN(made.coefficients, numbers(call, "coefficients", labels * rows.features));
    COMMENSAL_ASSIGN(made.rho, call.attributes->reals("rho"));
    if (made.rho.empty()) return fail(ErrorCode::kInvalidArgument, "attribute 'rho' is empty");
    return made;
  }
  core::Result<void> take_vectors(const Call& call, const std::vector<std::int64_t>& per_class) {
    if (classes < 2 || static_cast<std::int64_t>(per_class.size()) != classes) {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'vectors_per_class' has {} entries for {} labels, of which there must "
                  "be two at least",
                  per_class.size(), classes);
    }
    first_of.push_back(0);
    for (const std::int64_t count : per_class) {
      if (count < 0 || count > limits::kModelBytesMax) {
        return fail(ErrorCode::kInvalidArgument, "attribute 'vectors_per_class' has the entry {}",
                    count);
      }
      first_of.push_back(first_of.back() + count);
    }
    // This comes first: from here on all counts are bounded by the sizes of attributes.
    COMMENSAL_ASSIGN(vectors, ml::support_vectors(call, first_of.back(), features));
    COMMENSAL_ASSIGN(coefficients, numbers(call, "coefficients", (classes - 1) * first_of.back()));
    COMMENSAL_ASSIGN(rho, numbers(call, "rho", pairs()));
    COMMENSAL_ASSIGN(prob_a, call.attributes->reals("prob_a"));
    COMMENSAL_ASSIGN(prob_b, call.attributes->reals("prob_b"));
    if (prob_a.empty() && prob_b.empty()) return {};
    COMMENSAL_ASSIGN(prob_a, numbers(call, "prob_a", pairs()));
    COMMENSAL_ASSIGN(prob_b, numbers(call, "prob_b", pairs()));
    return {};
  }
  bool has_vectors() const { return !first_of.empty(); }
  std::int64_t pairs() const { return classes * (classes - 1) / 2; }
  std::int64_t width() const {
    if (!has_vectors() || !prob_a.empty() || classes == 2) return classes;
    return pairs();
  }
  DType dtype() const { return DType::kFloat32; }

  // Classes i < j of a pair, which are counted row by row.
  std::pair<std::int64_t, std::int64_t> pair_of(std::int64_t pair) const {
    std::int64_t i = 0;
    for (; pair >= classes - 1 - i; ++i) pair -= classes - 1 - i;
    return {i, i + 1 + pair};
  }
  std::vector<float> kernels(const Call& call, std::span<const float> x) const {
    std::vector<float> made;
    for (std::int64_t v = 0; v < first_of.back(); ++v) {
      made.push_back(kernel.value(x, vectors.data() + v * features, call.pulse));
    }
    return made;
  }
  // First over the vectors of class i, then over those of class j.
  float pair_sum(const Call& call, std::span<const float> near, std::int64_t i, std::int64_t j,
                 std::int64_t steps) const {
    float acc = 0;
    const auto add = [&](std::int64_t of, std::int64_t row) {
      const auto from = static_cast<std::size_t>(of);
      for (std::int64_t v = first_of[from]; v < first_of[from + 1] && steps > 0; ++v, --steps) {
        call.pulse();
        const auto at = static_cast<std::size_t>(row * first_of.back() + v);
        acc = std::fma(coefficients[at], near[static_cast<std::size_t>(v)], acc);
      }
    };
    add(i, j - 1);
    add(j, i);
    return acc;
  }
  std::vector<float> probabilities(const Call& call, std::span<const float> scores) const {
    constexpr float kLeast = 1e-7f;
    const auto k = static_cast<std::size_t>(classes);
    std::vector<float> pairwise(k * k, 0.0f);
    std::size_t pair = 0;
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = i + 1; j < k; ++j, ++pair) {
        call.pulse(16);
        const float bent = scores[pair] * prob_a[pair] + prob_b[pair];
        const float share = 1 - math::sigmoid<Lane>(bent);
        pairwise[i * k + j] = std::min(std::max(share, kLeast), 1 - kLeast);
        pairwise[j * k + i] = 1 - pairwise[i * k + j];
      }
    }
    return ml::coupled(pairwise, k, call.pulse);
  }

  Decision decide(const Call& call, std::int64_t row) const {
    const auto x = ml::row_of(call, row, features);
    std::vector<float> scores;
    if (!has_vectors()) {
      for (std::int64_t c = 0; c < classes; ++c) {
        scores.push_back(ml::dot(x, coefficients.data() + c * features, features, call.pulse) +
                         rho[0]);
      }
      return ml::decided({scores.begin(), scores.end()}, classes);
    }
    const auto near = kernels(call, x);
    std::vector<double> votes(static_cast<std::size_t>(classes), 0.0);
    for (std::int64_t i = 0; i < classes; ++i) {
      for (std::int64_t j = i + 1; j < classes; ++j) {
        const float score = pair_sum(call, near, i, j, first_of.back()) + rho[scores.size()];
        scores.push_back(score);
        votes[static_cast<std::size_t>(score > 0 ? i : j)] += 1;
      }
    }
    const std::int64_t top = ml::first_largest(votes);
    if (!prob_a.empty())
      scores = probabilities(call, scores);
    else if (classes == 2)
      scores = {-scores[0], scores[0]};
    return {{scores.begin(), scores.end()}, top};
  }
  void reads(const Call&, std::int64_t row, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < features; ++i) out.push_back({0, row * features + i});
  }
  std::int64_t chains() const { return has_vectors() ? pairs() : classes; }
  Accumulators accumulators_of(std::int64_t column) const {
    if (!prob_a.empty()) return {0, chains()};
    const std::int64_t chain = chains() == 1 ? 0 : column;
    return {chain, chain + 1};
  }
  std::int64_t accumulator_terms(const Call&, std::int64_t, std::int64_t chain) const {
    if (!has_vectors()) return features;
    const auto [i, j] = pair_of(chain);
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    return first_of[a + 1] - first_of[a] + first_of[b + 1] - first_of[b];
  }
  Scalar chain_partial(const Call& call, std::int64_t row, std::int64_t chain,
                       std::int64_t steps) const {
    const auto x = ml::row_of(call, row, features);
    if (!has_vectors()) {
      return scalar_of(
          store<float>(ml::dot(x, coefficients.data() + chain * features, steps, call.pulse)));
    }
    const auto [i, j] = pair_of(chain);
    return scalar_of(store<float>(pair_sum(call, kernels(call, x), i, j, steps)));
  }
};

}  // namespace

constinit const Judge kSvmClassifier = judge_of<ml::ScoredPlan<SvmClassifier>>();
constinit const Judge kSvmRegressor = judge_of<ml::ScoredPlan<SvmRegressor>>();

}  // namespace commensal::kernels::ref

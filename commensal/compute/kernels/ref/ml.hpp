// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/ml_ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <optional>
#include <string>

/// What the operators of the domain ai.onnx.ml share.
namespace commensal::kernels::ref::ml {

/// What nearly all of them take.
using Numbers = Types<float, double, std::int64_t, std::int32_t>;
/// And what the one takes that knows float16.
using Reals = Types<float, double, Float16>;

/// Input 0 as rows of features: [N, F], or [F] for a single row.
struct Rows {
  std::int64_t count = 0, features = 0;
  static core::Result<Rows> of(const Call& call);
};

/// An element of input 0 in binary64; in binary32 (an int64 or float64 is rounded).
double wide_at(const Call& call, std::int64_t index);
float narrow_at(const Call& call, std::int64_t index);

/// What becomes of a row of scores.
enum class Transform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
/// From the attribute `post_transform`, a name (in TreeEnsemble a number).
core::Result<Transform> transform_of(const Call& call);
core::Result<Transform> numbered_transform_of(const Call& call);
/// A row of scores that are stored as `dtype`: calculated in binary64 if that is float64, else
/// rounded to binary32 first.
std::vector<double> transformed(Transform transform, DType dtype, std::vector<double> scores);

/// The labels of a classifier: exactly one of the two lists is there, and it is not empty.
struct Labels {
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  /// `integers` is the name of the attribute that lists integers.
  static core::Result<Labels> of(const Call& call, std::string_view integers);
  std::int64_t count() const {
    return static_cast<std::int64_t>(texts.empty() ? integers.size() : texts.size());
  }
};

/// The scores of one row before the transform, each a binary32 number or, if the scores are wide,
/// a binary64 one; and which label they speak for (-1: none).
struct Decision {
  std::vector<double> scores;
  std::int64_t top = -1;
};
/// The first maximum in the order of extremes.
std::int64_t first_largest(std::span<const double> scores);
/// The label of the largest score. One score for two labels stands against its negative; for one
/// label it speaks for it where it is above zero.
Decision decided(std::vector<double> scores, std::int64_t labels);
/// Two scores: the second label must be ahead.
Decision decided_pair(double first, double second);

/// The accumulators that an output element comes from, by number: [first, last).
struct Accumulators {
  std::int64_t first = 0, last = 0;
};

/// An operator that gives each row some scores and, if it is a classifier, a label. `Scores` is
///   using In = Types<...>;                          what input 0 may be
///   static core::Result<Scores> make(const Call&, const Rows&, std::int64_t labels);
///   std::int64_t width() const;                     scores of a row
///   DType dtype() const;                            of the scores
///   Transform transform;
///   Decision decide(const Call&, std::int64_t row) const;
///   void reads(std::int64_t row, const Call&, std::vector<ElementRef>&) const;
///   std::int64_t chains() const;                    accumulators of a row
///   Accumulators accumulators_of(std::int64_t column) const;
///   std::int64_t accumulator_terms(const Call&, std::int64_t row, std::int64_t chain) const;
///   Scalar chain_partial(const Call&, std::int64_t row, std::int64_t chain, std::int64_t k) const;
///   static constexpr const char* kLabels;           the list of integer labels; null: none
template <class Scores>
struct ScoredPlan {
  static constexpr bool kClassifies = Scores::kLabels != nullptr;
  static constexpr int kScoresOutput = kClassifies ? 1 : 0;

  Rows rows;
  Labels labels;
  Scores scores;
  int outputs = 1;

  static core::Result<ScoredPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<typename Scores::In>(call, 0));
    COMMENSAL_ASSIGN(const Rows rows, Rows::of(call));
    Labels labels;
    if constexpr (kClassifies) {
      COMMENSAL_ASSIGN(labels, Labels::of(call, Scores::kLabels));
    }
    COMMENSAL_ASSIGN(auto scores, Scores::make(call, rows, labels.count()));
    const std::int64_t dims[] = {rows.count, scores.width()};
    COMMENSAL_TRY(Shape::of(dims));
    return ScoredPlan{rows, std::move(labels), std::move(scores), call.output_count};
  }
  std::vector<TensorType> types() const {
    const TensorType scored{scores.dtype(), {rows.count, scores.width()}};
    if (!kClassifies) return {scored};
    const TensorType labelled{labels.texts.empty() ? DType::kInt64 : DType::kString, {rows.count}};
    if (outputs < 2) return {labelled};
    return {labelled, scored};
  }

  std::int64_t label(const Decision& row) const {
    return row.top < 0 ? 0 : labels.integers[static_cast<std::size_t>(row.top)];
  }
  std::string text(const Decision& row) const {
    return row.top < 0 ? "" : labels.texts[static_cast<std::size_t>(row.top)];
  }
  template <class T>
  static T stored(double score) {
    return store<T>(static_cast<Compute<T>>(score));
  }
  template <class F>
  auto with_score_type(F&& f) const {
    return visit(Reals{}, scores.dtype(), f);
  }

  std::int64_t row_of(int output, std::int64_t index) const {
    return output == kScoresOutput ? index / scores.width() : index;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    const std::int64_t row = row_of(output, index);
    const Decision made = scores.decide(call, row);
    if (output != kScoresOutput) {
      return labels.texts.empty() ? scalar_of(label(made)) : Scalar{DType::kString, 0};
    }
    const auto column = static_cast<std::size_t>(index % scores.width());
    const double score = transformed(scores.transform, scores.dtype(), made.scores)[column];
    return with_score_type([&]<class T>() { return scalar_of(stored<T>(score)); });
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    scores.reads(call, row_of(output, index), out);
  }

  // A label comes from all accumulators of its row, one after another, and so does a score that
  // the transform mixes with others.
  Accumulators accumulators_of(int output, std::int64_t index) const {
    const bool mixes =
        scores.transform == Transform::kSoftmax || scores.transform == Transform::kSoftmaxZero;
    if (output != kScoresOutput || mixes) return {0, scores.chains()};
    return scores.accumulators_of(index % scores.width());
  }
  std::int64_t steps(const Call& call, int output, std::int64_t index) const {
    const Accumulators sums = accumulators_of(output, index);
    std::int64_t steps = 0;
    for (std::int64_t c = sums.first; c < sums.last; ++c) {
      steps += scores.accumulator_terms(call, row_of(output, index), c);
    }
    return steps;
  }
  Scalar partial(const Call& call, int output, std::int64_t index, std::int64_t steps) const {
    const std::int64_t row = row_of(output, index);
    const Accumulators sums = accumulators_of(output, index);
    std::int64_t chain = sums.first;
    for (; chain + 1 < sums.last; ++chain) {
      const std::int64_t length = scores.accumulator_terms(call, row, chain);
      if (steps <= length) break;
      steps -= length;
    }
    return scores.chain_partial(call, row, chain, steps);
  }

  void run(const Call& call, std::span<Tensor> to) const {
    std::vector<std::string> texts;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      call.pulse(16 + 8 * scores.width());
      const Decision made = scores.decide(call, row);
      if (!labels.texts.empty()) {
        texts.push_back(text(made));
      } else if (kClassifies) {
        to[0].mutable_data<std::int64_t>()[static_cast<std::size_t>(row)] = label(made);
      }
      if (kClassifies && outputs < 2) continue;
      const std::vector<double> values = transformed(scores.transform, scores.dtype(), made.scores);
      with_score_type([&]<class T>() {
        T* y = to[kScoresOutput].mutable_data<T>().data() + row * scores.width();
        for (const double value : values) *y++ = stored<T>(value);
      });
    }
    if (!labels.texts.empty()) to[0] = Tensor::of_strings({rows.count}, texts);
  }
};

}  // namespace commensal::kernels::ref::ml

// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble: the sum (mean, minimum, maximum)
// of what the trees' leaves vote, tree by tree.
#include <algorithm>
#include <commensal/compute/kernels/ref/ml_forest.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using ml::Accumulators;
using ml::Decision;
using ml::Forest;
using ml::Rows;
using ml::Transform;
using ml::Vote;

// What the three have in common.
struct TreeScores {
  Forest forest;
  Transform transform = Transform::kNone;
  std::int64_t features = 0;

  std::int64_t width() const { return forest.targets; }
  DType dtype() const { return DType::kFloat32; }
  void reads(const Call& call, std::int64_t row, std::vector<ElementRef>& out) const {
    forest.reads(call, row, features, out);
  }
  std::int64_t chains() const { return forest.targets; }
  Accumulators accumulators_of(std::int64_t column) const { return {column, column + 1}; }
  std::int64_t accumulator_terms(const Call& call, std::int64_t row, std::int64_t chain) const {
    return std::ranges::count_if(forest.votes_for(call, row, features),
                                 [&](const Vote& vote) { return vote.target == chain; });
  }
  Scalar chain_partial(const Call& call, std::int64_t row, std::int64_t chain,
                       std::int64_t steps) const {
    const double acc = forest.accumulated(forest.votes_for(call, row, features), chain, steps);
    return forest.wide ? scalar_of(store<double>(acc))
                       : scalar_of(store<float>(static_cast<float>(acc)));
  }
};

core::Result<void> check_base(const Forest& forest, bool one_is_enough) {
  const auto count = static_cast<std::int64_t>(forest.base.size());
  if (count == 0 || count == forest.targets || (one_is_enough && count == 1)) return {};
  return fail(ErrorCode::kInvalidArgument, "attribute 'base_values' must have {} entries, not {}",
              forest.targets, count);
}

// Where only one of two classes is ever voted for, that sum speaks for the second class: above 0.5
// if no vote is negative (the sum is a share of the trees), else above 0.
struct TreeClassifier : TreeScores {
  using In = ml::Numbers;
  static constexpr const char* kLabels = "classlabels_int64s";
  bool pairs = false, all_positive = true;
  std::int64_t voted = 0;

  static core::Result<TreeClassifier> make(const Call& call, const Rows& rows,
                                           std::int64_t labels) {
    TreeClassifier made;
    made.features = rows.features;
    COMMENSAL_ASSIGN(made.transform, ml::transform_of(call));
    COMMENSAL_ASSIGN(made.forest, ml::forest_of_nodes(call, "class", labels, rows.features));
    Forest& forest = made.forest;
    made.voted = forest.votes.empty() ? 0 : forest.votes[0].target;
    made.pairs = labels == 2 && !forest.votes.empty();
    for (const Vote& vote : forest.votes) {
      made.pairs = made.pairs && vote.target == made.voted;
      made.all_positive = made.all_positive && vote.weight >= 0;
    }
    COMMENSAL_TRY(check_base(forest, made.pairs));
    // The base of the sum, the second class's where both have one, belongs to what is voted for.
    if (made.pairs && !forest.base.empty()) forest.base = {forest.base.back(), forest.base.back()};
    return made;
  }
  Decision decide(const Call& call, std::int64_t row) const {
    const auto votes = forest.votes_for(call, row, features);
    std::vector<double> scores = forest.scores(votes);
    if (!pairs) return ml::decided(std::move(scores), forest.targets);
    const double score = scores[static_cast<std::size_t>(voted)];
    const bool is_share =
        all_positive && (transform == Transform::kNone || transform == Transform::kProbit);
    if (!is_share) return ml::decided_pair(-score, score);
    const double rest =
        forest.wide ? 1 - score : static_cast<double>(1 - static_cast<float>(score));
    return ml::decided_pair(rest, score);
  }
  Accumulators accumulators_of(std::int64_t column) const {
    const std::int64_t chain = pairs ? voted : column;
    return {chain, chain + 1};
  }
};

struct TreeRegressor : TreeScores {
  using In = ml::Numbers;
  static constexpr const char* kLabels = nullptr;

  static core::Result<TreeRegressor> make(const Call& call, const Rows& rows, std::int64_t) {
    TreeRegressor made;
    made.features = rows.features;
    COMMENSAL_ASSIGN(made.transform, ml::transform_of(call));
    COMMENSAL_ASSIGN(const std::int64_t targets, call.attributes->integer("n_targets", 1));
    COMMENSAL_ASSIGN(made.forest, ml::forest_of_nodes(call, "target", targets, rows.features));
    COMMENSAL_TRY(check_base(made.forest, false));
    return made;
  }
  Decision decide(const Call& call, std::int64_t row) const {
    return {forest.scores(forest.votes_for(call, row, features)), -1};
  }
};

struct TreeEnsemble : TreeScores {
  using In = ml::Reals;
  static constexpr const char* kLabels = nullptr;
  DType type = DType::kUndefined;

  static core::Result<TreeEnsemble> make(const Call& call, const Rows& rows, std::int64_t) {
    TreeEnsemble made;
    made.features = rows.features;
    made.type = call.in(0).dtype();
    COMMENSAL_ASSIGN(made.transform, ml::numbered_transform_of(call));
    COMMENSAL_ASSIGN(made.forest, ml::forest_of_branches(call, rows.features));
    return made;
  }
  DType dtype() const { return type; }
  Decision decide(const Call& call, std::int64_t row) const {
    return {forest.scores(forest.votes_for(call, row, features)), -1};
  }
};

}  // namespace

constinit const Judge kTreeEnsemble = judge_of<ml::ScoredPlan<TreeEnsemble>>();
constinit const Judge kTreeEnsembleClassifier = judge_of<ml::ScoredPlan<TreeClassifier>>();
constinit const Judge kTreeEnsembleRegressor = judge_of<ml::ScoredPlan<TreeRegressor>>();

}  // namespace commensal::kernels::ref

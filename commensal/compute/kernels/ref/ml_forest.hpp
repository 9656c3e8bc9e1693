// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/ml.hpp>

/// Decision trees, whatever operator describes them.
namespace commensal::kernels::ref::ml {

enum class Mode : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
enum class Aggregate { kAverage, kSum, kMin, kMax };

/// Where a row goes on: a branch, or a leaf.
struct Place {
  std::int64_t at = 0;
  bool is_leaf = false;
};

struct Branch {
  Mode mode = Mode::kLeq;
  bool nan_is_true = false;
  std::int64_t feature = 0;
  double split = 0;
  std::size_t members = 0, members_end = 0;  // of Forest::members; kMember only
  Place if_true, if_false;
};

struct Vote {
  std::int64_t leaf = 0, target = 0;
  double weight = 0;
};

/// After `finish` has accepted it, every walk stays inside and comes to a leaf.
struct Forest {
  std::vector<Branch> branches;
  std::vector<Place> roots;  // one per tree, in the order in which the trees vote
  std::vector<Vote> votes;   // leaf by leaf after finish; of one leaf in the order given
  std::vector<double> members;
  std::int64_t leaves = 0, targets = 0;
  Aggregate aggregate = Aggregate::kSum;
  bool wide = false;         // votes are summed in binary64, else in binary32
  std::vector<double> base;  // one per target, or none

  /// Checks features, places and targets, that no walk is endless and that all walks of a row
  /// together are bounded, and sorts the votes.
  core::Result<void> finish(std::int64_t features);

  /// The leaf that a row comes to. `value(feature)` is called for each feature on the way.
  template <class Value>
  std::int64_t leaf_of(Place place, Value&& value) const {
    while (!place.is_leaf) {
      const Branch& branch = branches[static_cast<std::size_t>(place.at)];
      place = holds(branch, value(branch.feature)) ? branch.if_true : branch.if_false;
    }
    return place.at;
  }
  bool holds(const Branch& branch, double value) const;

  std::span<const Vote> votes_of(std::int64_t leaf) const {
    const auto first = vote_start_[static_cast<std::size_t>(leaf)];
    const auto last = vote_start_[static_cast<std::size_t>(leaf) + 1];
    return {votes.data() + first, votes.data() + last};
  }
  /// The votes for a row, tree by tree.
  std::vector<Vote> votes_for(const Call& call, std::int64_t row, std::int64_t features) const;
  /// Appends the elements of input 0 that are looked at.
  void reads(const Call& call, std::int64_t row, std::int64_t features,
             std::vector<ElementRef>& out) const;

  /// The accumulator of a target after `steps` votes for it; with all of them its score.
  double accumulated(std::span<const Vote> votes, std::int64_t target, std::int64_t steps) const;
  std::vector<double> scores(std::span<const Vote> votes) const;

 private:
  core::Result<void> check_places() const;
  core::Result<void> check_walks() const;
  template <class C>
  std::vector<double> scores_in(std::span<const Vote> votes) const;

  std::vector<std::size_t> vote_start_;
};

/// The node arrays of TreeEnsembleClassifier and TreeEnsembleRegressor with the votes of the
/// arrays `<prefix>_treeids`, `_nodeids`, `_ids` and `_weights`.
core::Result<Forest> forest_of_nodes(const Call& call, std::string_view prefix,
                                     std::int64_t targets, std::int64_t features);
/// The arrays of TreeEnsemble.
core::Result<Forest> forest_of_branches(const Call& call, std::int64_t features);

}  // namespace commensal::kernels::ref::ml

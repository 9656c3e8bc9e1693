// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ml_forest.hpp>

namespace commensal::kernels::ref::ml {

using core::ErrorCode;
using core::fail;

namespace {

template <class C>
double sum_of(std::span<const Vote> votes, std::int64_t target, std::int64_t steps) {
  C acc{0};
  for (const Vote& vote : votes) {
    if (vote.target != target) continue;
    if (steps-- <= 0) break;
    acc = acc + static_cast<C>(vote.weight);
  }
  return static_cast<double>(acc);
}

template <class C, bool kMaximum>
double extreme_of(std::span<const Vote> votes, std::int64_t target, std::int64_t steps) {
  Extreme<C, kMaximum> extreme(steps);
  for (const Vote& vote : votes) {
    if (vote.target == target) extreme.add(0, static_cast<C>(vote.weight));
  }
  return static_cast<double>(extreme.value());
}

template <class C>
double accumulated_in(Aggregate aggregate, std::span<const Vote> votes, std::int64_t target,
                      std::int64_t steps) {
  switch (aggregate) {
    case Aggregate::kMin:
      return extreme_of<C, false>(votes, target, steps);
    case Aggregate::kMax:
      return extreme_of<C, true>(votes, target, steps);
    default:
      return sum_of<C>(votes, target, steps);
  }
}

}  // namespace

bool Forest::holds(const Branch& branch, double value) const {
  if (value != value) return branch.nan_is_true;
  switch (branch.mode) {
    case Mode::kLeq:
      return value <= branch.split;
    case Mode::kLt:
      return value < branch.split;
    case Mode::kGte:
      return value >= branch.split;
    case Mode::kGt:
      return value > branch.split;
    case Mode::kEq:
      return value == branch.split;
    case Mode::kNeq:
      return value != branch.split;
    case Mode::kMember:
      break;
  }
  const auto first = members.begin() + static_cast<std::ptrdiff_t>(branch.members);
  const auto last = members.begin() + static_cast<std::ptrdiff_t>(branch.members_end);
  return std::find(first, last, value) != last;
}

core::Result<void> Forest::check_places() const {
  const auto is_inside = [&](Place place) {
    const auto end = place.is_leaf ? leaves : static_cast<std::int64_t>(branches.size());
    return place.at >= 0 && place.at < end;
  };
  for (const Place root : roots) {
    if (!is_inside(root)) {
      return fail(ErrorCode::kInvalidArgument, "the root {} is no node", root.at);
    }
  }
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (const Place child : {branches[i].if_true, branches[i].if_false}) {
      if (!is_inside(child)) {
        return fail(ErrorCode::kInvalidArgument, "node {} leads to {}, which is no {}", i, child.at,
                    child.is_leaf ? "leaf" : "node");
      }
    }
  }
  return {};
}

// Takes away branches whose ways all end, from the leaves up, and adds up what the longest way from
// each costs; what remains lies on a cycle or before one.
core::Result<void> Forest::check_walks() const {
  std::vector<int> open(branches.size(), 0);  // children that are branches not yet taken away
  std::vector<std::int64_t> cost(branches.size(), 0);
  std::vector<std::vector<std::size_t>> parents(branches.size());
  std::vector<std::size_t> ready;
  const auto cost_of = [&](Place place) {
    if (!place.is_leaf) return cost[static_cast<std::size_t>(place.at)];
    return 1 + static_cast<std::int64_t>(votes_of(place.at).size());
  };
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (const Place child : {branches[i].if_true, branches[i].if_false}) {
      if (child.is_leaf) continue;
      parents[static_cast<std::size_t>(child.at)].push_back(i);
      ++open[i];
    }
    if (open[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::size_t at = ready.back();
    ready.pop_back();
    ++done;
    const Branch& branch = branches[at];
    cost[at] = 1 + static_cast<std::int64_t>(branch.members_end - branch.members) +
               std::max(cost_of(branch.if_true), cost_of(branch.if_false));
    for (const std::size_t parent : parents[at]) {
      if (--open[parent] == 0) ready.push_back(parent);
    }
  }
  if (done != branches.size()) {
    const auto stuck = std::ranges::find_if(open, [](int count) { return count != 0; });
    return fail(ErrorCode::kInvalidArgument, "from node {} on a row may go round in a cycle",
                stuck - open.begin());
  }
  std::int64_t total = 0;
  for (const Place root : roots) total = std::min(total + cost_of(root), limits::kTreeStepsMax + 1);
  if (total <= limits::kTreeStepsMax) return {};
  return fail(ErrorCode::kResourceExhausted, "a row may take more than {} steps in the trees",
              limits::kTreeStepsMax);
}

core::Result<void> Forest::finish(std::int64_t features) {
  if (targets < 1 || targets > limits::kTargetsMax) {
    return fail(ErrorCode::kInvalidArgument, "{} targets or classes, expected 1 to {}", targets,
                limits::kTargetsMax);
  }
  if (roots.empty()) return fail(ErrorCode::kInvalidArgument, "there is no tree");
  for (const Branch& branch : branches) {
    if (branch.feature < 0 || branch.feature >= features) {
      return fail(ErrorCode::kInvalidArgument, "a node asks for feature {} of {}", branch.feature,
                  features);
    }
  }
  COMMENSAL_TRY(check_places());
  for (const Vote& vote : votes) {
    if (vote.target < 0 || vote.target >= targets) {
      return fail(ErrorCode::kInvalidArgument, "a leaf votes for {} of {} targets or classes",
                  vote.target, targets);
    }
  }
  std::stable_sort(votes.begin(), votes.end(),
                   [](const Vote& a, const Vote& b) { return a.leaf < b.leaf; });
  vote_start_.assign(static_cast<std::size_t>(leaves) + 1, 0);
  for (const Vote& vote : votes) ++vote_start_[static_cast<std::size_t>(vote.leaf) + 1];
  for (std::size_t i = 1; i < vote_start_.size(); ++i) vote_start_[i] += vote_start_[i - 1];
  return check_walks();
}

std::vector<Vote> Forest::votes_for(const Call& call, std::int64_t row,
                                    std::int64_t features) const {
  std::vector<Vote> made;
  for (const Place root : roots) {
    const std::int64_t leaf = leaf_of(
        root, [&](std::int64_t feature) { return wide_at(call, row * features + feature); });
    const auto of_leaf = votes_of(leaf);
    call.pulse(8 + 2 * of_leaf.size());
    made.insert(made.end(), of_leaf.begin(), of_leaf.end());
  }
  return made;
}

void Forest::reads(const Call& call, std::int64_t row, std::int64_t features,
                   std::vector<ElementRef>& out) const {
  for (const Place root : roots) {
    leaf_of(root, [&](std::int64_t feature) {
      out.push_back({0, row * features + feature});
      return wide_at(call, row * features + feature);
    });
  }
}

double Forest::accumulated(std::span<const Vote> given, std::int64_t target,
                           std::int64_t steps) const {
  return wide ? accumulated_in<double>(aggregate, given, target, steps)
              : accumulated_in<float>(aggregate, given, target, steps);
}

// As `accumulated` for every target, in one pass over the votes; then the mean and the base.
template <class C>
std::vector<double> Forest::scores_in(std::span<const Vote> given) const {
  const auto count = static_cast<std::size_t>(targets);
  std::vector<C> acc(count, C{0});
  std::vector<char> has_vote(count, 0);
  for (const Vote& vote : given) {
    const auto t = static_cast<std::size_t>(vote.target);
    const C weight = static_cast<C>(vote.weight);
    const bool takes = aggregate == Aggregate::kMin ? below(weight, acc[t]) : above(weight, acc[t]);
    if (aggregate == Aggregate::kSum || aggregate == Aggregate::kAverage) {
      acc[t] = acc[t] + weight;
    } else if (takes || has_vote[t] == 0) {
      acc[t] = weight;
    }
    has_vote[t] = 1;
  }
  std::vector<double> made(count);
  for (std::size_t t = 0; t < count; ++t) {
    C score = acc[t];
    if (aggregate == Aggregate::kAverage) score = score / static_cast<C>(roots.size());
    if (!base.empty()) score = score + static_cast<C>(base[t]);
    made[t] = static_cast<double>(score);
  }
  return made;
}

std::vector<double> Forest::scores(std::span<const Vote> given) const {
  return wide ? scores_in<double>(given) : scores_in<float>(given);
}

}  // namespace commensal::kernels::ref::ml

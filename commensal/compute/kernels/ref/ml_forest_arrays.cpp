// SPDX-License-Identifier: Apache-2.0
// How the operators spell a forest in arrays. Nothing in them is trusted.
#include <algorithm>
#include <commensal/compute/kernels/ref/ml_forest.hpp>

namespace commensal::kernels::ref::ml {
namespace {

using core::ErrorCode;
using core::fail;
using Integers64 = std::vector<std::int64_t>;

core::Result<void> check_length(std::string_view name, std::size_t length, std::size_t expected) {
  if (length == expected) return {};
  return fail(ErrorCode::kInvalidArgument, "attribute '{}' must have {} entries, not {}", name,
              expected, length);
}

// Numbers, and whether they are binary64 ones.
struct RealList {
  std::vector<double> values;
  bool wide = false;
};

core::Result<RealList> from_tensor(const Call& call, std::string_view name) {
  COMMENSAL_ASSIGN(const Tensor tensor, call.attributes->tensor(name));
  if (!tensor.defined()) return RealList{};
  if (!ml::Reals::has(tensor.dtype()) || tensor.shape().rank() > 1) {
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' must be a list of {}, not {}", name,
                ml::Reals::text(), tensor.type().text());
  }
  return visit(ml::Reals{}, tensor.dtype(), [&]<class T>() {
    RealList made{{}, std::is_same_v<T, double>};
    for (const T value : tensor.data<T>()) made.values.push_back(load(value));
    return made;
  });
}

// The attribute, or the one with `_as_tensor` behind its name.
core::Result<RealList> real_list(const Call& call, const std::string& name) {
  const std::string other = name + "_as_tensor";
  if (!call.attributes->has(other)) {
    COMMENSAL_ASSIGN(const std::vector<float> values, call.attributes->reals(name));
    return RealList{{values.begin(), values.end()}, false};
  }
  if (call.attributes->has(name)) {
    return fail(ErrorCode::kInvalidArgument, "only one of '{}' and '{}' may be there", name, other);
  }
  return from_tensor(call, other);
}

core::Result<Integers64> list_of(const Call& call, const std::string& name, std::size_t length) {
  COMMENSAL_ASSIGN(Integers64 values, call.attributes->integers(name));
  COMMENSAL_TRY(check_length(name, values.size(), length));
  return values;
}

core::Result<Integers64> flags_of(const Call& call, std::size_t length) {
  constexpr const char* kName = "nodes_missing_value_tracks_true";
  COMMENSAL_ASSIGN(Integers64 values, call.attributes->integers(kName));
  if (values.empty()) values.assign(length, 0);
  COMMENSAL_TRY(check_length(kName, values.size(), length));
  return values;
}

constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"BRANCH_LEQ", Mode::kLeq}, {"BRANCH_LT", Mode::kLt}, {"BRANCH_GTE", Mode::kGte},
    {"BRANCH_GT", Mode::kGt},   {"BRANCH_EQ", Mode::kEq}, {"BRANCH_NEQ", Mode::kNeq}};

core::Result<Mode> mode_of(const std::string& asked) {
  for (const auto& [name, mode] : kModes) {
    if (name == asked) return mode;
  }
  return fail(ErrorCode::kInvalidArgument,
              "a mode in 'nodes_modes' is neither LEAF nor a BRANCH_ that is known");
}

// Nodes by the ids of tree and node.
class NodeIndex {
 public:
  static core::Result<NodeIndex> of(const Integers64& trees, const Integers64& nodes) {
    NodeIndex index;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      index.keys_.push_back({trees[i], nodes[i], static_cast<std::int64_t>(i)});
    }
    std::sort(index.keys_.begin(), index.keys_.end());
    for (std::size_t i = 1; i < index.keys_.size(); ++i) {
      const Key &a = index.keys_[i - 1], &b = index.keys_[i];
      if (a.tree == b.tree && a.node == b.node) {
        return fail(ErrorCode::kInvalidArgument, "tree {} has the node {} twice", a.tree, a.node);
      }
    }
    return index;
  }
  core::Result<std::int64_t> find(std::int64_t tree, std::int64_t node) const {
    const auto found = std::lower_bound(keys_.begin(), keys_.end(), Key{tree, node, 0});
    if (found == keys_.end() || found->tree != tree || found->node != node) {
      return fail(ErrorCode::kInvalidArgument, "tree {} has no node {}", tree, node);
    }
    return found->at;
  }
  // The first node of each tree, the trees by ascending id.
  Integers64 roots() const {
    Integers64 made;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (i == 0 || keys_[i].tree != keys_[i - 1].tree) made.push_back(keys_[i].at);
      made.back() = std::min(made.back(), keys_[i].at);
    }
    return made;
  }

 private:
  struct Key {
    std::int64_t tree = 0, node = 0, at = 0;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys_;
};

// Which branch or leaf each node is, in the order of the arrays.
std::vector<Place> places_of(const std::vector<std::string>& modes, Forest& forest) {
  std::vector<Place> places;
  std::int64_t branches = 0;
  for (const std::string& mode : modes) {
    const bool is_leaf = mode == "LEAF";
    places.push_back({is_leaf ? forest.leaves++ : branches++, is_leaf});
  }
  return places;
}

core::Result<void> add_votes(const Call& call, const std::string& prefix, const NodeIndex& index,
                             const std::vector<Place>& places, Forest& forest) {
  COMMENSAL_ASSIGN(const RealList weights, real_list(call, prefix + "_weights"));
  const std::size_t count = weights.values.size();
  COMMENSAL_ASSIGN(const auto trees, list_of(call, prefix + "_treeids", count));
  COMMENSAL_ASSIGN(const auto nodes, list_of(call, prefix + "_nodeids", count));
  COMMENSAL_ASSIGN(const auto targets, list_of(call, prefix + "_ids", count));
  for (std::size_t i = 0; i < count; ++i) {
    COMMENSAL_ASSIGN(const std::int64_t node, index.find(trees[i], nodes[i]));
    const Place place = places[static_cast<std::size_t>(node)];
    // No row ever stays at a branch: what is said there is never heard.
    if (place.is_leaf) forest.votes.push_back({place.at, targets[i], weights.values[i]});
  }
  forest.wide = forest.wide || weights.wide;
  return {};
}

core::Result<Aggregate> aggregate_of(std::string_view asked) {
  constexpr std::pair<std::string_view, Aggregate> kNames[] = {{"AVERAGE", Aggregate::kAverage},
                                                               {"SUM", Aggregate::kSum},
                                                               {"MIN", Aggregate::kMin},
                                                               {"MAX", Aggregate::kMax}};
  for (const auto& [name, aggregate] : kNames) {
    if (name == asked) return aggregate;
  }
  return fail(ErrorCode::kInvalidArgument,
              "attribute 'aggregate_function' must be AVERAGE, SUM, MIN or MAX");
}

}  // namespace

core::Result<Forest> forest_of_nodes(const Call& call, std::string_view prefix,
                                     std::int64_t targets, std::int64_t features) {
  Forest forest;
  forest.targets = targets;
  forest.wide = call.in(0).dtype() == DType::kFloat64;
  COMMENSAL_ASSIGN(const auto aggregate, call.attributes->text("aggregate_function", "SUM"));
  COMMENSAL_ASSIGN(forest.aggregate, aggregate_of(aggregate));
  COMMENSAL_ASSIGN(const auto modes, call.attributes->texts("nodes_modes"));
  const std::size_t count = modes.size();
  COMMENSAL_ASSIGN(const auto trees, list_of(call, "nodes_treeids", count));
  COMMENSAL_ASSIGN(const auto nodes, list_of(call, "nodes_nodeids", count));
  COMMENSAL_ASSIGN(const auto feature, list_of(call, "nodes_featureids", count));
  COMMENSAL_ASSIGN(const auto if_true, list_of(call, "nodes_truenodeids", count));
  COMMENSAL_ASSIGN(const auto if_false, list_of(call, "nodes_falsenodeids", count));
  COMMENSAL_ASSIGN(const auto tracks, flags_of(call, count));
  COMMENSAL_ASSIGN(const RealList splits, real_list(call, "nodes_values"));
  COMMENSAL_TRY(check_length("nodes_values", splits.values.size(), count));
  COMMENSAL_ASSIGN(const NodeIndex index, NodeIndex::of(trees, nodes));
  const std::vector<Place> places = places_of(modes, forest);
  for (std::size_t i = 0; i < count; ++i) {
    if (places[i].is_leaf) continue;
    Branch branch;
    COMMENSAL_ASSIGN(branch.mode, mode_of(modes[i]));
    COMMENSAL_ASSIGN(const std::int64_t yes, index.find(trees[i], if_true[i]));
    COMMENSAL_ASSIGN(const std::int64_t no, index.find(trees[i], if_false[i]));
    branch.if_true = places[static_cast<std::size_t>(yes)];
    branch.if_false = places[static_cast<std::size_t>(no)];
    branch.feature = feature[i];
    branch.split = splits.values[i];
    branch.nan_is_true = tracks[i] != 0;
    forest.branches.push_back(branch);
  }
  for (const std::int64_t root : index.roots()) {
    forest.roots.push_back(places[static_cast<std::size_t>(root)]);
  }
  COMMENSAL_TRY(add_votes(call, std::string(prefix), index, places, forest));
  COMMENSAL_ASSIGN(const RealList base, real_list(call, "base_values"));
  forest.base = base.values;
  forest.wide = forest.wide || base.wide;
  COMMENSAL_TRY(forest.finish(features));
  return forest;
}

namespace {

core::Result<std::vector<Mode>> numbered_modes(const Call& call) {
  COMMENSAL_ASSIGN(const Tensor tensor, call.attributes->tensor("nodes_modes"));
  if (tensor.dtype() != DType::kUint8 || tensor.shape().rank() > 1) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'nodes_modes' must be a list of uint8");
  }
  std::vector<Mode> modes;
  for (const std::uint8_t number : tensor.data<std::uint8_t>()) {
    if (number > static_cast<std::uint8_t>(Mode::kMember)) {
      return fail(ErrorCode::kInvalidArgument, "a mode in 'nodes_modes' is {}, expected 0 to 6",
                  number);
    }
    modes.push_back(static_cast<Mode>(number));
  }
  return modes;
}

// The k-th list between NaNs belongs to the k-th branch that asks for membership.
core::Result<void> add_members(const Call& call, Forest& forest) {
  COMMENSAL_ASSIGN(const RealList listed, from_tensor(call, "membership_values"));
  forest.members = listed.values;
  std::size_t next = 0;
  for (Branch& branch : forest.branches) {
    if (branch.mode != Mode::kMember) continue;
    if (next >= listed.values.size()) {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'membership_values' has fewer lists than there are member nodes");
    }
    branch.members = next;
    while (next < listed.values.size() && listed.values[next] == listed.values[next]) ++next;
    branch.members_end = next++;
  }
  if (next < listed.values.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'membership_values' has more lists than there are member nodes");
  }
  return {};
}

core::Result<void> add_branches(const Call& call, Forest& forest) {
  COMMENSAL_ASSIGN(const auto modes, numbered_modes(call));
  const std::size_t count = modes.size();
  COMMENSAL_ASSIGN(const auto feature, list_of(call, "nodes_featureids", count));
  COMMENSAL_ASSIGN(const auto if_true, list_of(call, "nodes_truenodeids", count));
  COMMENSAL_ASSIGN(const auto if_false, list_of(call, "nodes_falsenodeids", count));
  COMMENSAL_ASSIGN(const auto true_leafs, list_of(call, "nodes_trueleafs", count));
  COMMENSAL_ASSIGN(const auto false_leafs, list_of(call, "nodes_falseleafs", count));
  COMMENSAL_ASSIGN(const auto tracks, flags_of(call, count));
  COMMENSAL_ASSIGN(const RealList splits, from_tensor(call, "nodes_splits"));
  COMMENSAL_TRY(check_length("nodes_splits", splits.values.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    Branch branch;
    branch.mode = modes[i];
    branch.feature = feature[i];
    branch.split = splits.values[i];
    branch.nan_is_true = tracks[i] != 0;
    branch.if_true = {if_true[i], true_leafs[i] != 0};
    branch.if_false = {if_false[i], false_leafs[i] != 0};
    forest.branches.push_back(branch);
  }
  return {};
}

}  // namespace

core::Result<Forest> forest_of_branches(const Call& call, std::int64_t features) {
  Forest forest;
  forest.wide = call.in(0).dtype() == DType::kFloat64;
  COMMENSAL_ASSIGN(forest.targets, call.attributes->integer("n_targets", 1));
  COMMENSAL_ASSIGN(const auto aggregate, call.attributes->integer("aggregate_function", 1));
  if (aggregate < 0 || aggregate > static_cast<int>(Aggregate::kMax)) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'aggregate_function' must be 0 to 3, not {}", aggregate);
  }
  forest.aggregate = static_cast<Aggregate>(aggregate);
  COMMENSAL_TRY(add_branches(call, forest));
  COMMENSAL_TRY(add_members(call, forest));
  COMMENSAL_ASSIGN(const Integers64 roots, call.attributes->integers("tree_roots"));
  for (const std::int64_t root : roots) forest.roots.push_back({root, false});
  COMMENSAL_ASSIGN(const RealList weights, from_tensor(call, "leaf_weights"));
  forest.wide = forest.wide || weights.wide;
  COMMENSAL_ASSIGN(const auto targets, list_of(call, "leaf_targetids", weights.values.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    forest.votes.push_back({forest.leaves++, targets[i], weights.values[i]});
  }
  COMMENSAL_TRY(forest.finish(features));
  return forest;
}

}  // namespace commensal::kernels::ref::ml

// SPDX-License-Identifier: Apache-2.0
// Random forests against a recursion over their nodes, cases by hand, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <memory>

namespace commensal::kernels {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<float>;
using Texts = std::vector<std::string>;

constexpr int kFeatures = 4, kTargets = 3;

// A tree as one would draw it.
struct Drawn {
  int mode = 0;  // 0 to 5; below 0: a leaf
  int feature = 0;
  float split = 0;
  bool nan_is_true = false;
  std::unique_ptr<Drawn> yes, no;
  std::vector<std::pair<int, float>> votes;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  int below(int end) { return static_cast<int>((value() + 1) / 2 * static_cast<float>(end)); }
  float value() { return core::counter_symmetric_f32(seed_, 0, next_++); }

 private:
  std::uint64_t seed_, next_ = 0;
};

std::unique_ptr<Drawn> draw(Dice& dice, int depth) {
  auto tree = std::make_unique<Drawn>();
  if (depth == 0 || dice.below(5) == 0) {
    tree->mode = -1;
    for (int i = dice.below(3); i >= 0; --i) {
      tree->votes.emplace_back(dice.below(kTargets), dice.value());
    }
    return tree;
  }
  tree->mode = dice.below(6);
  tree->feature = dice.below(kFeatures);
  tree->split = std::round(dice.value() * 4) / 4;  // so that equality happens
  tree->nan_is_true = dice.below(2) == 0;
  tree->yes = draw(dice, depth - 1);
  tree->no = draw(dice, depth - 1);
  return tree;
}

const Drawn& leaf_of(const Drawn& tree, const float* row) {
  if (tree.mode < 0) return tree;
  const float x = row[tree.feature];
  const bool held[] = {x <= tree.split, x<tree.split, x >= tree.split, x> tree.split,
                       x == tree.split, x != tree.split};
  const bool yes = std::isnan(x) ? tree.nan_is_true : held[tree.mode];
  return leaf_of(yes ? *tree.yes : *tree.no, row);
}

using Trees = std::vector<std::unique_ptr<Drawn>>;

// The arrays of versions 1 and 3. Nodes are numbered from 100 on, parents first.
struct NodeArrays {
  Ints trees, ids, features, yes, no, tracks, vote_trees, vote_nodes, targets;
  Texts modes;
  Reals splits, weights;

  std::int64_t add(const Drawn& tree, std::int64_t number, std::int64_t& next) {
    static const char* const kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const std::int64_t id = next++;
    const std::size_t at = ids.size();
    trees.push_back(number);
    ids.push_back(id);
    features.push_back(tree.feature);
    modes.emplace_back(tree.mode < 0 ? "LEAF" : kModes[tree.mode]);
    splits.push_back(tree.split);
    tracks.push_back(tree.nan_is_true);
    yes.push_back(0);
    no.push_back(0);
    for (const auto& [target, weight] : tree.votes) {
      vote_trees.push_back(number);
      vote_nodes.push_back(id);
      targets.push_back(target);
      weights.push_back(weight);
    }
    if (tree.mode >= 0) {
      yes[at] = add(*tree.yes, number, next);
      no[at] = add(*tree.no, number, next);
    }
    return id;
  }
  Attributes attributes(const std::string& prefix) const {
    Attributes made;
    made.set("nodes_treeids", trees);
    made.set("nodes_nodeids", ids);
    made.set("nodes_featureids", features);
    made.set("nodes_modes", modes);
    made.set("nodes_values", splits);
    made.set("nodes_truenodeids", yes);
    made.set("nodes_falsenodeids", no);
    made.set("nodes_missing_value_tracks_true", tracks);
    made.set(prefix + "_treeids", vote_trees);
    made.set(prefix + "_nodeids", vote_nodes);
    made.set(prefix + "_ids", targets);
    made.set(prefix + "_weights", weights);
    return made;
  }
};

NodeArrays arrays_of(const Trees& trees) {
  NodeArrays made;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    std::int64_t next = 100;
    made.add(*trees[t], static_cast<std::int64_t>(t), next);
  }
  return made;
}

// The arrays of version 5, which give each leaf one vote.
struct BranchArrays {
  Ints features, yes, no, yes_leaf, no_leaf, tracks, targets, roots;
  std::vector<std::uint8_t> modes;
  Reals splits, weights;

  std::pair<std::int64_t, bool> add(const Drawn& tree) {
    if (tree.mode < 0) {
      targets.push_back(tree.votes[0].first);
      weights.push_back(tree.votes[0].second);
      return {static_cast<std::int64_t>(targets.size()) - 1, true};
    }
    const std::size_t at = features.size();
    features.push_back(tree.feature);
    modes.push_back(static_cast<std::uint8_t>(tree.mode));
    splits.push_back(tree.split);
    tracks.push_back(tree.nan_is_true);
    for (Ints* list : {&yes, &no, &yes_leaf, &no_leaf}) list->push_back(0);
    const auto [to_yes, yes_ends] = add(*tree.yes);
    const auto [to_no, no_ends] = add(*tree.no);
    yes[at] = to_yes;
    no[at] = to_no;
    yes_leaf[at] = yes_ends;
    no_leaf[at] = no_ends;
    return {static_cast<std::int64_t>(at), false};
  }
  template <class T>
  static Tensor list(const std::vector<T>& values) {
    return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
  }
  Attributes attributes() const {
    Attributes made;
    made.set("nodes_featureids", features);
    made.set("nodes_modes", list(modes));
    made.set("nodes_splits", list(splits));
    made.set("nodes_truenodeids", yes);
    made.set("nodes_falsenodeids", no);
    made.set("nodes_trueleafs", yes_leaf);
    made.set("nodes_falseleafs", no_leaf);
    made.set("nodes_missing_value_tracks_true", tracks);
    made.set("leaf_targetids", targets);
    made.set("leaf_weights", list(weights));
    made.set("tree_roots", roots);
    made.set("n_targets", std::int64_t{kTargets});
    return made;
  }
};

Tensor rows(Dice& dice, int count) {
  Reals values;
  for (int i = 0; i < count * kFeatures; ++i) {
    values.push_back(dice.below(8) == 0 ? std::nanf("") : std::round(dice.value() * 8) / 8);
  }
  return Tensor::of<float>({count, kFeatures}, values);
}

Sample tree_sample(const char* name, int opset, const Tensor& x, const Attributes& attributes,
                   int outputs = 1) {
  return {name, opset, {x}, attributes, outputs, "ai.onnx.ml"};
}
std::vector<Tensor> run(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  EXPECT_TRUE(inferred.has_value()) << inferred.error().message;
  return inferred ? made.run_ref() : std::vector<Tensor>(2);
}

// Sums in the order of the trees, in binary32.
Reals sums(const Trees& trees, const Tensor& x, bool only_first_vote) {
  Reals made(static_cast<std::size_t>(x.shape()[0] * kTargets), 0.0f);
  for (std::int64_t row = 0; row < x.shape()[0]; ++row) {
    for (const auto& tree : trees) {
      for (const auto& [target, weight] :
           leaf_of(*tree, x.data<float>().data() + row * kFeatures).votes) {
        made[static_cast<std::size_t>(row * kTargets + target)] += weight;
        if (only_first_vote) break;
      }
    }
  }
  return made;
}

TEST(RefTrees, RandomForestsVoteAsTheirRecursionDoes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    Trees trees;
    for (int t = dice.below(6); t >= 0; --t) trees.push_back(draw(dice, 5));
    const Tensor x = rows(dice, 9);
    Attributes attributes = arrays_of(trees).attributes("target");
    attributes.set("n_targets", std::int64_t{kTargets});
    const Tensor y = run(tree_sample("TreeEnsembleRegressor", 3, x, attributes))[0];
    const Reals expected = sums(trees, x, false);
    EXPECT_THAT(y.data<float>(), ::testing::ElementsAreArray(expected)) << "seed " << seed;
    EXPECT_THAT(y.shape().text(), "[9,3]");
  }
}

TEST(RefTrees, BothSpellingsOfAForestAgree) {
  int compared = 0;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    Dice dice(seed);
    Trees trees;
    for (int t = dice.below(6); t >= 0; --t) trees.push_back(draw(dice, 5));
    BranchArrays arrays;
    bool has_bare_leaf = false;  // a tree of one leaf, which roots cannot name
    for (const auto& tree : trees) {
      const auto [root, is_leaf] = arrays.add(*tree);
      has_bare_leaf = has_bare_leaf || is_leaf;
      arrays.roots.push_back(root);
    }
    if (has_bare_leaf) continue;
    const Tensor x = rows(dice, 7);
    const Tensor y = run(tree_sample("TreeEnsemble", 5, x, arrays.attributes()))[0];
    EXPECT_THAT(y.data<float>(), ::testing::ElementsAreArray(sums(trees, x, true)));
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

// One split at 0 of feature 0 with votes for both sides.
Attributes stump(const std::string& prefix, const Ints& targets, const Reals& weights) {
  Attributes made;
  made.set("nodes_treeids", Ints{0, 0, 0});
  made.set("nodes_nodeids", Ints{0, 1, 2});
  made.set("nodes_featureids", Ints{0, 0, 0});
  made.set("nodes_modes", Texts{"BRANCH_LEQ", "LEAF", "LEAF"});
  made.set("nodes_values", Reals{0, 0, 0});
  made.set("nodes_truenodeids", Ints{1, 0, 0});
  made.set("nodes_falsenodeids", Ints{2, 0, 0});
  made.set(prefix + "_treeids", Ints{0, 0});
  made.set(prefix + "_nodeids", Ints{1, 2});
  made.set(prefix + "_ids", targets);
  made.set(prefix + "_weights", weights);
  return made;
}
Tensor column(const Reals& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size()), 1}, values);
}

TEST(RefTrees, TwoClassesWithVotesForOne) {
  Attributes attributes = stump("class", {0, 0}, {0.25f, 0.75f});
  attributes.set("classlabels_int64s", Ints{-1, 1});
  auto y = run(tree_sample("TreeEnsembleClassifier", 3, column({-1, 1}), attributes, 2));
  EXPECT_THAT(y[0].data<std::int64_t>(), ElementsAre(-1, 1));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(0.75f, 0.25f, 0.25f, 0.75f));
  // A negative vote makes it a score against its negative, whose sign decides.
  attributes = stump("class", {1, 1}, {-0.5f, 0.25f});
  attributes.set("classlabels_strings", Texts{"no", "yes"});
  y = run(tree_sample("TreeEnsembleClassifier", 3, column({-1, 1}), attributes, 2));
  EXPECT_THAT(y[0].strings(), ElementsAre("no", "yes"));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(0.5f, -0.5f, -0.25f, 0.25f));
  attributes.set("base_values", Reals{0.5f});
  attributes.set("post_transform", std::string("LOGISTIC"));
  y = run(tree_sample("TreeEnsembleClassifier", 3, column({-1, 1}), attributes, 2));
  EXPECT_THAT(y[0].strings(), ElementsAre("no", "yes"));
  const float high = 1 / (1 + std::exp(-0.75f));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(0.5f, 0.5f, ::testing::FloatNear(1 - high, 1e-6f),
                                              ::testing::FloatNear(high, 1e-6f)));
}

TEST(RefTrees, ManyClassesTakeTheFirstLargest) {
  Attributes attributes = stump("class", {0, 2}, {0.5f, 0.75f});
  attributes.set("classlabels_int64s", Ints{10, 20, 30});
  attributes.set("base_values", Reals{0, 0.5f, 0});
  const auto y = run(tree_sample("TreeEnsembleClassifier", 3, column({-1, 1}), attributes, 2));
  EXPECT_THAT(y[0].data<std::int64_t>(), ElementsAre(10, 30));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(0.5f, 0.5f, 0, 0, 0.5f, 0.75f));
}

TEST(RefTrees, Aggregates) {
  const auto run_with = [](const char* how) {
    Attributes attributes = stump("target", {0, 0}, {3.0f, -1.0f});
    attributes.set("target_treeids", Ints{0, 0, 0});
    attributes.set("target_nodeids", Ints{1, 1, 2});
    attributes.set("target_ids", Ints{0, 0, 0});
    attributes.set("target_weights", Reals{3, -2, 5});
    attributes.set("aggregate_function", std::string(how));
    attributes.set("base_values", Reals{0.5f});
    return run(tree_sample("TreeEnsembleRegressor", 3, column({0, 1}), attributes))[0];
  };
  EXPECT_THAT(run_with("SUM").data<float>(), ElementsAre(1.5f, 5.5f));
  EXPECT_THAT(run_with("AVERAGE").data<float>(), ElementsAre(1.5f, 5.5f));
  EXPECT_THAT(run_with("MIN").data<float>(), ElementsAre(-1.5f, 5.5f));
  EXPECT_THAT(run_with("MAX").data<float>(), ElementsAre(3.5f, 5.5f));
}

// Thresholds given in binary64 are compared in it, and such votes are summed in it.
TEST(RefTrees, KeepBinary64) {
  Attributes attributes = stump("target", {0, 0}, {0, 0});
  Attributes wide;
  for (const auto& [name, value] : attributes.all()) {
    if (name != "nodes_values" && name != "target_weights") wide.set(name, value);
  }
  wide.set("nodes_values_as_tensor", Tensor::of<double>({3}, std::vector<double>{0.1, 0, 0}));
  wide.set("target_weights_as_tensor", Tensor::of<double>({2}, std::vector<double>{1, 2}));
  const Tensor x = Tensor::of<double>({2, 1}, std::vector<double>{0.1, 0.1 + 1e-15});
  EXPECT_THAT(run(tree_sample("TreeEnsembleRegressor", 3, x, wide))[0].data<float>(),
              ElementsAre(1, 2));
  wide.set("nodes_values", Reals{0, 0, 0});
  SampleCall both(tree_sample("TreeEnsembleRegressor", 3, x, wide));
  EXPECT_FALSE(both.infer());
}

void expect_refused(const char* name, Attributes attributes, const char* attribute,
                    const Attribute& value, const char* expected) {
  attributes.set(attribute, value);
  SampleCall made(
      tree_sample(name, name == std::string("TreeEnsemble") ? 5 : 3, column({1}), attributes));
  const auto inferred = made.infer();
  ASSERT_FALSE(inferred) << attribute;
  EXPECT_THAT(inferred.error().message, HasSubstr(expected)) << attribute;
}

TEST(RefTrees, HostileNodesAreRefused) {
  const Attributes good = stump("target", {0, 0}, {1, 2});
  const auto refuse = [&](const char* attribute, const Attribute& value, const char* expected) {
    expect_refused("TreeEnsembleRegressor", good, attribute, value, expected);
  };
  refuse("nodes_truenodeids", Ints{0, 0, 0}, "cycle");
  refuse("nodes_truenodeids", Ints{7, 0, 0}, "tree 0 has no node 7");
  refuse("nodes_nodeids", Ints{0, 1, 1}, "node 1 twice");
  refuse("nodes_featureids", Ints{1, 0, 0}, "feature 1 of 1");
  refuse("nodes_featureids", Ints{-1, 0, 0}, "feature -1 of 1");
  refuse("nodes_featureids", Ints{0, 0}, "must have 3 entries, not 2");
  refuse("nodes_values", Reals{0}, "must have 3 entries, not 1");
  refuse("nodes_missing_value_tracks_true", Ints{0}, "must have 3 entries, not 1");
  refuse("nodes_modes", Texts{"BRANCH_MAYBE", "LEAF", "LEAF"}, "mode in 'nodes_modes'");
  refuse("nodes_modes", Texts{}, "must have 0 entries");
  refuse("target_ids", Ints{0, 1}, "votes for 1 of 1");
  refuse("target_ids", Ints{0, INT64_MIN}, "of 1 targets");
  refuse("target_nodeids", Ints{1, 9}, "tree 0 has no node 9");
  refuse("target_weights", Reals{1}, "must have 1 entries, not 2");
  refuse("n_targets", std::int64_t{1} << 40, "targets or classes, expected");
  refuse("n_targets", std::int64_t{-1}, "targets or classes, expected");
  refuse("base_values", Reals{1, 2}, "'base_values' must have 1 entries");
  refuse("aggregate_function", std::string("MEDIAN"), "aggregate_function");
  refuse("post_transform", std::string("TANH"), "post_transform");
}

TEST(RefTrees, HostileBranchesAreRefused) {
  BranchArrays arrays;
  Dice dice(3);
  Drawn root;
  root.yes = draw(dice, 0);
  root.no = draw(dice, 0);
  arrays.roots = {arrays.add(root).first};
  Attributes good = arrays.attributes();
  SampleCall fine(tree_sample("TreeEnsemble", 5, column({1}), good));
  ASSERT_TRUE(fine.infer()) << fine.infer().error().message;
  const auto refuse = [&](const char* attribute, const Attribute& value, const char* expected) {
    expect_refused("TreeEnsemble", good, attribute, value, expected);
  };
  const auto bytes = [](std::vector<std::uint8_t> values) { return BranchArrays::list(values); };
  refuse("nodes_trueleafs", Ints{0}, "cycle");
  refuse("nodes_truenodeids", Ints{5}, "node 0 leads to 5");
  refuse("nodes_falsenodeids", Ints{-1}, "node 0 leads to -1");
  refuse("tree_roots", Ints{4}, "the root 4 is no node");
  refuse("tree_roots", Ints{}, "no tree");
  refuse("tree_roots", Ints(1 << 23, 0), "steps");
  refuse("leaf_targetids", Ints{0, 3}, "votes for 3 of 3");
  refuse("leaf_targetids", Ints{0}, "must have 2 entries");
  refuse("nodes_modes", bytes({7}), "mode in 'nodes_modes' is 7");
  refuse("nodes_modes", bytes({0, 0}), "entries");
  refuse("nodes_modes", bytes({6}), "fewer lists");
  refuse("membership_values", BranchArrays::list(Reals{1, std::nanf("")}), "more lists");
  refuse("aggregate_function", std::int64_t{4}, "aggregate_function");
  refuse("post_transform", std::int64_t{5}, "post_transform");
}

}  // namespace
}  // namespace commensal::kernels

// SPDX-License-Identifier: Apache-2.0
// Gradients of layers: products, convolutions, pools, normalizations, losses; and what is refused.
#include <commensal/compute/grad/testing/recipes.hpp>

namespace commensal::grad::testing {
namespace {

void of_mat_mul(Recipes& all) {
  all.add({"MatMul", [](Case& c) {
             const std::int64_t m = c.draw().number(1, 4), k = c.draw().number(1, 5), n = 3;
             const ValueId a = c.in({2, m, k}), b = c.in({k, n}), both = c.in({2, 1, k, n});
             const ValueId vector = c.in({k});
             return std::vector{c.op("MatMul", {a, b}),         c.op("MatMul", {a, both}),
                                c.op("MatMul", {a, vector}),    c.op("MatMul", {vector, b}),
                                c.op("MatMul", {vector, both}), c.op("MatMul", {vector, vector})};
           }});
}

void of_gemm(Recipes& all) {
  for (const int turns : {0, 1, 2, 3}) {
    all.add({fmt::format("Gemm, transposed {}", turns),
             [=](Case& c) {
               const std::int64_t m = c.draw().number(1, 4), k = c.draw().number(1, 5), n = 3;
               const bool a = (turns & 1) != 0, b = (turns & 2) != 0;
               const auto how = with({{"transA", integer(a)},
                                      {"transB", integer(b)},
                                      {"alpha", 0.75f},
                                      {"beta", c.draw().one_in(2) ? 1.0f : 0.5f}});
               const ValueId left = c.in(a ? Dims{k, m} : Dims{m, k});
               const ValueId right = c.in(b ? Dims{n, k} : Dims{k, n});
               return std::vector{c.op("Gemm", {left, right, c.in({n})}, how)};
             },
             true},
            3);
  }
}

/// Random strides, pads and dilations of two dimensions.
Attributes window_of(Case& c, std::int64_t group) {
  const auto pair = [&](std::int64_t most) {
    return Dims{c.draw().number(1, most), c.draw().number(1, most)};
  };
  return with({{"group", integer(group)},
               {"strides", pair(3)},
               {"dilations", pair(2)},
               {"pads", Dims{c.draw().number(0, 2), c.draw().number(0, 2), c.draw().number(0, 2),
                             c.draw().number(0, 2)}}});
}

void of_conv(Recipes& all) {
  all.add({"Conv",
           [](Case& c) {
             const std::int64_t group = c.draw().number(1, 3);
             const Attributes how = window_of(c, group);
             const ValueId x = c.in({2, 2 * group, c.draw().number(5, 8), c.draw().number(5, 8)});
             const ValueId w = c.in({3 * group, 2, c.draw().number(1, 3), c.draw().number(1, 3)});
             return std::vector{c.op("Conv", {x, w, c.in({3 * group})}, how)};
           }},
          8);
  all.add(
      {"Conv, auto_pad",
       [](Case& c) {
         const auto how = with({{"auto_pad", std::string("SAME_LOWER")}, {"strides", Dims{2, 1}}});
         return std::vector{c.op("Conv", {c.in({1, 2, 5, 6}), c.in({2, 2, 2, 3})}, how)};
       }},
      2);
  all.add({"Conv of one dimension, of three",
           [](Case& c) {
             return std::vector{c.op("Conv", {c.in({2, 2, 7}), c.in({3, 2, 3})}),
                                c.op("Conv", {c.in({1, 1, 3, 3, 4}), c.in({2, 1, 2, 2, 2})})};
           }},
          2);
  all.add({"Conv by the Winograd clause",
           [](Case& c) {
             const auto how = with({{"pads", Dims{1, 1, 1, 1}}});
             return std::vector{
                 c.op("Conv", {c.in({1, 16, 5, 5}), c.in({16, 16, 3, 3}, -0.2f, 0.2f)}, how)};
           }},
          1);
}

void of_conv_transpose(Recipes& all) {
  all.add({"ConvTranspose", [](Case& c) {
             const std::int64_t group = c.draw().number(1, 2);
             Attributes how = window_of(c, group);
             how.set("pads", Dims{0, 1, 1, 0});
             const ValueId x = c.in({2, 2 * group, 4, 3});
             const ValueId w = c.in({2 * group, 2, 3, 2});
             return std::vector{c.op("ConvTranspose", {x, w, c.in({2 * group})}, how)};
           }});
}

void of_pools(Recipes& all) {
  all.add({"MaxPool", [](Case& c) {
             const auto how = with({{"kernel_shape", Dims{3, 2}},
                                    {"strides", Dims{2, 1}},
                                    {"pads", Dims{1, 0, 0, 1}}});
             const ValueId x = c.in({2, 3, 6, 5});
             return std::vector{c.op("MaxPool", {x}, how), c.op("MaxPool", {x}, how, 7)};
           }});
  all.add({"AveragePool", [](Case& c) {
             Attributes how = with({{"kernel_shape", Dims{3, 2}},
                                    {"strides", Dims{2, 3}},
                                    {"pads", Dims{1, 1, 0, 1}}});
             how.set("count_include_pad", c.draw().number(0, 1));
             how.set("ceil_mode", c.draw().number(0, 1));
             return std::vector{c.op("AveragePool", {c.in({2, 3, 6, 5})}, how)};
           }});
  all.add({"global pools", [](Case& c) {
             const ValueId x = c.in({2, 3, 4, 5});
             return std::vector{c.op("GlobalAveragePool", {x}), c.op("GlobalMaxPool", {x})};
           }});
}

void of_batch_normalization(Recipes& all) {
  all.add({"BatchNormalization", [](Case& c) {
             const ValueId x = c.in({3, 2, 4}), scale = c.in({2}), bias = c.in({2});
             const ValueId mean = c.in({2}), variance = c.in({2}, 0.5f, 2);
             return std::vector{c.op("BatchNormalization", {x, scale, bias, mean, variance})};
           }});
  all.add({"BatchNormalization in training",
           [](Case& c) {
             const ValueId x = c.in({3, 2, 4}), scale = c.in({2}), bias = c.in({2});
             const ValueId mean = c.fixed({2}), variance = c.fixed({2}, 0.5f, 2);
             return std::vector{c.ops("BatchNormalization", {x, scale, bias, mean, variance}, 3,
                                      with({{"training_mode", integer(1)}}))[0]};
           },
           true, 5e-5});
}

ValueId normal_of(Case& c, ValueId x, const Dims& axes, bool centred) {
  const ValueId list = c.integers({static_cast<std::int64_t>(axes.size())}, axes);
  const ValueId d = centred ? c.op("Sub", {x, c.op("ReduceMean", {x, list})}) : x;
  const ValueId variance = c.op("ReduceMean", {c.op("Mul", {d, d}), list});
  return c.op("Div", {d, c.op("Sqrt", {c.op("Add", {variance, c.number(1e-5f)})})});
}

void of_other_normalizations(Recipes& all) {
  all.add({"LayerNormalization",
           [](Case& c) {
             const ValueId x = c.in({2, 3, 6}), scale = c.in({3, 6}), bias = c.in({3, 6});
             if (c.is_reference()) {
               return std::vector{
                   c.op("Add", {c.op("Mul", {normal_of(c, x, {1, 2}, true), scale}), bias})};
             }
             return std::vector{
                 c.op("LayerNormalization", {x, scale, bias}, with({{"axis", integer(1)}}))};
           },
           false, 5e-5});
  all.add({"RMSNormalization",
           [](Case& c) {
             const ValueId x = c.in({2, 3, 6}), scale = c.in({6});
             if (c.is_reference())
               return std::vector{c.op("Mul", {normal_of(c, x, {2}, false), scale})};
             return std::vector{c.op("RMSNormalization", {x, scale}, {}, 23)};
           },
           false, 5e-5});
  all.add({"InstanceNormalization",
           [](Case& c) {
             const ValueId x = c.in({2, 3, 4, 2}), scale = c.in({3}), bias = c.in({3});
             if (c.is_reference()) {
               const ValueId beside = c.integers({3}, {3, 1, 1});
               return std::vector{c.op("Add", {c.op("Mul", {normal_of(c, x, {2, 3}, true),
                                                            c.op("Reshape", {scale, beside})}),
                                               c.op("Reshape", {bias, beside})})};
             }
             return std::vector{c.op("InstanceNormalization", {x, scale, bias})};
           },
           false, 5e-5});
}

/// What the loss is by definition, in binary64.
ValueId loss_by_steps(Case& c, ValueId log, ValueId weights,
                      const std::vector<std::int64_t>& classes, std::int64_t ignored,
                      bool is_mean) {
  std::vector<std::int64_t> targets = classes, counted(classes.size(), 1);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] != ignored) continue;
    targets[i] = counted[i] = 0;
  }
  const auto n = static_cast<std::int64_t>(targets.size());
  const ValueId list = c.integers({n, 1}, targets);
  const ValueId at = c.op("GatherElements", {log, list}, with({{"axis", integer(1)}}));
  const ValueId w =
      c.op("Mul", {c.op("Gather", {weights, list}),
                   c.op("Cast", {c.integers({n, 1}, counted)}, with({{"to", integer(11)}}))});
  const ValueId sum = c.op("Neg", {c.op("ReduceSum", {c.op("Mul", {at, w})})});
  return is_mean ? c.op("Div", {sum, c.op("ReduceSum", {w})}) : sum;
}

void of_losses(Recipes& all) {
  for (const bool is_mean : {true, false}) {
    all.add({is_mean ? "cross entropy, mean" : "cross entropy, sum",
             [=](Case& c) {
               const std::vector<std::int64_t> classes = {2, 0, 3, 1, 2};
               const ValueId x = c.in({5, 4}), weights = c.fixed({4}, 0.5f, 2);
               if (c.is_reference()) {
                 const ValueId log = c.op("LogSoftmax", {x});
                 return std::vector{loss_by_steps(c, log, weights, classes, 3, is_mean),
                                    loss_by_steps(c, x, weights, classes, 3, is_mean)};
               }
               const auto how = with({{"reduction", std::string(is_mean ? "mean" : "sum")},
                                      {"ignore_index", integer(3)}});
               const ValueId targets = c.integers({5}, classes);
               return std::vector{c.op("SoftmaxCrossEntropyLoss", {x, targets, weights}, how),
                                  c.op("NegativeLogLikelihoodLoss", {x, targets, weights}, how)};
             },
             false, 2e-5});
  }
}

}  // namespace

void add_layers(Recipes& all) {
  of_mat_mul(all);
  of_gemm(all);
  of_conv(all);
  of_conv_transpose(all);
  of_pools(all);
  of_batch_normalization(all);
  of_other_normalizations(all);
  of_losses(all);
}

}  // namespace commensal::grad::testing

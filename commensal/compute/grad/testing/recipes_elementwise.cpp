// SPDX-License-Identifier: Apache-2.0
// Gradients of elementwise operators, of what moves elements, and of reductions.
#include <commensal/compute/grad/testing/recipes.hpp>

namespace commensal::grad::testing {
namespace {

void of_one_input(Recipes& all) {
  struct Unary {
    const char* name;
    float least, most;
    int opset;
  };
  constexpr Unary kAll[] = {
      {"Abs", -2, 2, 18},
      {"Acos", -0.9f, 0.9f, 18},
      {"Acosh", 1.1f, 3, 18},
      {"Asin", -0.9f, 0.9f, 18},
      {"Asinh", -2, 2, 18},
      {"Atan", -2, 2, 18},
      {"Atanh", -0.9f, 0.9f, 18},
      {"Celu", -2, 2, 18},
      {"Cos", -2, 2, 18},
      {"Cosh", -2, 2, 18},
      {"Elu", -2, 2, 18},
      {"Erf", -2, 2, 18},
      {"Exp", -2, 2, 18},
      {"Gelu", -2, 2, 20},
      {"HardSigmoid", -4, 4, 18},
      {"HardSwish", -5, 5, 18},
      {"Identity", -2, 2, 18},
      {"LeakyRelu", -2, 2, 18},
      {"Log", 0.2f, 3, 18},
      {"Mish", -2, 2, 18},
      {"Neg", -2, 2, 18},
      {"Reciprocal", 0.5f, 3, 18},
      {"Relu", -2, 2, 18},
      {"Selu", -2, 2, 18},
      {"Shrink", -2, 2, 18},
      {"Sigmoid", -2, 2, 18},
      {"Sin", -2, 2, 18},
      {"Sinh", -2, 2, 18},
      {"Softplus", -2, 2, 18},
      {"Softsign", -2, 2, 18},
      {"Sqrt", 0.2f, 3, 18},
      {"Swish", -2, 2, 24},
      {"Tan", -1, 1, 18},
      {"Tanh", -2, 2, 18},
      {"ThresholdedRelu", -2, 2, 18},
  };
  for (const Unary& unary : kAll) {
    all.add({unary.name,
             [=](Case& c) {
               const ValueId x = c.in(c.dims(3), unary.least, unary.most);
               return std::vector{c.op(unary.name, {x}, {}, unary.opset)};
             }},
            2);
  }
}

void of_gelu_by_tanh(Recipes& all) {
  all.add({"Gelu tanh", [](Case& c) {
             return std::vector{
                 c.op("Gelu", {c.in(c.dims(2))}, with({{"approximate", std::string("tanh")}}), 20)};
           }});
}

/// Two inputs whose shapes broadcast, now this one, now that one.
std::vector<ValueId> pair_of(Case& c, float least, float most) {
  const Dims whole = c.dims(3);
  Dims part = whole;
  for (auto& dim : part) dim = c.draw().one_in(2) ? 1 : dim;
  part.erase(part.begin(), part.begin() + c.draw().number(0, 2));
  const bool first = c.draw().one_in(2);
  const ValueId a = c.in(first ? whole : part, least, most);
  return {a, c.in(first ? part : whole, least, most)};
}

void of_two_inputs_that_broadcast(Recipes& all) {
  for (const char* const name : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean"}) {
    all.add({name, [=](Case& c) { return std::vector{c.op(name, pair_of(c, 0.5f, 2))}; }});
  }
  all.add({"PRelu", [](Case& c) {
             const Dims dims = c.dims(3);
             const ValueId x = c.in(dims);
             return std::vector{c.op("PRelu", {x, c.in({dims[2]})})};
           }});
  all.add({"Pow by a constant", [](Case& c) {
             return std::vector{c.op("Pow", {c.in(c.dims(2)), c.number(2)}),
                                c.op("Pow", {c.in(c.dims(2)), c.number(3)})};
           }});
}

void of_choices(Recipes& all) {
  all.add({"Clip", [](Case& c) {
             const ValueId x = c.in(c.dims(3)), low = c.in({}, -1, -0.5f), high = c.in({}, 0.5f, 1);
             return std::vector{c.op("Clip", {x, low, high})};
           }});
  all.add({"Clip of opset 6", [](Case& c) {
             return std::vector{
                 c.op("Clip", {c.in(c.dims(3))}, with({{"min", -1.0f}, {"max", 0.5f}}), 6)};
           }});
  all.add({"Where", [](Case& c) {
             const Dims dims = c.dims(3);
             const ValueId condition = c.op("Greater", {c.fixed(dims), c.number(0)});
             const ValueId a = c.in(dims);
             return std::vector{c.op("Where", {condition, a, c.in({dims[2]})})};
           }});
  all.add({"Cast", [](Case& c) {
             const ValueId x = c.in(c.dims(2));
             const ValueId wide = c.op("Cast", {x}, with({{"to", integer(11)}}));
             const ValueId root = c.op("Exp", {wide});
             const std::int64_t back = static_cast<int>(c.dtype());
             return std::vector{c.op("Cast", {root}, with({{"to", back}}))};
           }});
  all.add({"Floor", [](Case& c) {
             const ValueId x = c.in(c.dims(2));
             return std::vector{c.op("Sub", {x, c.op("Floor", {x})})};
           }});
}

void of_reductions(Recipes& all) {
  for (const char* const name :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    all.add({name, [=](Case& c) {
               const ValueId x = c.in(c.dims(4), 0.5f, 2);
               const auto keep = with({{"keepdims", integer(c.draw().number(0, 1))}});
               const Dims axes = c.draw().one_in(2) ? Dims{1, -1} : Dims{c.draw().number(0, 3)};
               const auto count = static_cast<std::int64_t>(axes.size());
               return std::vector{c.op(name, {x, c.integers({count}, axes)}, keep)};
             }});
    all.add({std::string(name) + " of all",
             [=](Case& c) { return std::vector{c.op(name, {c.in(c.dims(2), 0.5f, 2)})}; }, true,
             5e-5});
  }
  all.add(
      {"ReduceMean of opset 13", [](Case& c) {
         return std::vector{c.op("ReduceMean", {c.in(c.dims(3))}, with({{"axes", Dims{-2}}}), 13)};
       }});
  all.add({"CumSum", [](Case& c) {
             const auto how = with({{"reverse", integer(c.draw().number(0, 1))},
                                    {"exclusive", integer(c.draw().number(0, 1))}});
             return std::vector{c.op("CumSum", {c.in(c.dims(3)), c.integers({}, {1})}, how)};
           }});
}

void of_softmax(Recipes& all) {
  for (const char* const name : {"Softmax", "LogSoftmax"}) {
    for (const int opset : {11, 13}) {
      all.add({fmt::format("{} of opset {}", name, opset), [=](Case& c) {
                 const auto axis = with({{"axis", integer(c.draw().number(0, 2))}});
                 return std::vector{c.op(name, {c.in(c.dims(3))}, axis, opset)};
               }});
    }
  }
}

void of_batch_normalization_of_one_axis(Recipes& all) {
  for (const std::int64_t trains : {0, 1}) {
    all.add({"BatchNormalization of [N]",
             [=](Case& c) {
               const ValueId x = c.in({4}), scale = c.in({1}), bias = c.in({1});
               const ValueId mean = c.fixed({1}), variance = c.fixed({1}, 0.5f, 2);
               return std::vector{c.ops("BatchNormalization", {x, scale, bias, mean, variance},
                                        trains != 0 ? 3 : 1, with({{"training_mode", trains}}))[0]};
             },
             true, 5e-5});
  }
}

void of_reductions_that_copy(Recipes& all) {
  for (const char* const name : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL1", "ReduceL2",
                                 "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    all.add({name, [=](Case& c) {
               const ValueId x = c.in({2, 3}, 0.5f, 2);
               return std::vector{c.op(name, {x}, with({{"noop_with_empty_axes", integer(1)}}))};
             }});
  }
}

void of_p_relu_of_one_slope_a_channel(Recipes& all) {
  all.add({"PRelu of opset 6", [](Case& c) {
             const ValueId x = c.in({2, 3, 3, 3});
             return std::vector{c.op("PRelu", {x, c.in({3})}, {}, 6)};
           }});
}

}  // namespace

void add_elementwise(Recipes& all) {
  of_one_input(all);
  of_gelu_by_tanh(all);
  of_two_inputs_that_broadcast(all);
  of_choices(all);
  of_reductions(all);
  of_softmax(all);
  of_batch_normalization_of_one_axis(all);
  of_reductions_that_copy(all);
  of_p_relu_of_one_slope_a_channel(all);
}

}  // namespace commensal::grad::testing

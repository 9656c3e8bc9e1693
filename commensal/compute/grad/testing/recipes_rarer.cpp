// SPDX-License-Identifier: Apache-2.0
// Of rarer calls: windows at the borders, choices, orders, dimensions of nothing.
#include <commensal/compute/grad/testing/recipes.hpp>

namespace commensal::grad::testing {
namespace {

void of_rarer_pools(Recipes& all) {
  for (const std::int64_t p : {1, 2, 3}) {
    all.add({fmt::format("LpPool of {}", p),
             [=](Case& c) {
               Attributes how = with({{"kernel_shape", Dims{3, 2}},
                                      {"strides", Dims{2, 1}},
                                      {"pads", Dims{1, 0, 0, 1}},
                                      {"p", p}});
               if (c.draw().one_in(2)) how.set("dilations", Dims{1, 2});
               how.set("ceil_mode", c.draw().number(0, 1));
               return std::vector{c.op("LpPool", {c.in({2, 2, 6, 5}, 0.3f, 2)}, how)};
             },
             true, 5e-5});
    all.add({fmt::format("GlobalLpPool of {}", p),
             [=](Case& c) {
               return std::vector{
                   c.op("GlobalLpPool", {c.in({2, 3, 2, 3}, 0.3f, 2)}, with({{"p", p}}))};
             },
             true, 5e-5});
  }
  all.add({"MaxPool, dilated, rounded up", [](Case& c) {
             Attributes how = with({{"kernel_shape", Dims{2, 3}},
                                    {"strides", Dims{2, 2}},
                                    {"dilations", Dims{2, 1}},
                                    {"pads", Dims{1, 1, 0, 2}}});
             how.set("ceil_mode", c.draw().number(0, 1));
             return std::vector{c.op("MaxPool", {c.in({1, 2, 7, 6})}, how)};
           }});
  all.add({"AveragePool, dilated", [](Case& c) {
             Attributes how = with({{"kernel_shape", Dims{2, 2}},
                                    {"dilations", Dims{2, 1}},
                                    {"pads", Dims{1, 0, 0, 1}}});
             how.set("count_include_pad", c.draw().number(0, 1));
             return std::vector{c.op("AveragePool", {c.in({1, 2, 5, 4})}, how, 19)};
           }});
}

void of_rarer_convolutions(Recipes& all) {
  all.add({"ConvTranspose, output_padding, dilations", [](Case& c) {
             const auto how = with({{"strides", Dims{3, 2}},
                                    {"output_padding", Dims{2, 1}},
                                    {"dilations", Dims{1, 2}},
                                    {"pads", Dims{1, 0, 2, 1}}});
             const ValueId x = c.in({2, 3, 3, 4}), w = c.in({3, 2, 3, 2});
             return std::vector{c.op("ConvTranspose", {x, w, c.in({2})}, how)};
           }});
  all.add(
      {"ConvTranspose, auto_pad, output_shape", [](Case& c) {
         const auto same = with({{"auto_pad", std::string("SAME_UPPER")}, {"strides", Dims{2, 2}}});
         const auto shape = with({{"output_shape", Dims{9, 8}}, {"strides", Dims{2, 2}}});
         return std::vector{c.op("ConvTranspose", {c.in({1, 2, 3, 3}), c.in({2, 2, 3, 3})}, same),
                            c.op("ConvTranspose", {c.in({1, 2, 4, 3}), c.in({2, 2, 3, 3})}, shape)};
       }});
  all.add({"Conv, depthwise, one place", [](Case& c) {
             const auto how = with({{"group", integer(4)}, {"strides", Dims{3, 3}}});
             return std::vector{c.op("Conv", {c.in({2, 4, 5, 4}), c.in({4, 1, 2, 3})}, how),
                                c.op("Conv", {c.in({2, 3, 3, 3}), c.in({5, 3, 3, 3})})};
           }});
}

void of_choices_and_orders(Recipes& all) {
  all.add({"ReduceProd", [](Case& c) {
             const ValueId x = c.in({3, 4, 2});
             const ValueId whole = c.op("ReduceProd", {c.in({4}, 0.5f, 2)});
             const auto keep = with({{"keepdims", integer(c.draw().number(0, 1))}});
             return std::vector{c.op("ReduceProd", {x, c.integers({1}, {-2})}, keep), whole};
           }});
  all.add({"Mod", [](Case& c) {
             const auto how = with({{"fmod", integer(1)}});
             return std::vector{c.op("Mod", {c.in({3, 4}, 4, 5), c.in({4}, 1.1f, 1.3f)}, how)};
           }});
  all.add(
      {"TopK", [](Case& c) {
         const ValueId x = c.in({3, 5}), two = c.integers({1}, {2});
         const auto small = with({{"axis", integer(0)}, {"largest", integer(0)}});
         return std::vector{c.ops("TopK", {x, two}, 2)[0], c.ops("TopK", {x, two}, 2, small)[0]};
       }});
  all.add({"ReverseSequence", [](Case& c) {
             const auto how = with({{"batch_axis", integer(0)}, {"time_axis", integer(1)}});
             const ValueId x = c.in({3, 3, 2}), lengths = c.integers({3}, {1, 3, 2});
             return std::vector{c.op("ReverseSequence", {x, lengths}, how),
                                c.op("ReverseSequence", {x, lengths})};
           }});
  all.add({"steps", [](Case& c) {  // a slope of nothing
             const ValueId x = c.in({2, 3});
             std::vector<ValueId> made;
             for (const char* const name : {"Ceil", "Round", "Sign", "Hardmax"}) {
               made.push_back(c.op("Mul", {x, c.op(name, {x})}));
             }
             return made;
           }});
  for (const char* const mode : {"reflect", "edge", "wrap"}) {
    all.add({fmt::format("Pad, {}", mode), [=](Case& c) {
               const ValueId x = c.in({3, 4});
               return std::vector{c.op("Pad", {x, c.integers({4}, {1, 0, 2, 3})},
                                       with({{"mode", std::string(mode)}}), 19)};
             }});
  }
  all.add({"GatherND of batches", [](Case& c) {
             const ValueId x = c.in({2, 3, 4});
             return std::vector{c.op("GatherND", {x, c.random_integers({2, 3, 1}, 2)},
                                     with({{"batch_dims", integer(1)}})),
                                c.op("GatherND", {x, c.random_integers({2, 3, 1}, 3)},
                                     with({{"batch_dims", integer(2)}}))};
           }});
  all.add({"Scatter of opset 9", [](Case& c) {
             const ValueId x = c.in({4, 3}), places = c.integers({1, 3}, {3, 0, 2});
             return std::vector{c.op("Scatter", {x, places, c.in({1, 3})}, {}, 9)};
           }});
  all.add({"CastLike", [](Case& c) {
             const ValueId like = c.op("Cast", {c.fixed({1})}, with({{"to", integer(11)}}));
             const ValueId wide = c.op("CastLike", {c.in({2, 3}), like}, {}, 19);
             const std::int64_t back = static_cast<int>(c.dtype());
             return std::vector{c.op("Cast", {c.op("Exp", {wide})}, with({{"to", back}}))};
           }});
}

/// Dimensions of nothing, of one element, and losses that have no part in the output.
void of_empty_dimensions(Recipes& all) {
  all.add({"empty dimensions",
           [](Case& c) {
             const ValueId nothing = c.in({0, 3}), x = c.in({2, 3});
             const ValueId joined = c.op("Concat", {nothing, x}, with({{"axis", integer(0)}}));
             const ValueId product = c.op("MatMul", {c.in({2, 0}), c.in({0, 4})});
             const ValueId sum = c.op("ReduceSum", {nothing, c.integers({1}, {0})});
             return std::vector{joined, product, sum, c.op("Softmax", {c.op("Exp", {nothing})}),
                                c.op("Slice", {x, c.integers({1}, {2}), c.integers({1}, {2})})};
           }},
          1);
}

}  // namespace

void add_rarer(Recipes& all) {
  of_rarer_pools(all);
  of_rarer_convolutions(all);
  of_choices_and_orders(all);
  of_empty_dimensions(all);
}

}  // namespace commensal::grad::testing

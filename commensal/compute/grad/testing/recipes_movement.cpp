// SPDX-License-Identifier: Apache-2.0
// Gradients of operators that move elements, pick them or put them somewhere.
#include <commensal/compute/grad/testing/recipes.hpp>

namespace commensal::grad::testing {
namespace {

void of_shapes(Recipes& all) {
  all.add({"Reshape and its like", [](Case& c) {
             const ValueId x = c.in({2, 3, 1, 4});
             const ValueId flat = c.op("Reshape", {x, c.integers({2}, {6, -1})});
             const ValueId squeezed = c.op("Squeeze", {x, c.integers({1}, {2})});
             const ValueId wider = c.op("Unsqueeze", {squeezed, c.integers({2}, {0, 4})});
             return std::vector{flat, squeezed, wider,
                                c.op("Flatten", {x}, with({{"axis", integer(2)}}))};
           }});
  all.add({"Transpose", [](Case& c) {
             const ValueId x = c.in(c.dims(3));
             return std::vector{c.op("Transpose", {x}, with({{"perm", Dims{1, 2, 0}}})),
                                c.op("Transpose", {x})};
           }});
  all.add({"Expand", [](Case& c) {
             const Dims dims = c.dims(3);
             const ValueId x = c.in({1, dims[1], 1});
             return std::vector{c.op("Expand", {x, c.integers({4}, {2, dims[0], 1, dims[2]})})};
           }});
  all.add({"Tile", [](Case& c) {
             return std::vector{c.op("Tile", {c.in(c.dims(3)), c.integers({3}, {2, 1, 3})})};
           }});
  all.add({"DepthToSpace, SpaceToDepth", [](Case& c) {
             const ValueId x = c.in({2, 8, 2, 3}), y = c.in({1, 2, 4, 6});
             const auto block = with({{"blocksize", integer(2)}});
             return std::vector{
                 c.op("DepthToSpace", {x}, block), c.op("SpaceToDepth", {y}, block),
                 c.op("DepthToSpace", {x},
                      with({{"blocksize", integer(2)}, {"mode", std::string("CRD")}}))};
           }});
  all.add({"Trilu", [](Case& c) {
             return std::vector{c.op("Trilu", {c.in(c.dims(3))},
                                     with({{"upper", integer(c.draw().number(0, 1))}}))};
           }});
}

void of_parts(Recipes& all) {
  all.add({"Concat", [](Case& c) {
             Dims dims = c.dims(3);
             const ValueId a = c.in(dims);
             dims[1] = c.draw().number(1, 4);
             const ValueId b = c.in(dims);
             return std::vector{c.op("Concat", {a, b, a}, with({{"axis", integer(-2)}}))};
           }});
  all.add({"Split", [](Case& c) {
             const auto parts = c.ops("Split", {c.in({3, 7, 2}), c.integers({3}, {2, 1, 4})}, 3,
                                      with({{"axis", integer(1)}}));
             return std::vector{parts[0], parts[2]};
           }});
  all.add({"Slice", [](Case& c) {
             const ValueId x = c.in({5, 6, 7});
             const ValueId part = c.op(
                 "Slice",
                 {x, c.integers({2}, {1, -2}), c.integers({2}, {4, 99}), c.integers({2}, {0, 2})});
             const ValueId steps =
                 c.op("Slice", {x, c.integers({2}, {4, 1}), c.integers({2}, {-99, 6}),
                                c.integers({2}, {0, 1}), c.integers({2}, {-2, 3})});
             return std::vector{part, steps};
           }});
  all.add({"Pad", [](Case& c) {
             const ValueId x = c.in({3, 4});
             return std::vector{c.op("Pad", {x, c.integers({4}, {1, 0, 2, 3})}),
                                c.op("Pad", {x, c.integers({4}, {-1, 1, 2, -2})})};
           }});
  all.add({"Dropout", [](Case& c) {
             const ValueId x = c.in({4, 5});
             return std::vector{c.op("Dropout", {x})};
           }});
}

void of_indices(Recipes& all) {
  all.add({"Gather", [](Case& c) {
             const ValueId x = c.in({4, 3, 5});
             const ValueId some = c.integers({2, 2}, {0, 2, -1, 0});
             return std::vector{
                 c.op("Gather", {x, some}), c.op("Gather", {x, some}, with({{"axis", integer(1)}})),
                 c.op("Gather", {x, c.integers({}, {2})}, with({{"axis", integer(2)}}))};
           }});
  all.add({"GatherElements", [](Case& c) {
             const ValueId x = c.in({4, 3});
             return std::vector{c.op("GatherElements", {x, c.random_integers({4, 5}, 2)},
                                     with({{"axis", integer(1)}}))};
           }});
  all.add({"GatherND", [](Case& c) {
             return std::vector{c.op("GatherND", {c.in({3, 4, 2}), c.random_integers({5, 2}, 2)})};
           }});
  all.add({"ScatterND", [](Case& c) {
             const ValueId x = c.in({4, 3}), places = c.integers({2, 1}, {3, 1});
             return std::vector{c.op("ScatterND", {x, places, c.in({2, 3})}),
                                c.op("ScatterND", {x, c.integers({3, 1}, {3, 1, 3}), c.in({3, 3})},
                                     with({{"reduction", std::string("add")}}))};
           }});
  all.add({"ScatterElements", [](Case& c) {
             const ValueId x = c.in({4, 3}), places = c.integers({2, 3}, {0, 1, 2, 3, 2, 0});
             return std::vector{
                 c.op("ScatterElements", {x, places, c.in({2, 3})}),
                 c.op("ScatterElements", {x, c.integers({1, 3}, {0, 0, 2}), c.in({1, 3})},
                      with({{"axis", integer(1)}, {"reduction", std::string("add")}}))};
           }});
}

}  // namespace

void add_movement(Recipes& all) {
  of_shapes(all);
  of_parts(all);
  of_indices(all);
}

}  // namespace commensal::grad::testing

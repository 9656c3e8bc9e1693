// SPDX-License-Identifier: Apache-2.0
// Of operators whose gradients come from others that spell them out.
#include <commensal/compute/grad/testing/recipes.hpp>

namespace commensal::grad::testing {
namespace {

/// (x - mean) / sqrt(variance + epsilon) over `axes`, in the reference's type.
ValueId standard_of(Case& c, ValueId x, const Dims& axes) {
  const ValueId list = c.integers({static_cast<std::int64_t>(axes.size())}, axes);
  const ValueId off = c.op("Sub", {x, c.op("ReduceMean", {x, list})});
  const ValueId variance = c.op("ReduceMean", {c.op("Mul", {off, off}), list});
  return c.op("Div", {off, c.op("Sqrt", {c.op("Add", {variance, c.number(1e-5f)})})});
}

ValueId shaped(Case& c, ValueId x, const Dims& dims) {
  return c.op("Reshape", {x, c.integers({static_cast<std::int64_t>(dims.size())}, dims)});
}

ValueId turned(Case& c, ValueId x, const Dims& order) {
  return c.op("Transpose", {x}, with({{"perm", order}}));
}

ValueId cut(Case& c, ValueId x, std::int64_t from, std::int64_t to, std::int64_t axis) {
  return c.op("Slice",
              {x, c.integers({1}, {from}), c.integers({1}, {to}), c.integers({1}, {axis})});
}

void of_group_normalization(Recipes& all) {
  for (const int opset : {18, 21}) {
    all.add({fmt::format("GroupNormalization of opset {}", opset),
             [=](Case& c) {
               const std::int64_t parameters = opset < 21 ? 2 : 6;
               const ValueId x = c.in({2, 6, 3, 2});
               const ValueId scale = c.in({parameters}), bias = c.in({parameters});
               if (!c.is_reference()) {
                 return std::vector{c.op("GroupNormalization", {x, scale, bias},
                                         with({{"num_groups", integer(2)}}), opset)};
               }
               const ValueId n = standard_of(c, shaped(c, x, {2, 2, 18}), {2});
               const Dims own = opset < 21 ? Dims{2, 2, 18} : Dims{2, 6, 3, 2};
               const Dims beside = opset < 21 ? Dims{2, 1} : Dims{6, 1, 1};
               const ValueId y =
                   c.op("Add", {c.op("Mul", {shaped(c, n, own), shaped(c, scale, beside)}),
                                shaped(c, bias, beside)});
               return std::vector{shaped(c, y, {2, 6, 3, 2})};
             },
             false, 5e-5});
  }
  all.add({"LayerNormalization, all outputs",
           [](Case& c) {
             const ValueId x = c.in({2, 3, 6}), scale = c.in({6});
             if (!c.is_reference()) {
               return c.ops("LayerNormalization", {x, scale}, 3);
             }
             const ValueId list = c.integers({1}, {2});
             const ValueId mean = c.op("ReduceMean", {x, list}), off = c.op("Sub", {x, mean});
             const ValueId variance = c.op("ReduceMean", {c.op("Mul", {off, off}), list});
             const ValueId r =
                 c.op("Reciprocal", {c.op("Sqrt", {c.op("Add", {variance, c.number(1e-5f)})})});
             return std::vector{c.op("Mul", {c.op("Mul", {off, r}), scale}), mean, r};
           },
           false, 5e-5});
}

void of_other_norms(Recipes& all) {
  for (const std::int64_t size : {3, 4}) {
    all.add({fmt::format("LRN of {}", size),
             [=](Case& c) {
               const ValueId x = c.in({2, 5, 3});
               if (!c.is_reference()) {
                 return std::vector{c.op(
                     "LRN", {x},
                     with({{"size", size}, {"alpha", 0.5f}, {"beta", 0.75f}, {"bias", 1.5f}}))};
               }
               ValueId sum = graph::kAbsent;
               const std::int64_t before = (size - 1) / 2;
               const ValueId squares =
                   c.op("Pad", {c.op("Mul", {x, x}), c.integers({6}, {0, before, 0, 0, size, 0})});
               for (std::int64_t i = 0; i < size; ++i) {
                 const ValueId part = cut(c, squares, i, i + 5, 1);
                 sum = sum == graph::kAbsent ? part : c.op("Add", {sum, part});
               }
               const ValueId scaled = c.op("Mul", {sum, c.number(0.5f / static_cast<float>(size))});
               const ValueId base = c.op("Add", {scaled, c.number(1.5f)});
               return std::vector{c.op("Div", {x, c.op("Pow", {base, c.number(0.75f)})})};
             },
             false});
  }
  for (const std::int64_t p : {1, 2}) {
    all.add({fmt::format("LpNormalization of {}", p), [=](Case& c) {
               return std::vector{c.op("LpNormalization", {c.in({3, 4, 2})},
                                       with({{"p", p}, {"axis", integer(-2)}}))};
             }});
  }
  all.add({"MeanVarianceNormalization",
           [](Case& c) {
             return std::vector{
                 c.op("MeanVarianceNormalization", {c.in({2, 3, 3, 2})}),
                 c.op("MeanVarianceNormalization", {c.in({3, 4})}, with({{"axes", Dims{-1}}}))};
           },
           true, 5e-5});
}

void of_rotary_embedding(Recipes& all) {
  for (const std::int64_t interleaved : {0, 1}) {
    all.add(
        {fmt::format("RotaryEmbedding, interleaved {}", interleaved),
         [=](Case& c) {
           // Of [N, heads, S, D], 4 of 6 elements turned.
           const ValueId x = c.in({2, 2, 3, 6}), cosine = c.in({5, 2}), sine = c.in({5, 2});
           const ValueId places = c.random_integers({2, 3}, 4);
           if (!c.is_reference()) {
             return std::vector{c.op(
                 "RotaryEmbedding", {x, cosine, sine, places},
                 with({{"interleaved", interleaved}, {"rotary_embedding_dim", integer(4)}}), 23)};
           }
           const auto row = [&](ValueId cache) {
             return shaped(c, c.op("Gather", {cache, places}), {2, 1, 3, 2});
           };
           const ValueId co = row(cosine), si = row(sine);
           const auto at = [&](const std::vector<std::int64_t>& which) {
             return c.op("Gather", {x, c.integers({2}, which)}, with({{"axis", integer(3)}}));
           };
           const ValueId a = interleaved != 0 ? at({0, 2}) : at({0, 1});
           const ValueId b = interleaved != 0 ? at({1, 3}) : at({2, 3});
           const ValueId first = c.op("Sub", {c.op("Mul", {a, co}), c.op("Mul", {b, si})});
           const ValueId second = c.op("Add", {c.op("Mul", {a, si}), c.op("Mul", {b, co})});
           const ValueId joined =
               c.op("Concat", {first, second, cut(c, x, 4, 6, 3)}, with({{"axis", integer(3)}}));
           if (interleaved == 0) return std::vector{joined};
           return std::vector{c.op("Gather", {joined, c.integers({6}, {0, 2, 1, 3, 4, 5})},
                                   with({{"axis", integer(3)}}))};
         },
         false});
  }
  all.add({"RotaryEmbedding of [N, S, D]",
           [](Case& c) {
             const ValueId x = c.in({2, 3, 8}), co = c.in({2, 3, 2}), si = c.in({2, 3, 2});
             if (!c.is_reference()) {
               return std::vector{
                   c.op("RotaryEmbedding", {x, co, si}, with({{"num_heads", integer(2)}}), 23)};
             }
             const ValueId heads = shaped(c, x, {2, 3, 2, 2, 2});  // N, S, heads, halves, D / 2
             const ValueId a = cut(c, heads, 0, 1, 3), b = cut(c, heads, 1, 2, 3);
             const ValueId cosine = shaped(c, co, {2, 3, 1, 1, 2}),
                           sine = shaped(c, si, {2, 3, 1, 1, 2});
             const ValueId first = c.op("Sub", {c.op("Mul", {a, cosine}), c.op("Mul", {b, sine})});
             const ValueId second = c.op("Add", {c.op("Mul", {a, sine}), c.op("Mul", {b, cosine})});
             return std::vector{shaped(
                 c, c.op("Concat", {first, second}, with({{"axis", integer(3)}})), {2, 3, 8})};
           },
           false});
}

/// Attention by its definition; `mask` of numbers is added, `hidden` (0 or 1) cuts off.
struct Attending {
  std::int64_t heads = 2, kv_heads = 2;
  float scale = 0.5f, softcap = 0;
};

std::vector<ValueId> attention_by_steps(Case& c, ValueId q, ValueId k, ValueId v, ValueId mask,
                                        const Attending& how) {
  const auto all_heads = [&](ValueId x) {
    if (how.heads == how.kv_heads) return x;
    return c.op("Tile", {x, c.integers({4}, {1, how.heads / how.kv_heads, 1, 1})});
  };
  ValueId s = c.op("MatMul", {q, turned(c, all_heads(k), {0, 1, 3, 2})});
  s = c.op("Mul", {s, c.number(how.scale)});
  if (mask != graph::kAbsent) s = c.op("Add", {s, mask});
  if (how.softcap > 0) {
    const ValueId part = c.op("Tanh", {c.op("Div", {s, c.number(how.softcap)})});
    s = c.op("Mul", {part, c.number(how.softcap)});
  }
  const ValueId p = c.op("Softmax", {s});
  return {c.op("MatMul", {p, all_heads(v)}), p};
}

void of_attention(Recipes& all) {
  all.add({"Attention, heads shared, a mask, softcap",
           [](Case& c) {
             const ValueId q = c.in({2, 4, 3, 5}), k = c.in({2, 2, 4, 5}), v = c.in({2, 2, 4, 3});
             const ValueId mask = c.in({3, 4});
             if (c.is_reference()) {
               return std::vector{attention_by_steps(c, q, k, v, mask, {4, 2, 0.5f, 2})[0]};
             }
             return std::vector{c.op("Attention", {q, k, v, mask},
                                     with({{"scale", 0.5f}, {"softcap", 2.0f}}), 23)};
           },
           false});
  all.add(
      {"Attention, flat, causal, of a cache",
       [](Case& c) {
         const ValueId q = c.in({2, 3, 8}), k = c.in({2, 2, 8}), v = c.in({2, 2, 6});
         const ValueId past_k = c.in({2, 2, 1, 4}), past_v = c.in({2, 2, 1, 3});
         if (!c.is_reference()) {
           auto y = c.ops("Attention", {q, k, v, graph::kAbsent, past_k, past_v}, 3,
                          with({{"scale", 0.5f},
                                {"is_causal", integer(1)},
                                {"q_num_heads", integer(2)},
                                {"kv_num_heads", integer(2)}}),
                          23);
           return y;
         }
         const auto heads = [&](ValueId x, std::int64_t s, std::int64_t width) {
           return turned(c, shaped(c, x, {2, s, 2, width}), {0, 2, 1, 3});
         };
         const auto joined = [&](ValueId past, ValueId now) {
           return c.op("Concat", {past, now}, with({{"axis", integer(2)}}));
         };
         const ValueId keys = joined(past_k, heads(k, 2, 4));
         const ValueId values = joined(past_v, heads(v, 2, 3));
         const ValueId causal =
             c.op("Mul", {c.op("Cast", {c.integers({3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0})},
                               with({{"to", integer(11)}})),
                          c.number(-1e30f)});
         const auto made =
             attention_by_steps(c, heads(q, 3, 4), keys, values, causal, {2, 2, 0.5f, 0});
         return std::vector{shaped(c, turned(c, made[0], {0, 2, 1, 3}), {2, 3, 6}), keys, values};
       },
       false});
  all.add({"Attention, a mask of bools, its weights too",
           [](Case& c) {
             const ValueId q = c.in({1, 2, 3, 4}), k = c.in({1, 2, 4, 4}), v = c.in({1, 2, 4, 4});
             const std::vector<std::int64_t> seen = {1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1};
             if (!c.is_reference()) {
               const ValueId mask =
                   c.op("Cast", {c.integers({3, 4}, seen)}, with({{"to", integer(9)}}));
               const auto y = c.ops("Attention", {q, k, v, mask}, 4,
                                    with({{"qk_matmul_output_mode", integer(3)}}), 23);
               return std::vector{y[0], y[3]};
             }
             std::vector<std::int64_t> hidden;
             for (const std::int64_t one : seen) hidden.push_back(1 - one);
             const ValueId mask = c.op(
                 "Mul", {c.op("Cast", {c.integers({3, 4}, hidden)}, with({{"to", integer(11)}})),
                         c.number(-1e30f)});
             return attention_by_steps(c, q, k, v, mask, {2, 2, 0.5f, 0});
           },
           false});
}

void of_einsum(Recipes& all) {
  struct Product {
    const char* equation;
    std::vector<Dims> operands;
  };
  const std::vector<Product> products = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"bhqd,bhkd->bhqk", {{2, 2, 3, 4}, {2, 2, 2, 4}}},
      {"i,j->ij", {{3}, {2}}},
      {"ij->j", {{3, 2}}},
      {"ij->", {{3, 2}}},
      {"ii->i", {{3, 3}}},
      {"ii", {{3, 3}}},
      {"iji,kj->kj", {{2, 3, 2}, {4, 3}}},
      {"ij,kj->i", {{3, 2}, {4, 2}}},
      {"...ij,...jk->...ik", {{2, 1, 2, 3}, {4, 3, 2}}},
      {"...a,...a->...", {{2, 3}, {3}}},
      {"ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 4}}},
  };
  for (const Product& product : products) {
    all.add({fmt::format("Einsum {}", product.equation),
             [=](Case& c) {
               std::vector<ValueId> operands;
               for (const Dims& dims : product.operands) operands.push_back(c.in(dims));
               return std::vector{
                   c.op("Einsum", operands, with({{"equation", std::string(product.equation)}}))};
             }},
            2);
  }
}

void of_resize(Recipes& all) {
  const auto floats = [](Case& c, const std::vector<float>& values) {
    return c.op("Cast", {c.fixed_of(values)}, with({{"to", integer(1)}}));
  };
  for (const char* const mode : {"nearest", "linear", "cubic"}) {
    for (const char* const place : {"half_pixel", "align_corners", "asymmetric"}) {
      all.add({fmt::format("Resize, {}, {}", mode, place),
               [=](Case& c) {
                 const auto how = with({{"mode", std::string(mode)},
                                        {"coordinate_transformation_mode", std::string(place)}});
                 const ValueId x = c.in({2, 1, 3, 4});
                 const ValueId grown =
                     c.op("Resize", {x, graph::kAbsent, floats(c, {1, 1, 2, 1.5f})}, how);
                 const ValueId sized =
                     c.op("Resize",
                          {x, graph::kAbsent, graph::kAbsent, c.integers({4}, {2, 1, 2, 5})}, how);
                 return std::vector{grown, sized};
               }},
              2);
    }
  }
  all.add({"Resize, antialias, axes, crop", [=](Case& c) {
             const ValueId x = c.in({1, 2, 5, 6});
             const ValueId smaller =
                 c.op("Resize", {x, graph::kAbsent, graph::kAbsent, c.integers({2}, {3, 2})},
                      with({{"mode", std::string("linear")},
                            {"antialias", integer(1)},
                            {"axes", Dims{-1, 2}}}));
             const ValueId cropped =
                 c.op("Resize",
                      {x, floats(c, {0, 0, 0.25f, -0.25f, 1, 1, 0.75f, 1.25f}), graph::kAbsent,
                       c.integers({4}, {1, 2, 4, 5})},
                      with({{"mode", std::string("linear")},
                            {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                            {"extrapolation_value", 3.0f}}));
             return std::vector{smaller, cropped};
           }});
  all.add({"Upsample", [=](Case& c) {
             const ValueId x = c.in({1, 2, 3, 2});
             return std::vector{
                 c.op("Upsample", {x, floats(c, {1, 1, 2, 3})}, {}, 9),
                 c.op("Upsample", {x, floats(c, {1, 1, 2, 2})},
                      with({{"mode", std::string("linear")}}), 9),
                 c.op("Upsample", {x}, with({{"scales", std::vector<float>{1, 1, 2, 2}}}), 7)};
           }});
}

}  // namespace

void add_spelled_out(Recipes& all) {
  of_group_normalization(all);
  of_other_norms(all);
  of_rotary_embedding(all);
  of_attention(all);
  of_einsum(all);
  of_resize(all);
}

}  // namespace commensal::grad::testing

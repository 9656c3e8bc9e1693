// SPDX-License-Identifier: Apache-2.0
// The internal operators against the chains of ref/'s that they stand for: all bits, on every
// instruction set, on 1 to 3 threads.
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/kernels/cpu/transformer/attention_call.hpp>
#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

/// What an operator of the model makes.
Tensor by_ref(std::string_view name, const std::vector<Tensor>& inputs,
              const Attributes& attributes = {}) {
  const Operator& op = **find_operator("", name, 13);
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  Call call;
  call.opset = 13;
  call.attributes = &attributes;
  call.inputs = pointers;
  call.outputs = *op.judge->infer(call);
  tensor::Arena arena(std::int64_t{1} << 30);
  ThreadPool pool(1);
  auto outputs = *allocate_outputs(call, arena);
  Workspace ws{arena, pool, Isa::kAvx2, nullptr};
  EXPECT_TRUE(op.judge->run(call, outputs, ws).has_value());
  return Tensor::copy_of(outputs[0].type(), outputs[0].bytes());
}

Tensor number(float x) { return Tensor::of<float>({}, std::span(&x, 1)); }

Tensor turned(const Tensor& x, const Ints& order) {
  Attributes attributes;
  attributes.set("perm", order);
  return by_ref("Transpose", {x}, attributes);
}

void expect_internal(Role role, const std::vector<Tensor>& inputs, const Attributes& attributes,
                     const Tensor& expected) {
  const Operator& op = operator_of(role, 1);
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  Call call;
  call.attributes = &attributes;
  call.inputs = pointers;
  const auto types = op.judge->infer(call);
  ASSERT_TRUE(types.has_value()) << types.error().message;
  call.outputs = *types;
  ASSERT_EQ(call.outputs[0], expected.type());
  for (const Isa isa : available_isas()) {
    for (int threads = 1; threads <= 3; ++threads) {
      SCOPED_TRACE(fmt::format("{} {} threads={}", op.name, name_of(isa), threads));
      tensor::Arena arena(std::int64_t{1} << 30);
      ThreadPool pool(threads);
      auto outputs = *allocate_outputs(call, arena);
      Workspace ws{arena, pool, isa, nullptr};
      ASSERT_TRUE(op.cpu(call, outputs, ws).has_value());
      const auto got = outputs[0].bytes(), wanted = expected.bytes();
      ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0);
    }
  }
}

constexpr Values kAllValues[] = {Values::kPlain, Values::kSpecial, Values::kTiny};

TEST(EqualityTransformer, LayerNormSteps) {
  for (const Values values : kAllValues) {
    for (const std::int64_t n : {1, 5, 16, 33, 64, 96, 250, 768}) {
      const Tensor x = random_tensor({3, 21, n}, 1, values), scale = random_tensor({n}, 2, values),
                   bias = random_tensor({n}, 3, values);
      Attributes along;
      along.set("axes", Ints{-1});
      const Tensor d = by_ref("Sub", {x, by_ref("ReduceMean", {x}, along)});
      const Tensor variance = by_ref("ReduceMean", {by_ref("Pow", {d, number(2)})}, along);
      const Tensor root = by_ref("Sqrt", {by_ref("Add", {variance, number(1e-5f)})});
      const Tensor scaled = by_ref("Mul", {by_ref("Div", {d, root}), scale});
      Attributes attributes;
      attributes.set("epsilon", 1e-5f);
      expect_internal(Role::kLayerNormSteps, {x, scale, bias}, attributes,
                      by_ref("Add", {scaled, bias}));
    }
  }
}

TEST(EqualityTransformer, GeluSteps) {
  for (const float divisor : {1.41421354f, 2.0f, 1e-30f}) {
    for (const Values values : kAllValues) {
      const Tensor x = random_tensor({40000}, 4, values);
      const Tensor e = by_ref("Erf", {by_ref("Div", {x, number(divisor)})});
      const Tensor product = by_ref("Mul", {x, by_ref("Add", {e, number(1)})});
      Attributes attributes;
      attributes.set("divisor", divisor);
      expect_internal(Role::kGeluSteps, {x}, attributes, by_ref("Mul", {product, number(0.5f)}));
    }
  }
}

struct Sizes {
  std::int64_t batch, heads, queries, keys, depth, columns;
};
constexpr Sizes kSizes[] = {{1, 4, 128, 128, 64, 64}, {1, 3, 197, 197, 64, 64},
                            {5, 3, 49, 49, 32, 32},   {2, 2, 7, 130, 20, 37},
                            {1, 1, 1, 1, 1, 1},       {1, 2, 300, 5, 3, 50},
                            {2, 1, 9, 700, 16, 16},   {1, 2, 4, 3, 0, 2}};

/// q, k, v [batch, entries, heads, depth] as a projection leaves them.
TEST(EqualityTransformer, AttentionOverSplitHeads) {
  for (const Values values : kAllValues) {
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", s.heads, s.queries, s.keys, s.depth));
      const Tensor q = random_tensor({s.batch, s.queries, s.heads, s.depth}, 1, values);
      const Tensor k = random_tensor({s.batch, s.keys, s.heads, s.depth}, 2, values);
      const Tensor v = random_tensor({s.batch, s.keys, s.heads, s.columns}, 3, Values::kPlain);
      const Tensor mask = random_tensor({s.batch, 1, 1, s.keys}, 4, values);
      Tensor x = by_ref("MatMul", {turned(q, {0, 2, 1, 3}), turned(k, {0, 2, 3, 1})});
      x = by_ref("Add", {by_ref("Div", {x, number(7)}), mask});
      x = by_ref("MatMul", {by_ref("Softmax", {x}), turned(v, {0, 2, 1, 3})});
      AttentionCall a{s.batch, s.heads, s.queries, s.keys, s.depth, s.columns};
      const auto view = [&](std::int64_t entries, std::int64_t width) {
        return HeadsView{0, {entries * s.heads * width, width, s.heads * width, 1}};
      };
      a.q = view(s.queries, s.depth), a.k = view(s.keys, s.depth), a.v = view(s.keys, s.columns);
      a.y = view(s.queries, s.columns);
      a.steps = {{'/', 7, {}}, {'+', 0, {0, {s.keys, 0, 0, 1}}}};
      a.shape = {s.batch, s.queries, s.heads, s.columns};
      expect_internal(Role::kFusedAttention, {q, k, v, mask}, a.attributes(),
                      turned(x, {0, 2, 1, 3}));
    }
  }
}

/// Masks that leave subnormal weights: before all others, between them, and in every place.
TEST(EqualityTransformer, AttentionBehindMasks) {
  for (const Values values : {Values::kPlain, Values::kSpecial}) {
    for (const float masked : {-100.0f, -95.0f, -104.0f, -200.0f}) {
      for (const std::int64_t width : {16, 20, 32, 64}) {
        const std::int64_t n = 49;
        const Tensor q = random_tensor({2, n, width}, 1), k = random_tensor({2, n, width}, 2);
        Tensor v = random_tensor({2, n, width}, 3, values);
        std::vector<float> mask;
        core::CounterRng rng(5);
        for (std::int64_t i = 0; i < n * n; ++i) {
          const bool far = i % n < i / n ? i % 2 == 0 : rng.next_u32() % 3 == 0;
          mask.push_back(far ? masked : 0.0f);
        }
        if (masked == -95.0f) {  // products that end in the middle between two numbers
          std::vector<float> halves(v.data<float>().begin(), v.data<float>().end());
          for (float& x : halves)
            x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0xfffu);
          v = Tensor::of<float>(v.shape(), halves);
        }
        const Tensor bias = Tensor::of<float>({n, n}, mask);
        Tensor x = by_ref("Add", {by_ref("MatMul", {q, turned(k, {0, 2, 1})}), bias});
        x = by_ref("MatMul", {by_ref("Softmax", {x}), v});
        AttentionCall a{1, 2, n, n, width, width};
        a.q = a.k = a.v = a.y = {0, {0, n * width, width, 1}};
        a.steps = {{'+', 0, {0, {0, 0, n, 1}}}};
        a.shape = {2, n, width};
        expect_internal(Role::kFusedAttention, {q, k, v, bias}, a.attributes(), x);
      }
    }
  }
}

/// One tensor [3, batch, heads, entries, depth], two biases, q scaled before, k turned already.
TEST(EqualityTransformer, AttentionOverOneTensor) {
  for (const Values values : kAllValues) {
    for (const Sizes& s : kSizes) {
      if (s.queries != s.keys || s.depth != s.columns) continue;
      const std::int64_t n = s.queries, matrix = n * s.depth, heads = s.heads * matrix;
      const Tensor qkv = random_tensor({3, s.batch, s.heads, n, s.depth}, 1, values);
      const auto part = [&](std::int64_t i) {
        Attributes along;
        along.set("axis", std::int64_t{0});
        return by_ref("Gather", {qkv, Tensor::of<std::int64_t>({}, std::span(&i, 1))}, along);
      };
      const Tensor first = random_tensor({1, s.heads, n, n}, 5, values);
      const Tensor second = random_tensor({s.batch, 1, n, n}, 6, values);
      Tensor x =
          by_ref("MatMul", {by_ref("Mul", {part(0), number(0.3f)}), turned(part(1), {0, 1, 3, 2})});
      x = by_ref("Add", {by_ref("Add", {x, first}), second});
      x = by_ref("MatMul", {by_ref("Softmax", {x}), part(2)});
      AttentionCall a{s.batch, s.heads, n, n, s.depth, s.depth};
      const auto view = [&](std::int64_t from) {
        return HeadsView{from, {heads, matrix, s.depth, 1}};
      };
      a.q = view(0), a.k = view(s.batch * heads), a.v = view(2 * s.batch * heads), a.y = view(0);
      a.q_steps = {{'*', 0.3f, {}}};
      a.steps = {{'+', 0, {0, {0, n * n, n, 1}}}, {'+', 0, {0, {n * n, 0, n, 1}}}};
      a.shape = {s.batch, s.heads, n, s.depth};
      expect_internal(Role::kFusedAttention, {qkv, qkv, qkv, first, second}, a.attributes(), x);
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu

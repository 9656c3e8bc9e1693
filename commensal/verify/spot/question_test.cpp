// SPDX-License-Identifier: Apache-2.0
// What is opened: proofs of several leaves, the leaves of an element, the policy.
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/kernels/random_layers.hpp>
#include <commensal/verify/spot/contents.hpp>
#include <commensal/verify/spot/multiproof.hpp>
#include <commensal/verify/spot/policy.hpp>
#include <commensal/verify/spot/spans.hpp>
#include <set>

namespace commensal::spot {
namespace {

using kernels::Draw;
using tensor::Tensor;

TEST(MultiProofs, LeadToTheRootAndToNoOther) {
  core::CounterRng rng(1);
  for (std::size_t count = 1; count <= 40; ++count) {
    std::vector<Digest> hashes;
    for (std::size_t i = 0; i < count; ++i) hashes.push_back(rng.next_digest());
    for (int times = 0; times < 6; ++times) {
      LeafSet chosen;
      std::vector<Digest> leaves;
      for (std::size_t i = 0; i < count; ++i) {
        if (rng.next_u64() % static_cast<std::uint64_t>(times + 1) != 0) continue;
        chosen.push_back(i);
        leaves.push_back(hashes[i]);
      }
      auto siblings = prove_leaves(hashes, chosen);
      ASSERT_EQ(siblings.size(), siblings_of(count, chosen));
      const Digest root = crypto::merkle_root(hashes);
      ASSERT_EQ(root_of_leaves(count, chosen, leaves, siblings), root);
      if (times == 0) {
        ASSERT_TRUE(siblings.empty());
      }
      for (auto* list : {&leaves, &siblings}) {
        for (Digest& one : *list) {
          one[7] ^= 1;
          ASSERT_NE(root_of_leaves(count, chosen, leaves, siblings), root);
          one[7] ^= 1;
        }
      }
    }
  }
  EXPECT_EQ(root_of_leaves(0, {}, {}, {}), crypto::merkle_root({}));
}

/// The short way for products finds the leaves that `reads` names; padded taps' weights besides.
TEST(Questions, SpansOfProductsAreWhatTheyRead) {
  int products = 0;
  for (int seed = 0; seed < kernels::case_count(4000); ++seed) {
    Draw draw(static_cast<std::uint64_t>(seed), 16);
    const auto shape = kernels::random_shape(draw, static_cast<int>(draw.number(1, 4)), 4000);
    const Tensor x =
        kernels::random_of(draw, tensor::DType::kFloat32, shape, kernels::Blend::kPlain);
    const kernels::Recipe recipes[] = {kernels::random_conv, kernels::random_gemm,
                                       kernels::random_matmul};
    auto sample = draw.of(recipes)(draw, x);
    if (!sample) continue;
    const auto op = kernels::find_operator("", sample->name, sample->opset);
    std::vector<const Tensor*> inputs;
    for (const Tensor& input : sample->inputs) {
      inputs.push_back(input.defined() ? &input : nullptr);
    }
    kernels::Call call{sample->opset, &sample->attributes, inputs, 1, {}, nullptr};
    auto types = (*op)->infer(call);
    if (!types || types->front().shape.elements() == 0) continue;
    call.outputs = *types;
    const std::int64_t element = draw.number(0, types->front().shape.elements() - 1);
    std::set<std::pair<int, std::int64_t>> spans, read;
    const bool is_product =
        product_spans(**op, call, element, [&](int input, std::int64_t first, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) spans.insert({input, first + i});
        });
    if (!is_product) continue;
    std::vector<kernels::ElementRef> refs;
    (*op)->reads(call, 0, element, refs);
    for (const auto& ref : refs) read.insert({ref.input, ref.index});
    SCOPED_TRACE(fmt::format("{}, seed {}", sample->name, seed));
    for (const auto& one : read) ASSERT_TRUE(spans.contains(one)) << one.first << " " << one.second;
    for (const auto& one : spans) {
      const bool is_padding = sample->name == "Conv" && one.first == 1;
      ASSERT_TRUE(is_padding || read.contains(one)) << one.first << " " << one.second;
      ASSERT_LT(one.second, inputs[static_cast<std::size_t>(one.first)]->elements());
    }
    ++products;
  }
  EXPECT_GE(products, 500);
}

TEST(AuditPolicy, KeepsItsFloorAndItsShares) {
  EXPECT_EQ(replay_share_of({0.0}), kReplayShareMin);
  EXPECT_EQ(replay_share_of({-1}), kReplayShareMin);
  EXPECT_EQ(replay_share_of({NAN}), 1);
  EXPECT_EQ(replay_share_of({2}), 1);
  EXPECT_EQ(replay_share_of({0.3}), 0.3);
  EXPECT_NEAR(expected_share(0.01, {0.1}, 1.02, 0.04), 0.01 * (0.102 + 0.036), 1e-12);

  const Estimate saves{10, 10, 1, 1}, bytes{10, 10, 1, 11}, work{10, 10, 11, 1};
  core::CounterRng rng(3);
  int sublinear = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const Digest seed = rng.next_digest();
    ASSERT_FALSE(is_sublinear(bytes, {}, seed));
    ASSERT_FALSE(is_sublinear(work, {}, seed));
    ASSERT_FALSE(is_sublinear(saves, {1}, seed));
    sublinear += is_sublinear(saves, {0}, seed) ? 1 : 0;
  }
  EXPECT_NEAR(sublinear, 0.9 * kDraws, 4.5 * std::sqrt(kDraws * 0.09));
}

}  // namespace
}  // namespace commensal::spot

// SPDX-License-Identifier: Apache-2.0
// What an accusation about a rollout's step shows instead of a model and tensors: it leads to the
// step's input root, and to no other.
#include <gmock/gmock.h>

#include <commensal/verify/receipt/origin.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::rollout {
namespace {

using core::ErrorCode;
using receipt::Origin;
using testing::RolloutTest;

class Origins : public RolloutTest {
 protected:
  /// The steps are made; what an auditor is shown of one.
  receipt::StepTask task(std::uint64_t step) {
    auto client = *ClientJob::start(client_deps(client_store_), record_);
    ProviderJob provider(provider_deps(provider_store_), record_);
    for (std::uint64_t i = 1; i <= step; ++i) {
      const auto made = testing::make_step(client, provider, *engine_);
      EXPECT_TRUE(made) << made.error().message;
    }
    return client.opening(step)->task;
  }
  static core::Result<core::Digest> root_of(const receipt::StepTask& task, const Origin& origin) {
    return receipt::input_root_of(origin, task.job, task.step);
  }
  static ErrorCode refusal_of(const receipt::StepTask& task,
                              const std::function<void(Origin&)>& bend) {
    Origin bent = receipt::origin_of(task);
    bend(bent);
    const auto root = root_of(task, bent);
    EXPECT_FALSE(root);
    return root ? ErrorCode::kInternal : root.error().code;
  }
};

TEST_F(Origins, LeadToTheInputRootOfAnyStep) {
  for (const std::uint64_t step : {1, 2, 4}) {
    const receipt::StepTask shown = task(step);
    const Origin origin = receipt::origin_of(shown);
    EXPECT_EQ(root_of(shown, origin).value(), receipt::input_root_of(shown).value()) << step;
    const core::Bytes bytes = *protocol::encode_stored(origin);
    const auto again = protocol::decode<Origin>(bytes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*protocol::encode_stored(*again), bytes);
    client_store_.clear(), provider_store_.clear();
  }
}

TEST_F(Origins, ShowNothingInFullWhereThereIsNoNoise) {
  record_.job.noise = protocol::NoisePolicy::kNone;
  record_.job.noise_exponent = 0;
  record_.job.noise_anchor = {};
  record_.job.states = protocol::StateRule::kFinite;
  const receipt::StepTask shown = task(3);
  const Origin origin = receipt::origin_of(shown);
  for (const auto* list : {&origin.inputs, &origin.outputs_before}) {
    for (const receipt::ShownTensor& one : *list) EXPECT_TRUE(one.elements.empty());
  }
  EXPECT_EQ(root_of(shown, origin).value(), receipt::input_root_of(shown).value());
}

TEST_F(Origins, OnlyWhatBothHaveSigned) {
  const receipt::StepTask shown = task(3);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.value[0] ^= 1; }), ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.input_salt[0] ^= 1; }), ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.salt_before[0] ^= 1; }), ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.before.reset(); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { --one.before->step; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      refusal_of(shown, [](Origin& one) { std::swap(one.before->provider, one.before->client); }),
      ErrorCode::kUnauthenticated);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.outputs_before[1].elements[0] ^= 1; }),
            ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.outputs_before[0].elements_root[0] ^= 1; }),
            ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.inputs[0].name += "x"; }),
            ErrorCode::kDataLoss);
  EXPECT_EQ(refusal_of(shown, [](Origin& one) { one.outputs_before[1].elements.pop_back(); }),
            ErrorCode::kInvalidArgument);
}

// Else whoever accuses could have auditors decide, its friends, instead of a dispute.
TEST_F(Origins, WhatNoiseGoesOntoIsNotKeptBack) {
  const receipt::StepTask shown = task(3);
  const auto root = root_of(shown, receipt::roots_of(shown));
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(root.error().message, ::testing::HasSubstr("it is not shown"));
  EXPECT_EQ(
      refusal_of(shown,
                 [](Origin& one) { one.outputs_before[1].type.dtype = tensor::DType::kInt32; }),
      ErrorCode::kInvalidArgument);
}

/// A task of one step, of which only what noise goes onto matters.
receipt::StepTask task_of(const tensor::Tensor& input) {
  receipt::StepTask made;
  made.job.kind = protocol::JobKind::kRollout;
  made.job.client = *crypto::address_from_text("0x00000000000000000000000000000000000000c1");
  made.job.provider = *crypto::address_from_text("0x00000000000000000000000000000000000000c2");
  made.job.steps = 1;
  made.job.numerics_version = 1;
  made.job.noise = protocol::NoisePolicy::kCalibrated;
  made.job.noise_anchor = noise_chain(core::Digest{1}, 1).anchor();
  made.value = *noise_chain(core::Digest{1}, 1).reveal(1);
  made.inputs = {{"x", input}};
  made.job.input_commitment =
      protocol::commit_input(receipt::state_root(made.inputs), made.input_salt);
  return made;
}

TEST(OriginsOfMuch, AreForAuditors) {
  const auto code_of = [](const tensor::Tensor& input) {
    const receipt::StepTask task = task_of(input);
    const auto root = receipt::input_root_of(receipt::origin_of(task), task.job, 1);
    if (!root) return root.error().code;
    EXPECT_EQ(*root, receipt::input_root_of(task).value());
    return ErrorCode::kInternal;
  };
  const std::size_t most = limits::kOriginStateBytesMax / sizeof(float);
  const auto floats = [](std::size_t count) {
    return tensor::Tensor::of<float>({static_cast<std::int64_t>(count)},
                                     std::vector<float>(count, 1));
  };
  EXPECT_EQ(code_of(floats(most)), ErrorCode::kInternal);  // shown
  EXPECT_EQ(code_of(floats(most + 1)), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(floats(0)), ErrorCode::kInternal);
  const std::vector<std::int64_t> letters = {1, 2};
  EXPECT_EQ(code_of(tensor::Tensor::of<std::int64_t>({2}, letters)), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace commensal::rollout

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/spot/recheck.hpp>

namespace commensal::spot {
namespace {

using receipt::StepTask;
using tensor::Tensor;
using ::testing::HasSubstr;

constexpr std::int64_t kSide = 12;

/// A receipt for a picture that was blurred, and its opening.
class Rechecks : public ::testing::Test {
 protected:
  Rechecks() {
    graph::testing::GraphMaker maker;
    kernels::Attributes same;
    same.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
    const auto x = maker.input({1, 1, kSide, kSide});
    maker.output(maker.node("Conv", {x, maker.floats({1, 1, 3, 3})}, same));
    graph_ = maker.finish();
    std::vector<float> pixels;
    for (std::uint64_t i = 0; i < kSide * kSide; ++i) {
      pixels.push_back(core::counter_symmetric_f32(1, 1, i));
    }
    StepTask& task = opening_.task;
    task.inputs = {{graph_->name_of(x), Tensor::of<float>({1, 1, kSide, kSide}, pixels)}};
    task.input_salt = rng_.next_digest();
    opening_.output_salt = rng_.next_digest();
    const receipt::ModelRoots roots = receipt::model_roots(*graph_);
    task.job.graph_root = roots.graph;
    task.job.weight_root = roots.weights;
    task.job.numerics_version = kernels::kNumericsVersion;
    task.job.client = client_.address();
    task.job.provider = provider_.address();
    answer();
  }
  /// What an honest provider answers to the task.
  void answer() {
    StepTask& task = opening_.task;
    task.job.input_commitment =
        protocol::commit_input(receipt::state_root(task.inputs), task.input_salt);
    auto session = *noise::NoisySession::create(graph_, {});
    const receipt::Values given = *receipt::task_inputs(task, *graph_);
    const auto noise = receipt::noise_of_step(task.job, protocol::job_id(task.job), 1, task.value);
    opening_.outputs = receipt::name_tensors(*graph_, graph_->outputs, *session.run(given, noise));
  }
  void bend(std::int64_t element) {
    Tensor& output = opening_.outputs[0].value;
    core::Bytes bytes(output.bytes().begin(), output.bytes().end());
    bytes[static_cast<std::size_t>(element) * 4] ^= 1;
    output = Tensor::copy_of(output.type(), bytes);
  }
  /// Both sign whatever is in the opening.
  protocol::Receipt signed_receipt() const {
    const protocol::Job& job = opening_.task.job;
    const core::Digest id = protocol::job_id(job);
    const protocol::ReceiptBody body = {
        id, 1,
        protocol::commit_step(id, 1, receipt::state_root(opening_.outputs), opening_.output_salt)};
    return {job,
            1,
            body.commitment,
            body.round,
            protocol::sign_batch(provider_, protocol::Role::kProvider, {&body, 1})[0],
            protocol::sign_batch(client_, protocol::Role::kClient, {&body, 1})[0]};
  }
  core::Result<SpotRecheck> look(std::uint64_t count) { return look(signed_receipt(), count); }
  core::Result<SpotRecheck> look(const protocol::Receipt& receipt, std::uint64_t count) {
    passed_ = 0;
    return recheck(receipt, opening_, *graph_, {count, rng_.next_digest()}, {},
                   [&](std::string_view) { ++passed_; });
  }

  core::CounterRng rng_{2};
  crypto::SecretKey client_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  std::shared_ptr<const graph::Graph> graph_;
  receipt::Opening opening_;
  int passed_ = 0;
};

TEST_F(Rechecks, WhatIsRightMatches) {
  const auto found = look(5);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->matches());
  EXPECT_EQ(passed_, 3);
  EXPECT_EQ(found->report.total(), 5U);
  EXPECT_EQ(found->report.elements, 144U);
  EXPECT_LT(found->report.work.ops, found->report.work.ops_of_all);
}

TEST_F(Rechecks, AWrongElementIsFoundWhenItIsDrawn) {
  bend(17);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const auto checked = look(36);  // a quarter of all
    ASSERT_TRUE(checked);
    if (checked->matches()) continue;
    ++found;
    EXPECT_EQ(checked->report.first->element, 17);
    EXPECT_THAT(checked->wrong, HasSubstr("element 17 of 'v2' float32[1,1,12,12] is 0x"));
  }
  EXPECT_NEAR(found, 50, 28);
  EXPECT_FALSE(look(144)->matches());
}

// The outputs are compared with what both have signed: what is only shown beside it proves nothing.
TEST_F(Rechecks, AForgedOutputThatDoesNotOpenTheCommitmentIsRefused) {
  const protocol::Receipt receipt = signed_receipt();
  bend(3);
  for (const std::uint64_t count : {1, 144}) {
    const auto refused = look(receipt, count);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, core::ErrorCode::kDataLoss);
    EXPECT_EQ(passed_, 1);
  }
  bend(3);
  ASSERT_TRUE(look(receipt, 1));
  protocol::Receipt forged = receipt;
  forged.commitment[0] ^= 1;
  EXPECT_FALSE(look(forged, 1));
  EXPECT_EQ(passed_, 0);
}

TEST_F(Rechecks, AnotherModelIsRefused) {
  opening_.task.job.weight_root[0] ^= 1;
  EXPECT_EQ(look(1).error().code, core::ErrorCode::kFailedPrecondition);
}

// As an audit in full has it: whoever has signed that has not run the model.
TEST_F(Rechecks, OutputsThatTheModelNeverGivesAreWrong) {
  const tensor::NamedTensors right = opening_.outputs;
  const auto says = [&] {
    const auto found = look(1);
    return found ? found->wrong : found.error().message;
  };
  EXPECT_EQ(says(), "");
  opening_.outputs[0].name = "y";
  EXPECT_EQ(says(), "output 0 is 'y', not an output of the model");
  opening_.outputs.clear();
  EXPECT_EQ(says(), "0 outputs, expected 1");
  opening_.outputs = right;
  opening_.outputs[0].value = Tensor::of<float>({1}, std::vector<float>{0});
  EXPECT_EQ(says(), "output 'v2' is float32[1], the model gives float32[1,1,12,12]");
  opening_.outputs = right;
  opening_.task.inputs[0].value = Tensor::of<float>({1}, std::vector<float>{0});
  opening_.task.job.input_commitment =
      protocol::commit_input(receipt::state_root(opening_.task.inputs), opening_.task.input_salt);
  EXPECT_THAT(says(), HasSubstr("is float32[1]"));
}

TEST_F(Rechecks, StepsWithNoiseMatchToo) {
  StepTask& task = opening_.task;
  task.job.kind = protocol::JobKind::kRollout;
  task.job.noise = protocol::NoisePolicy::kCalibrated;
  task.job.noise_exponent = 10;
  task.value = rng_.next_digest();
  task.job.noise_anchor = crypto::tagged_hash("commensal/chain/v1", task.value);
  const core::Bytes plain(opening_.outputs[0].value.bytes().begin(),
                          opening_.outputs[0].value.bytes().end());
  answer();
  EXPECT_FALSE(std::ranges::equal(plain, opening_.outputs[0].value.bytes()));
  const auto found = look(144);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->wrong, "");
}

TEST(Bits, AreShownAsWideAsTheirElements) {
  EXPECT_EQ(hex_of(tensor::DType::kFloat32, 0x3f800000), "0x3f800000");
  EXPECT_EQ(hex_of(tensor::DType::kBool, 1), "0x01");
  EXPECT_EQ(hex_of(tensor::DType::kInt64, 5), "0x0000000000000005");
}

}  // namespace
}  // namespace commensal::spot

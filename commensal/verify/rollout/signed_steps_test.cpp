// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/rollout/signed_steps.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::rollout::testing {
namespace {

/// What a gateway hands out of two steps.
class HandedOut : public RolloutTest {
 protected:
  void SetUp() override {
    auto client = ClientJob::start(client_deps(client_store_), record_);
    ASSERT_TRUE(client) << client.error().message;
    job_ = client->job_id();
    ProviderJob provider(provider_deps(provider_store_), record_);
    for (int i = 0; i < 2; ++i) {
      const auto made = make_step(*client, provider, *engine_);
      ASSERT_TRUE(made) << made.error().message;
    }
  }
  core::Result<SignedSteps> open(const JobRecord& record) const {
    return SignedSteps::open(record, provider_key_.address(), *graph_,
                             receipt::model_roots(*graph_), record_.inputs);
  }
  StepRecord step(std::uint64_t i) { return *JobRows(client_store_, job_).step(i); }

  core::Digest job_{};
};

TEST_F(HandedOut, IsBelievedAsItWasSigned) {
  const auto steps = open(*JobRows(client_store_, job_).rollout());
  ASSERT_TRUE(steps) << steps.error().message;
  for (const std::uint64_t i : {1, 2}) {
    const auto outputs = steps->outputs(step(i), i);
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(receipt::state_root(*outputs), receipt::state_root(step(i).outputs));
  }
}

TEST_F(HandedOut, IsRefusedWhereOneBitIsAnother) {
  const auto steps = open(record_);
  ASSERT_TRUE(steps) << steps.error().message;
  const std::string of_job = " of job " + core::to_hex(job_) + ": ";
  StepRecord changed = step(1);
  core::Bytes bytes(changed.outputs[1].value.bytes().begin(),
                    changed.outputs[1].value.bytes().end());
  bytes[0] ^= 1;
  changed.outputs[1].value = Tensor::copy_of(changed.outputs[1].value.type(), bytes);
  EXPECT_EQ(refusal(steps->outputs(changed, 1)),
            "step 1" + of_job + "its outputs do not open what was signed");
  EXPECT_EQ(refusal(steps->outputs(step(2), 1)), "step 1" + of_job + "another one was handed out");
  changed = step(2);
  changed.output_salt[0] ^= 1;
  EXPECT_EQ(refusal(steps->outputs(changed, 2)),
            "step 2" + of_job + "its outputs do not open what was signed");
}

TEST_F(HandedOut, IsHeldToTheSameByWhoHasNoModel) {
  const auto taken = [&](const JobRecord& record) {
    return SignedSteps::open(record, provider_key_.address(), record_.inputs);
  };
  const auto steps = taken(record_);
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_TRUE(steps->outputs(step(2), 2));
  StepRecord changed = step(2);
  changed.outputs[0].name += "x";
  EXPECT_EQ(refusal(steps->outputs(changed, 2)),
            "step 2 of job " + core::to_hex(job_) + ": its outputs do not open what was signed");
  JobRecord other = record_;
  other.input_salt[0] ^= 1;
  EXPECT_EQ(refusal(taken(other)), "the inputs are not those that the job was made with");
  other = record_;
  other.job.weight_root[0] ^= 1;
  const auto of_another = taken(other);
  ASSERT_TRUE(of_another) << of_another.error().message;
  EXPECT_TRUE(refusal(of_another->outputs(step(2), 2)).ends_with("another one was handed out"));
  EXPECT_TRUE(refusal(SignedSteps::open(record_, client_key_.address(), record_.inputs))
                  .starts_with("the job names another provider"));
}

TEST_F(HandedOut, IsRefusedOfAnotherJob) {
  JobRecord other = record_;
  other.inputs[0].value = Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{2});
  other.job.input_commitment =
      protocol::commit_input(receipt::state_root(other.inputs), other.input_salt);
  EXPECT_EQ(refusal(open(other)), "the inputs are not those that the job was made with");
  other = record_;
  other.job.weight_root[0] ^= 1;
  EXPECT_EQ(refusal(open(other)), "the model is not the one that the job names");
  const auto steps = SignedSteps::open(record_, client_key_.address(), *graph_,
                                       receipt::model_roots(*graph_), std::nullopt);
  EXPECT_TRUE(refusal(steps).starts_with("the job names another provider"));
}

}  // namespace
}  // namespace commensal::rollout::testing

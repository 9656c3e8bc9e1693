// SPDX-License-Identifier: Apache-2.0
// Audits and spot checks of a step of training, as of any job's step.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/train/testing/step_graphs.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/spot/recheck.hpp>

namespace commensal::spot {
namespace {

using tensor::Tensor;
using train::testing::StepGraph;

/// A receipt for a step, and its opening: the provider answers what it likes, both sign it.
class TrainingAudits : public ::testing::TestWithParam<int> {
 protected:
  TrainingAudits()
      : step_(GetParam() == 0 ? train::testing::step_of_pictures()
                              : train::testing::step_of_texts()) {
    receipt::StepTask& task = opening_.task;
    task.inputs = receipt::name_tensors(*step_.graph, step_.graph->inputs, step_.inputs);
    task.input_salt = rng_.next_digest();
    opening_.output_salt = rng_.next_digest();
    const receipt::ModelRoots roots = receipt::model_roots(*step_.graph);
    task.job.graph_root = roots.graph;
    task.job.weight_root = roots.weights;
    task.job.numerics_version = kernels::kNumericsVersion;
    task.job.client = client_.address();
    task.job.provider = provider_.address();
    task.job.input_commitment =
        protocol::commit_input(receipt::state_root(task.inputs), task.input_salt);
    auto session = *graph::Session::create(step_.graph, {});
    opening_.outputs =
        receipt::name_tensors(*step_.graph, step_.graph->outputs, *session.run(step_.inputs));
  }
  /// The lowest bit of an element of the next state.
  void bend(std::size_t output, std::int64_t element) {
    Tensor& bent = opening_.outputs[output].value;
    core::Bytes bytes(bent.bytes().begin(), bent.bytes().end());
    bytes[static_cast<std::size_t>(element) * 4] ^= 1;
    bent = Tensor::copy_of(bent.type(), bytes);
  }
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
  bool audit_matches() const {
    const auto found = receipt::recheck(signed_receipt(), opening_, step_.graph,
                                        {.backend = graph::Backend::kRef}, [](std::string_view) {});
    EXPECT_TRUE(found) << found.error().message;
    return found && found->matches();
  }

  core::CounterRng rng_{2};
  crypto::SecretKey client_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  StepGraph step_;
  receipt::Opening opening_;
};

INSTANTIATE_TEST_SUITE_P(Training, TrainingAudits, ::testing::Values(0, 1));

TEST_P(TrainingAudits, OfAnotherBackEndMatchWhatIsRight) { EXPECT_TRUE(audit_matches()); }

TEST_P(TrainingAudits, FindOneBitOfOneElement) {
  for (const std::size_t output : {std::size_t{1}, opening_.outputs.size() - 2}) {
    const receipt::Opening right = opening_;
    bend(output, 2);
    EXPECT_FALSE(audit_matches()) << output;
    opening_ = right;
  }
}

TEST_P(TrainingAudits, BySomeElementsAlone) {
  const auto look = [&](std::uint64_t count) {
    const auto found = recheck(signed_receipt(), opening_, *step_.graph,
                               {count, rng_.next_digest()}, {}, [](std::string_view) {});
    EXPECT_TRUE(found) << found.error().message;
    return found;
  };
  const auto all = look(1 << 20);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->matches()) << all->wrong;
  EXPECT_EQ(all->report.total(), all->report.elements);
  for (int i = 0; i < 20; ++i) {
    const auto some = look(5);
    ASSERT_TRUE(some);
    ASSERT_TRUE(some->matches()) << some->wrong;
  }
  bend(1, 3);
  const auto bent = look(1 << 20);
  ASSERT_TRUE(bent);
  ASSERT_FALSE(bent->matches());
  EXPECT_EQ(bent->report.first->output, 1U);
  EXPECT_EQ(bent->report.first->element, 3);
}

}  // namespace
}  // namespace commensal::spot

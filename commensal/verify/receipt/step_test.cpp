// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/step.hpp>

namespace commensal::receipt {
namespace {

using Phase = Step::Phase;
using protocol::Role;

class StepTest : public ::testing::Test {
 protected:
  StepTest() {
    job_.client = client_.address();
    job_.provider = provider_.address();
    root_ = rng_.next_digest();
    salt_ = rng_.next_digest();
    commitment_ = protocol::commit_step(protocol::job_id(job_), 1, root_, salt_);
  }
  protocol::BatchSignature sign(const crypto::SecretKey& key, Role role,
                                const core::Digest& commitment) {
    const protocol::ReceiptBody body{protocol::job_id(job_), 1, commitment, 3};
    return protocol::sign_batch(key, role, {&body, 1})[0];
  }

  core::CounterRng rng_{1};
  crypto::SecretKey client_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  protocol::Job job_;
  core::Digest root_{}, salt_{}, commitment_{};
};

TEST_F(StepTest, GoesThroughInOrder) {
  Step step(job_, 1);
  ASSERT_TRUE(step.commit(commitment_, 3, sign(provider_, Role::kProvider, commitment_)));
  ASSERT_TRUE(step.countersign(sign(client_, Role::kClient, commitment_)));
  EXPECT_TRUE(protocol::verify_receipt(step.receipt()));
  ASSERT_TRUE(step.deliver(root_, salt_));
  EXPECT_EQ(step.phase(), Phase::kDelivered);
}

TEST_F(StepTest, RefusesForeignSignaturesAndOtherOutputs) {
  Step step(job_, 1);
  EXPECT_FALSE(step.commit(commitment_, 3, sign(client_, Role::kProvider, commitment_)));
  EXPECT_FALSE(step.commit(commitment_, 3, sign(provider_, Role::kClient, commitment_)));
  EXPECT_FALSE(step.commit(root_, 3, sign(provider_, Role::kProvider, commitment_)));
  EXPECT_EQ(step.phase(), Phase::kOffered);
  ASSERT_TRUE(step.commit(commitment_, 3, sign(provider_, Role::kProvider, commitment_)));
  EXPECT_FALSE(step.countersign(sign(provider_, Role::kClient, commitment_)));
  ASSERT_TRUE(step.countersign(sign(client_, Role::kClient, commitment_)));
  EXPECT_FALSE(step.deliver(salt_, salt_));
  EXPECT_FALSE(step.deliver(root_, root_));
  EXPECT_EQ(step.phase(), Phase::kCountersigned);
}

TEST_F(StepTest, AProvidersOwnStepIsCheckedFromTheCountersignatureOn) {
  protocol::KnownSignatures known;
  for (int i = 0; i < 2; ++i) {  // the second time the signature is known
    Step step(job_, 1);
    step.commit_own(commitment_, 3, sign(provider_, Role::kProvider, commitment_));
    EXPECT_FALSE(step.countersign(sign(provider_, Role::kClient, commitment_), &known));
    EXPECT_FALSE(step.countersign(sign(client_, Role::kClient, root_), &known));
    ASSERT_TRUE(step.countersign(sign(client_, Role::kClient, commitment_), &known));
    EXPECT_TRUE(protocol::verify_receipt(step.receipt()));
  }
}

// Random moves, right and wrong: the phase never goes back, never skips, and moves only by the one
// move that is due; what has been committed to never changes.
TEST_F(StepTest, NoSequenceOfMovesBreaksTheOrder) {
  const auto by_provider = sign(provider_, Role::kProvider, commitment_);
  const auto by_client = sign(client_, Role::kClient, commitment_);
  const core::Digest other = rng_.next_digest();
  const auto other_by_provider = sign(provider_, Role::kProvider, other);
  for (int trial = 0; trial < 40; ++trial) {
    Step step(job_, 1);
    core::Digest committed{};
    for (int move = 0; move < 12; ++move) {
      const Phase before = step.phase();
      const int choice = static_cast<int>(rng_.next_u32() % 5);
      bool moved = false;
      if (choice == 0) moved = step.commit(commitment_, 3, by_provider).has_value();
      if (choice == 1) moved = step.commit(other, 3, other_by_provider).has_value();
      if (choice == 2) moved = step.countersign(by_client).has_value();
      if (choice == 3) moved = step.deliver(root_, salt_).has_value();
      if (choice == 4) moved = step.deliver(other, salt_).has_value();
      const int gained = static_cast<int>(step.phase()) - static_cast<int>(before);
      ASSERT_EQ(gained, moved ? 1 : 0);
      if (moved && before == Phase::kOffered) committed = step.body().commitment;
      if (step.phase() != Phase::kOffered) {
        ASSERT_EQ(step.body().commitment, committed);
      }
      if (step.phase() == Phase::kDelivered) {
        ASSERT_EQ(committed, commitment_);
      }
    }
  }
}

}  // namespace
}  // namespace commensal::receipt

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/serve/cases/accusation.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>

namespace commensal::cases {
namespace {

using core::ErrorCode;

/// The third step of a rollout is accused.
class RolloutAccusations : public rollout::testing::RolloutTest {
 protected:
  void SetUp() override {
    auto client = *rollout::ClientJob::start(client_deps(client_store_), record_);
    rollout::ProviderJob provider(provider_deps(provider_store_), record_);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(rollout::testing::make_step(client, provider, *engine_));
    }
    const receipt::Opening opening = *client.opening(3);
    const auto grounds = grounds_of(opening);
    ASSERT_TRUE(grounds) << grounds.error().message;
    accuse_ = accusation_of(*client.receipt(3), opening, *grounds);
  }
  core::Result<void> check(const ledger::Accuse& accuse) const {
    ledger::Dispute dispute;
    dispute.receipt = accuse.receipt;
    dispute.accuser = client_key_.address();
    dispute.accused = accuse.receipt.job.provider;
    dispute.input_root = accuse.input_root;
    dispute.input_salt = accuse.input_salt;
    return arbiter_.check(dispute, accuse.origin);
  }
  void expect(ErrorCode code, std::string_view words, const ledger::Accuse& accuse) const {
    const auto checked = check(accuse);
    ASSERT_FALSE(checked) << words;
    EXPECT_EQ(checked.error().code, code) << checked.error().message;
    EXPECT_THAT(checked.error().message, ::testing::HasSubstr(std::string(words)));
  }
  ledger::Accuse accuse_;
  const LedgerArbiter arbiter_;
};

// kUnsupported would leave a case to auditors, which who accuses must not be able to bring about.
TEST_F(RolloutAccusations, AreDisputedWhereTheyShowWhatTheStepWasComputedFrom) {
  const auto right = check(accuse_);
  EXPECT_TRUE(right) << right.error().message;
  ledger::Accuse bent = accuse_;
  bent.input_root[0] ^= 1;
  expect(ErrorCode::kDataLoss, "but the step's state and noise have", bent);
  bent = accuse_;
  bent.origin.clear();
  expect(ErrorCode::kInvalidArgument, "origin: ", bent);
  bent = accuse_;
  bent.origin.pop_back();
  expect(ErrorCode::kInvalidArgument, "origin: ", bent);
  for (std::size_t i = 0; i < accuse_.origin.size(); ++i) {
    bent = accuse_;
    bent.origin[i] ^= 1;
    const auto checked = check(bent);
    ASSERT_FALSE(checked) << i;
    ASSERT_NE(checked.error().code, ErrorCode::kUnsupported) << i << checked.error().message;
  }
}

}  // namespace
}  // namespace commensal::cases

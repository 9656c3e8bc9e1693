// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/serve/cases/party.hpp>

namespace commensal::cases {
namespace {

crypto::SecretKey key_of(std::uint8_t number) {
  return *crypto::SecretKey::from_bytes(core::Digest{number});
}

/// An accusation of what `accused` signed, as it reaches it.
Case accusation(const crypto::SecretKey& provider, const crypto::SecretKey& accused) {
  Case made;
  ledger::Dispute& dispute = made.dispute;
  protocol::Receipt& receipt = dispute.receipt;
  receipt.job.provider = provider.address();
  receipt.job.client = key_of(9).address();
  receipt.job.steps = 1;
  receipt.step = 1;
  dispute.accuser = key_of(9).address();
  dispute.accused = accused.address();
  dispute.output_root = core::Digest{1};
  dispute.output_salt = core::Digest{2};
  receipt.commitment = protocol::commit_step(protocol::job_id(receipt.job), 1, dispute.output_root,
                                             dispute.output_salt);
  const core::Digest id = protocol::receipt_id(receipt.body());
  const bool is_provider = provider.address() == accused.address();
  made.key = {is_provider ? id
                          : protocol::report_id(
                                protocol::sign_report(accused, {id, dispute.output_root, {}, {}})),
              dispute.accuser};
  return made;
}

receipt::StepTask task_of(const Case& at) {
  receipt::StepTask made;
  made.job = at.dispute.receipt.job;
  return made;
}

/// Whether it gets as far as being computed again.
bool is_answered(const Case& at, const crypto::SecretKey& key, const receipt::StepTask& task) {
  bool was_asked = false;
  Party party([&](const protocol::Job&, const core::Path&,
                  const std::stop_token&) -> core::Result<rollout::Engine*> {
    was_asked = true;
    return core::fail(core::ErrorCode::kUnavailable, "no engine here");
  });
  const auto said = party.next(at, arbiter::Side::kProvider, task, "", key);
  EXPECT_FALSE(said);
  EXPECT_EQ(said.error().code,
            was_asked ? core::ErrorCode::kUnavailable : core::ErrorCode::kDataLoss);
  return was_asked;
}

// The fault: a gateway that told of other outputs than those of the receipt was handed a signed
// Concede of a right answer.
TEST(Parties, AnswerOnlyForWhatTheyHaveSigned) {
  const crypto::SecretKey provider = key_of(3), auditor = key_of(4);
  for (const crypto::SecretKey* accused : {&provider, &auditor}) {
    const Case at = accusation(provider, *accused);
    EXPECT_TRUE(is_answered(at, *accused, task_of(at)));
    receipt::StepTask of_another = task_of(at);
    of_another.job.steps = 2;
    EXPECT_FALSE(is_answered(at, *accused, of_another));
    of_another = task_of(at);
    of_another.step = 2;
    EXPECT_FALSE(is_answered(at, *accused, of_another));
  }
  for (const crypto::SecretKey* accused : {&provider, &auditor}) {
    Case bent = accusation(provider, *accused);
    bent.dispute.output_root[0] ^= 1;
    EXPECT_FALSE(is_answered(bent, *accused, task_of(bent)));
    bent = accusation(provider, *accused);
    bent.dispute.output_salt[0] ^= 1;
    EXPECT_FALSE(is_answered(bent, *accused, task_of(bent)));
    bent = accusation(provider, *accused);
    bent.key.subject[0] ^= 1;  // another case's
    EXPECT_FALSE(is_answered(bent, *accused, task_of(bent)));
    bent = accusation(provider, *accused);
    EXPECT_FALSE(is_answered(bent, key_of(5), task_of(bent)));
  }
}

}  // namespace
}  // namespace commensal::cases

// SPDX-License-Identifier: Apache-2.0
// Disputes about steps of rollouts between real processes: a cheat loses its stake by proof, though
// both sides are killed on the way; who is framed keeps it.
#include <commensal/verify/rollout/record.hpp>

#include <tests/e2e/disputes.hpp>

namespace commensal::e2e {
namespace {

const Network kLetters = {
    "letters", std::string(COMMENSAL_SOURCE_DIR) + "/models/letters/letters.onnx",
    [](std::uint64_t letter) {
      const std::vector<std::int64_t> letters = {static_cast<std::int64_t>(letter)};
      const std::vector<float> state(160, 0);
      return tensor::NamedTensors{{"letter", tensor::Tensor::of<std::int64_t>({1}, letters)},
                                  {"state", tensor::Tensor::of<float>({1, 160}, state)}};
    }};

class RolloutDisputes : public Disputes {
 protected:
  core::Digest start(client::Client& client, std::uint64_t steps) {
    const client::RolloutOrder order = {.model = "operator/letters",
                                        .version = 0,
                                        .key = "one",
                                        .steps = steps,
                                        .feeds = {{"next", "letter"}, {"state_out", "state"}},
                                        .noise = 16,
                                        .states = "movable",
                                        .audit_probability = 1,
                                        .inputs = kLetters.inputs(20)};
    for (int tries = 0; tries < 200; ++tries) {
      const auto begun = client.start_rollout(order);
      if (begun) return begun->id;
      last_error_ = begun.error().message;
      pause_ms(50);
    }
    ADD_FAILURE() << last_error_;
    return {};
  }
};

TEST_F(RolloutDisputes, ACheatIsConvictedByProofThoughBothAreKilled) {
  open_court(kLetters);
  auto cheat = start_cheat("cheat");
  fund_stake();
  auto client = connect();
  const core::Digest rollout = start(client, 20);
  const auto kills = play(std::array{Victim::kGateway, Victim::kAccused}, 0, 1, [&] {
    cheat->kill();
    cheat = start_cheat("cheat");
  });
  std::printf("killed after %zu of %zu moves\n", kills.size(), journal_->moves());
  EXPECT_GT(kills.size(), 3);
  // Of its other steps those are accused too that have won.
  EXPECT_GE(journal_->accusations, 1);
  EXPECT_EQ(journal_->conceded, 0);
  EXPECT_EQ(journal_->reports, 0);
  EXPECT_GT(journal_->accused.moves, 0);
  EXPECT_GT(journal_->accuser.moves, 0);
  EXPECT_EQ(balance(address_, "stake"), "0");
  auto again = connect();
  const auto ended = again.rollout(rollout);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->state, "caught");
  verify_ledger();
}

TEST_F(RolloutDisputes, WhoIsFramedKeepsItsStake) {
  open_court(kLetters);
  const auto honest =
      start_provider("honest", {"--stake", kStake, "--pay-min", "0", "--hash-chain-depth", "14"});
  fund_stake();
  auto client = connect();
  const core::Digest rollout = start(client, 4);
  wait_for([&] { return client.rollout(rollout)->is_over(); });
  EXPECT_EQ(client.rollout(rollout)->audits_matched, 4);
  const auto third = protocol::decode<rollout::StepRecord>(*client.rollout_step(rollout, 3));
  ASSERT_TRUE(third);
  const auto liar = *crypto::SecretKey::from_bytes(core::Digest{77});
  const std::string its_address = crypto::to_text(liar.address());
  ask({"account", "deposit", its_address, "100", "--yes"});
  frame(client, liar, kLetters, protocol::receipt_id(third->step.body()));
  EXPECT_EQ(balance(address_, "stake"), kStake);
  EXPECT_EQ(balance(its_address, "bond"), "0");
  EXPECT_EQ(balance(its_address, "available"), "0");
  verify_ledger();
}

}  // namespace
}  // namespace commensal::e2e

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/provider/purse.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::provider {
namespace {

using protocol::Amount;

/// What the provider says of money.
class Listener final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    if (const auto* said = std::get_if<rpc::Transact>(&message)) {
      sent.push_back(*protocol::decode<ledger::Transaction>(said->transaction));
    }
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string&,
                                 const rpc::Received&) override {
    return {};
  }
  std::vector<ledger::Transaction> sent;
};

/// Tickets of a face value of 9, of which each wins; its auditor gets 1.
class PurseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Purse> open(PurseConfig config = {}) {
    config.hash_chain_depth = 6;
    auto purse = std::make_unique<Purse>(
        Purse::Dependencies{store_, clock_, pair_.rng(), pair_.provider_key, listener_}, config);
    EXPECT_TRUE(purse->open());
    const protocol::HashChainHead& head = pair_.gateway_head;
    const auto met = purse->meet(rpc::HashChainPosition{head, 0, head.anchor});
    EXPECT_TRUE(met && *met);
    own_ = (*met)->head;
    return purse;
  }
  protocol::Job job() {
    protocol::Job job = pair_.job(ticket::certain_threshold(), Amount(9));
    job.beacons = {protocol::beacon_id(pair_.gateway_head, own_)};
    job.valid_until_ms = 86'400'000;
    return job;
  }
  rpc::Balance balance(std::uint64_t escrow, std::uint64_t penalties, std::uint64_t owed) const {
    rpc::Balance made;
    made.ledger = pair_.gateway_key.address();
    made.escrow = Amount(escrow);
    made.penalty_escrow = Amount(penalties);
    made.owed = owed;
    made.auditor_fee = Amount(1);
    made.audit_delay_ms = 1'000;
    return made;
  }
  std::string refusal(const Purse& purse) {
    const auto accepted = purse.accept(job());
    return accepted ? "" : accepted.error().message;
  }

  ticket::testing::Pair pair_{6};
  core::ManualClock clock_;
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  Listener listener_;
  protocol::HashChainHead own_;
};

TEST_F(PurseTest, TakesWorkOnlyWhereTheEscrowCoversWhatMayWin) {
  const auto purse = open();
  EXPECT_EQ(refusal(*purse),
            "the gateway has not said yet what its escrow has, which pays for this job");
  purse->on_balance(balance(9, 0, 0));
  EXPECT_EQ(refusal(*purse),
            "the gateway's escrow of 9 does not cover 10, what 1 ticket(s) may win");
  purse->on_balance(balance(10, 0, 0));
  EXPECT_EQ(refusal(*purse), "");
  purse->on_balance(balance(30, 0, 3));
  EXPECT_EQ(refusal(*purse),
            "the gateway's escrow of 30 does not cover 40, what 4 ticket(s) may win");
  rpc::Balance anothers = balance(1'000, 0, 0);
  anothers.ledger = {};
  purse->on_balance(anothers);
  EXPECT_NE(refusal(*purse), "");
}

TEST_F(PurseTest, CountsItsOwnTicketsWhateverTheGatewaySays) {
  const auto purse = open();
  purse->on_balance(balance(20, 0, 0));
  std::vector<ticket::testing::Pair::Step> steps = {pair_.step(job(), 2), pair_.step(job(), 2)};
  pair_.sign(steps);
  for (const auto& step : steps) {
    EXPECT_EQ(refusal(*purse), "");
    const ticket::NewTicket made{step.receipt, step.output_root, step.output_salt};
    ASSERT_TRUE(purse->commit({&made, 1}));
  }
  EXPECT_EQ(refusal(*purse),
            "the gateway's escrow of 20 does not cover 30, what 3 ticket(s) may win");
}

TEST_F(PurseTest, WantsPenaltiesCoveredIfItIsTold) {
  PurseConfig config;
  config.wants_penalty_cover = true;
  const auto strict = open(config);
  strict->on_balance(balance(10, 19, 0));
  EXPECT_EQ(refusal(*strict),
            "the gateway's penalty escrow of 19 does not cover 20, twice what 1 ticket(s) may win");
  strict->on_balance(balance(10, 20, 0));
  EXPECT_EQ(refusal(*strict), "");
  config.accepts_uncovered = true;
  const auto easy = open(config);
  EXPECT_EQ(refusal(*easy), "");
}

TEST_F(PurseTest, AnswersForNoJobForEver) {
  const auto purse = open();
  purse->on_balance(balance(1'000, 0, 0));
  protocol::Job asked = job();
  for (const std::uint64_t until_ms : {std::uint64_t{0}, limits::kJobValidMsMax + 1}) {
    asked.valid_until_ms = until_ms;
    const auto accepted = purse->accept(asked);
    ASSERT_FALSE(accepted);
    EXPECT_EQ(accepted.error().message, "it is valid for ever or beyond 90 days");
  }
}

// Of its own money a gateway says something at any time: that answers nothing.
TEST_F(PurseTest, SendsATransactionOnceTheLastWasAnswered) {
  const auto purse = open();
  purse->on_balance(balance(10, 0, 0));
  const ledger::Fund fund{ledger::AccountKind::kStake, Amount(1)};
  purse->transact(fund);
  purse->transact(fund);
  purse->on_balance(balance(11, 0, 0));
  ASSERT_EQ(listener_.sent.size(), 1u);
  rpc::Balance answer = balance(11, 0, 0);
  answer.nonce = 1;
  answer.is_answer = true;
  purse->on_balance(answer);
  ASSERT_EQ(listener_.sent.size(), 2u);
  EXPECT_EQ(listener_.sent[1].nonce, 1u);
}

/// A winner that its gateway has opened: the purse asks for its pay when its time is over, over a
/// restart too, again where that was refused, and not once it was paid.
TEST_F(PurseTest, AsksForWhatNobodyHasJudgedInTime) {
  constexpr std::int64_t kSlackMs = 60'000, kRetryMs = 600'000;
  auto purse = open();
  auto step = pair_.step(job(), 2);
  pair_.sign({&step, 1});
  const ticket::NewTicket made{step.receipt, step.output_root, step.output_salt};
  ASSERT_TRUE(purse->commit({&made, 1}));
  ASSERT_TRUE(purse->countersign({&step.receipt, 1}));
  ASSERT_TRUE(purse->on_reveal({2, *pair_.gateway_chain.reveal(2)}));
  const core::Digest id = protocol::ticket_id(step.receipt.body());
  ASSERT_EQ(purse->tickets().find(id)->state, ticket::State::kWon);
  purse->on_balance(balance(10, 0, 1));
  clock_.advance_ms(10 * kSlackMs);
  purse->look();
  EXPECT_TRUE(listener_.sent.empty()) << "the gateway has not said that it is open";
  ASSERT_TRUE(purse->on_outcomes({{{id, "open", {}}}}));
  clock_.advance_ms(kSlackMs);
  purse = open();
  purse->on_balance(balance(10, 0, 1));
  EXPECT_EQ(purse->unjudged(), 0u);
  EXPECT_TRUE(listener_.sent.empty());
  clock_.advance_ms(1'000);
  ASSERT_TRUE(purse->on_outcomes({{{id, "open", {}}}}));  // said again as it is claimed again
  purse->look();
  EXPECT_EQ(purse->unjudged(), 1u);
  ASSERT_EQ(listener_.sent.size(), 1u);
  EXPECT_EQ(listener_.sent[0].body, ledger::Body(ledger::Mature{id}));
  rpc::Balance answer = balance(10, 0, 1);
  answer.is_answer = true;
  purse->on_balance(answer);
  purse->look();
  EXPECT_EQ(listener_.sent.size(), 1u);
  clock_.advance_ms(kRetryMs);
  purse->look();
  EXPECT_EQ(listener_.sent.size(), 2u);
  purse->on_balance(answer);
  ASSERT_TRUE(purse->on_outcomes({{{id, "pay", Amount(9)}}}));
  EXPECT_EQ(purse->unjudged(), 0u);
  clock_.advance_ms(kRetryMs);
  purse->look();
  EXPECT_EQ(listener_.sent.size(), 2u);
}

/// What is locked of so much, beside a stake, where so much is asked for.
std::uint64_t locked(std::uint64_t available, std::uint64_t stake, std::uint64_t asked,
                     std::uint64_t wanted = 1'000) {
  const auto key = *crypto::SecretKey::from_bytes(core::Digest{1});
  store::MemoryStore disk;
  store::JointStore store(disk);
  core::ManualClock clock;
  core::CounterRng rng(1);
  Listener gateway;
  PurseConfig config;
  config.stake = Amount(wanted);
  Purse purse({store, clock, rng, key, gateway}, config);
  EXPECT_TRUE(purse.open());
  rpc::Balance balance;
  balance.available = Amount(available);
  balance.stake = Amount(stake);
  balance.stake_wanted = Amount(asked);
  purse.on_balance(balance);
  if (gateway.sent.empty()) return 0;
  const auto& fund = std::get<ledger::Fund>(gateway.sent[0].body);
  EXPECT_EQ(fund.into, ledger::AccountKind::kStake);
  return fund.amount.low();
}

TEST(PurseStake, IsLockedOnceTheLedgerHasIt) {
  EXPECT_EQ(locked(1'000, 0, 1'000), 1'000u);
  EXPECT_EQ(locked(5'000, 0, 1'000), 1'000u);
  EXPECT_EQ(locked(999, 0, 1'000), 0u);
  EXPECT_EQ(locked(400, 600, 1'000), 400u);
  EXPECT_EQ(locked(5'000, 1'000, 2'000), 0u) << "whatever is asked for";
  EXPECT_EQ(locked(5'000, 0, 1'000, 0), 0u) << "it wants none";
}

TEST(PurseStake, WhereTheGatewayAsksForLessThatIsEnough) {
  EXPECT_EQ(locked(300, 0, 300), 300u);
  EXPECT_EQ(locked(700, 0, 300), 300u);
  EXPECT_EQ(locked(200, 0, 300), 0u);
  EXPECT_EQ(locked(600, 300, 300), 0u) << "earnings are not locked bit by bit";
  EXPECT_EQ(locked(1'000, 0, 300), 1'000u);
}

}  // namespace
}  // namespace commensal::provider

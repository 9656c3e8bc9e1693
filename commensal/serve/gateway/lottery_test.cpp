// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/lottery.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::gateway {
namespace {

using ticket::testing::Pair;

MoneyConfig cheap() {
  MoneyConfig config;
  config.face_value = protocol::Amount(1);
  config.hash_chain_depth = 6;
  return config;
}

/// A gateway's money on a disk that may fail, from one start to the next.
struct Life {
  Life(core::Store& disk, Pair& pair, std::uint64_t fault_at, const MoneyConfig& c = cheap())
      : config(c),
        fault(disk, fault_at, store::testing::Fault::kFailBefore),
        store(fault),
        bank(store, clock, pair.gateway_key, config.rules),
        roster(store, pair.rng(), pair.gateway_key, clock),
        tickets(store, clock, Lottery::book_config(config)),
        lottery({store, clock, pair.rng(), pair.gateway_key, bank, roster, events, tickets},
                config) {}

  core::Result<void> open() {
    COMMENSAL_TRY(bank.open());
    return lottery.open();
  }

  const MoneyConfig config;
  core::ManualClock clock;
  store::testing::FaultStore fault;
  store::JointStore store;
  Bank bank;
  Roster roster;  // nobody is there
  core::testing::ManualLoop loop{clock};
  EventQueue events{loop, [](event::Any&) {}, [] {}};
  ticket::TicketBook tickets;
  Lottery lottery;
};

TEST(MoneyLottery, ShowsNobodyARoundThatIsNotOnDisk) {
  for (std::uint64_t fault_at = 0, shown = 0; shown < 4; ++fault_at) {
    ASSERT_LT(fault_at, 20u);
    SCOPED_TRACE(fault_at);
    Pair pair(6);
    store::MemoryStore disk;
    Life life(disk, pair, fault_at);
    if (life.open()) {
      auto step = pair.step(pair.job(ticket::certain_threshold(), protocol::Amount(1)), 2);
      pair.sign({&step, 1});
      (void)life.lottery.owe({&step.receipt, 1});
      for (int i = 0; i < 4; ++i) life.lottery.tick();  // the ticket of no known beacon waits on
      shown = life.lottery.position()->round;
    }
    Life again(disk, pair, ~std::uint64_t{0});
    ASSERT_TRUE(again.open());
    ASSERT_GE(again.lottery.position()->round, shown);
    EXPECT_EQ(shown == 4, fault_at == 7);  // the ledger, the chain, the ticket, four rounds
  }
}

// A Hello costs nothing, with a fresh key or chain each time: what has no stake leaves no trace.
TEST(MoneyLottery, TakesUpAFreshHashChainOnlyOfWhoHasItsStake) {
  MoneyConfig config = cheap();
  config.stake_min = protocol::Amount(100);
  Pair pair(6);
  store::MemoryStore disk;
  Life life(disk, pair, ~std::uint64_t{0}, config);
  ASSERT_TRUE(life.open());
  const std::uint64_t before = life.bank.state().scalars.entries;
  const auto meet = [&](const crypto::SecretKey& key) {
    const auto head = protocol::sign_hash_chain_head(key, {{}, pair.rng().next_digest(), 64, {}});
    return life.lottery.meet(key.address(), rpc::HashChainPosition{head, 0, head.anchor});
  };
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(meet(crypto::SecretKey::generate(pair.rng())));
    ASSERT_TRUE(meet(pair.provider_key));
  }
  EXPECT_EQ(life.bank.state().scalars.entries, before);
  const crypto::Address provider = pair.provider_key.address();
  EXPECT_EQ(life.lottery.reservation(provider), "has a stake of 0, 100 are wanted");
  ASSERT_TRUE(life.bank.submit(ledger::Deposit{provider, protocol::Amount(100), core::Digest{}}));
  ASSERT_TRUE(life.lottery.on_stake(provider));
  EXPECT_EQ(life.bank.state().beacons.rows().size(), 0u);
  ledger::Transaction fund;
  fund.ledger = life.bank.address();
  fund.sender = provider;
  fund.body = ledger::Fund{ledger::AccountKind::kStake, protocol::Amount(100)};
  ledger::sign(pair.provider_key, fund);
  ASSERT_TRUE(life.bank.relay(fund));
  ASSERT_TRUE(life.lottery.on_stake(provider));
  EXPECT_EQ(life.bank.state().beacons.rows().size(), 1u);
  EXPECT_EQ(life.lottery.reservation(provider), "");
  // A stake does not pay for chains without end either.
  const auto shows = [&](const crypto::SecretKey& key) {
    const auto head = protocol::sign_hash_chain_head(key, {{}, pair.rng().next_digest(), 64, {}});
    return life.lottery.check_chain(key.address(), rpc::HashChainPosition{head, 0, head.anchor});
  };
  EXPECT_TRUE(shows(pair.provider_key));
  for (int i = 0; i < 40; ++i) (void)meet(pair.provider_key);
  // Said before anybody makes room for it.
  ASSERT_FALSE(shows(pair.provider_key));
  EXPECT_EQ(shows(pair.provider_key).error().code, core::ErrorCode::kFailedPrecondition);
  EXPECT_EQ(life.bank.state().beacons.rows().size(), std::size_t{limits::kLedgerChainsMax});
}

// A reveal that does not fit may cost very many hashes: three are the most of one chain.
TEST(MoneyLottery, HearsOnlySoManyWrongReveals) {
  Pair pair(6);
  store::MemoryStore disk;
  Life life(disk, pair, ~std::uint64_t{0});
  ASSERT_TRUE(life.open());
  const crypto::Address provider = pair.provider_key.address();
  const protocol::HashChainHead& head = pair.provider_head;
  auto step = pair.step(pair.job(ticket::certain_threshold(), protocol::Amount(1)), 2);
  pair.sign({&step, 1});
  ASSERT_TRUE(life.lottery.owe({&step.receipt, 1}));  // so that rounds are closed
  for (int i = 0; i < 2; ++i) life.lottery.tick();
  ASSERT_EQ(life.lottery.position()->round, 2u);
  ASSERT_TRUE(life.lottery.meet(provider, rpc::HashChainPosition{head, 0, head.anchor}));
  const auto drawn = [&] { return life.lottery.pairing_with(provider)->beacon.drawn_round(); };
  life.lottery.on_reveal(provider, {1, core::Digest{1}});
  life.lottery.on_reveal(provider, {1, *pair.provider_chain.reveal(1)});
  EXPECT_EQ(drawn(), 1u);
  for (int i = 0; i < 9; ++i) life.lottery.on_reveal(provider, {2, core::Digest{1}});
  EXPECT_EQ(life.events.pending(), 4u);
  life.lottery.on_reveal(provider, {2, *pair.provider_chain.reveal(2)});
  EXPECT_EQ(drawn(), 1u);
}

}  // namespace
}  // namespace commensal::gateway
